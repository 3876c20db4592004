import type { Model, ModelReply, ModelRequest } from '../actors/model.ts';

/** One answer of a scripted model: a text, a whole reply, an error to fail with, or a function of the request. */
export type ScriptedReply =
  | string
  | ModelReply
  | Error
  | ((request: ModelRequest) => string | ModelReply | Error | Promise<string | ModelReply | Error>);

/** A model that says what it was told to say, and keeps what it was asked. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
  /** Throws when replies were left over. */
  assertComplete(): void;
}

/**
 * A model for tests that answers from a list, one reply a request. A request beyond the list fails loudly, and so does
 * `assertComplete()` while replies are left.
 *
 * @example
 * const model = scriptedModel([{ content: '', toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'The sum is 3.']);
 */
export function scriptedModel(
  replies: readonly ScriptedReply[],
  options: { readonly toolCalling?: 'native' | 'json' } = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    id: 'scripted',
    ...(options.toolCalling === undefined ? {} : { toolCalling: options.toolCalling }),
    requests,
    complete: async (request, { signal, onToken }) => {
      signal.throwIfAborted();
      requests.push(request);
      const scripted = replies[requests.length - 1];
      if (scripted === undefined) throw new Error(beyondScript(replies.length, request));
      const reply = typeof scripted === 'function' ? await scripted(request) : scripted;
      if (reply instanceof Error) throw reply;
      const whole: ModelReply = typeof reply === 'string' ? { content: reply } : reply;
      if (request.stream)
        for (const text of whole.content.match(/\S+\s*|\s+/g) ?? []) onToken?.({ kind: 'text', text });
      return whole;
    },
    assertComplete: () => {
      const left = replies.length - requests.length;
      if (left > 0)
        throw new Error(
          `The scripted model was asked ${requests.length} time(s); ${left} of its ${replies.length} replies are left over.`,
        );
    },
  };
}

function beyondScript(count: number, request: ModelRequest): string {
  return `The scripted model has no reply left: all ${count} are used. It was asked:\n${JSON.stringify(request.messages, null, 2)}`;
}
