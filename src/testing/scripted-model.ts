import type { Model, ModelReply, ModelRequest } from '../actors/model.ts';
import { optionsOf } from '../json/known-options.ts';

/** One answer of a scripted model: a text, a whole reply, an error to fail with, or a function of the request. */
export type ScriptedReply =
  | string
  | ModelReply
  | Error
  | ((request: ModelRequest) => string | ModelReply | Error | Promise<string | ModelReply | Error>);

/** A model that gives scripted replies, and keeps the requests. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
  /** Throws when replies were left over. */
  assertComplete(): void;
}

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  /** How it calls tools. Default: as the agent says. */
  readonly toolCalling?: 'native' | 'json' | undefined;
  /** Whether it is sent images as images. Default false. */
  readonly takesImages?: boolean | undefined;
  /** Whether it is sent files as files. Default false. */
  readonly takesFiles?: boolean | undefined;
}

const checkOptions = optionsOf<ScriptedModelOptions>('scriptedModel', 'docs/testing.md', {
  toolCalling: true,
  takesImages: true,
  takesFiles: true,
});

/**
 * A model for tests that answers from a list, one reply per request. A request beyond the list fails loudly, and so does
 * `assertComplete()` while replies are left.
 *
 * @example
 * const model = scriptedModel([{ content: '', toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'The sum is 3.']);
 */
export function scriptedModel(replies: readonly ScriptedReply[], options: ScriptedModelOptions = {}): ScriptedModel {
  checkOptions(options);
  return fromScript(replies, options, false);
}

function fromScript(
  replies: readonly ScriptedReply[],
  options: ScriptedModelOptions,
  repeatsLast: boolean,
): ScriptedModel & ManyRuns {
  const requests: ModelRequest[] = [];
  return {
    id: 'scripted',
    ...options,
    requests,
    [MANY_RUNS]: { replies: replies.length, begin: () => fromScript(replies, options, true) },
    complete: async (request, { signal, onToken }) => {
      signal.throwIfAborted();
      requests.push(request);
      const next = replies[requests.length - 1] ?? (repeatsLast ? replies.at(-1) : undefined);
      if (next === undefined) throw new Error(beyondScript(replies.length, request));
      const reply = await scriptedReply(next, request);
      if (request.stream)
        for (const text of reply.content.match(/\S+\s*|\s+/g) ?? []) onToken?.({ kind: 'text', text });
      return reply;
    },
    assertComplete: () => {
      const beyond = requests[replies.length];
      if (beyond !== undefined) throw new Error(beyondScript(replies.length, beyond));
      const left = replies.slice(requests.length);
      if (left.length > 0) throw new Error(leftOver(replies.length, left, requests.at(-1)));
    },
  };
}

/** How a model of the tests takes part in many runs. */
export const MANY_RUNS = Symbol('many runs');

/** A model that begins anew with each run of a simulation. */
export interface ManyRuns {
  readonly [MANY_RUNS]: {
    /** How many replies it has before the last is repeated; null for one that invents them. */
    readonly replies: number | null;
    readonly begin: (seed: number) => Model;
  };
}

/** A model for the run of a seed: those of the tests begin anew, any other is the same for all runs. */
export function begunAnew(model: Model & Partial<ManyRuns>, seed: number): Model {
  return model[MANY_RUNS]?.begin(seed) ?? model;
}

/** The reply for a script entry; rejects with the entry's error. */
export async function scriptedReply(scripted: ScriptedReply, request: ModelRequest): Promise<ModelReply> {
  const reply = typeof scripted === 'function' ? await scripted(request) : scripted;
  if (reply instanceof Error) throw reply;
  return typeof reply === 'string' ? { content: reply } : reply;
}

function beyondScript(count: number, request: ModelRequest): string {
  return `The scripted model has no reply left: all ${count} are used. It was asked:\n${shown(request)}`;
}

function leftOver(count: number, left: readonly ScriptedReply[], last: ModelRequest | undefined): string {
  const next = typeof left[0] === 'function' ? 'a function' : JSON.stringify(left[0]);
  const asked = last === undefined ? 'It was never asked.' : `It was asked last:\n${shown(last)}`;
  return `${left.length} of the ${count} replies of the scripted model are left over; the next would have been ${next}. ${asked}`;
}

function shown({ messages }: ModelRequest): string {
  return JSON.stringify(messages, null, 2);
}
