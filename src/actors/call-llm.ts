import type { JsonObject } from '../json/json.ts';
import { checkReply } from './check-reply.ts';
import { askUnlessResting } from './circuits.ts';
import { afterLimit } from './deadline.ts';
import { leaf } from './leaf.ts';
import { type Model, type ModelReply, type ModelRequest, type ModelToken, ModelError } from './model.ts';

/** One attempt to get a reply. Times in milliseconds; `responseMs` null means the model's own default. */
export interface CallLlmInput {
  readonly request: ModelRequest;
  readonly connectMs: number;
  readonly responseMs: number | null;
  /** Asks this model of the option `models`, or of this preset, instead of the agent's own; empty: its own. */
  readonly model: string;
  /** The agent that asks, by its path in the tree; empty for the root. */
  readonly agent: string;
  /** Where the model stands in the agent's list of several. `again`: it is asked even if it rests. */
  readonly listed?: { readonly at: number; readonly name: string; readonly again: boolean };
}

/** What the leaf needs: the models by place in the agent's list, else by name ('' is the agent's own), and which failures are worth another try. */
export interface CallLlmPorts {
  model(name: string, agent: string, listed: CallLlmInput['listed']): Model;
  /** True or false decides; undefined leaves it to the error's kind. */
  retryable?(error: unknown, agent: string): boolean | undefined;
  /** What there is to find out about an agent's own model. */
  facts?(agent: string): ModelFacts;
  /** Where at the end of a text a secret may have begun whose rest is yet to come; its length where none has. */
  openAt?(text: string): number;
}

/** What is found out about a model besides its requests, which never wait for it. */
export interface ModelFacts {
  /** Begins to look: once, and once more if that found out nothing. */
  look(): void;
  /** What is known before a run's first request. */
  atStart(): readonly string[];
  /** What has become known since and has not been reported yet. */
  sinceThen(): readonly string[];
}

/** Runs a model's own `check`. One that takes too long or fails reports nothing. */
export function factsOf(model: Model, minContextSize: number): ModelFacts {
  return model.check === undefined || minContextSize === 0 ? NO_FACTS : new LookedUp(model, minContextSize);
}

const NO_FACTS: ModelFacts = { look: () => undefined, atStart: () => [], sinceThen: () => [] };

class LookedUp implements ModelFacts {
  readonly #model: Model;
  readonly #minContextSize: number;
  #known: readonly string[] = [];
  #looks = 0;
  #isLooking = false;
  #isTold = false;

  constructor(model: Model, minContextSize: number) {
    this.#model = model;
    this.#minContextSize = minContextSize;
  }

  look(): void {
    // A local server may know a model's context only once it has loaded it, for the first reply.
    const most = this.#known.length > 0 || this.#model.contextSize !== undefined ? 1 : 2;
    if (!this.#isLooking && this.#looks < most) void this.#ask();
  }

  atStart(): readonly string[] {
    this.#isTold = this.#known.length > 0;
    return this.#known;
  }

  sinceThen(): readonly string[] {
    return this.#isTold ? [] : this.atStart();
  }

  async #ask(): Promise<void> {
    this.#looks += 1;
    this.#isLooking = true;
    const looking = new AbortController();
    // Most resolve at once, and the platform's own time limit would still stay set and fire.
    const limit = setTimeout(() => looking.abort(new Error('It took too long.')), LONGEST_LOOK_MS);
    if (typeof limit === 'object') limit.unref();
    try {
      this.#known = (await this.#model.check?.({ minContextSize: this.#minContextSize, signal: looking.signal })) ?? [];
    } catch {
      // One that fails has found out nothing.
    } finally {
      clearTimeout(limit);
      this.#isLooking = false;
    }
  }
}

const LONGEST_LOOK_MS = 1000;

const DEFAULT_RESPONSE_MS = 120_000;

/** Asks the model once. Fails with the codes of {@link ModelError}; `data.retryable` says whether to ask again. */
export const callLlm = (ports: CallLlmPorts) =>
  leaf<CallLlmInput, ModelReply>(
    'callLlm',
    {
      effects: 'none',
      request: ({ request, model }) => (model === '' ? request : { ...request, model }),
      keepsMarks: true,
    },
    async (input, { signal, note }) => {
      let isBegun = false;
      try {
        const { listed } = input;
        const model = ports.model(input.model, input.agent, listed);
        // A reply that is not wanted in pieces has none, whatever the model reports.
        const tell = (token: JsonObject): void => {
          isBegun = true;
          if (input.request.stream) note(token);
        };
        const ask = (): Promise<ModelReply> =>
          model.keepsTime === true
            ? complete(model, input, signal, { ports, note: tell })
            : withSilenceLimit(model, input, signal, { ports, note: tell });
        const replying = listed === undefined ? ask() : askUnlessResting(model, { always: listed.again, signal }, ask);
        const facts = input.model === '' || listed !== undefined ? ports.facts?.(input.agent) : undefined;
        facts?.look();
        const reply = namedReply(checkReply(await replying), model);
        if ((reply.toolCalls ?? []).length > 0) nativeCallers.add(model);
        const found = facts?.sinceThen() ?? [];
        return found.length === 0 ? reply : { ...reply, warnings: [...found, ...(reply.warnings ?? [])] };
      } catch (error) {
        throw forMachine(error, { ...input, isBegun }, (failed) => ports.retryable?.(failed, input.agent));
      }
    },
  );

/** The reply with the model that gave it, where that is known. */
function namedReply(reply: ModelReply, { id }: Model): ModelReply {
  return reply.model !== undefined || id === undefined || id === '' ? reply : { ...reply, model: id };
}

/** The models that have called natively, while the process lives. */
const nativeCallers = new WeakSet<Model>();

/** True for a model that has made native calls before: identified by its endpoint if known, else by this object. */
export function callsNatively(model: Model): boolean {
  return model.callsNatively === true || nativeCallers.has(model);
}

interface TokenIo {
  readonly ports: Pick<CallLlmPorts, 'openAt'>;
  readonly note: (note: JsonObject) => void;
  /** Called for each token, also for one that waits. */
  readonly heard?: () => void;
}

/**
 * Asks the model. Tokens that it reports after it has settled belong to nothing any more and are dropped. What may be the
 * beginning of a secret waits for the next token, so that a secret is found in whatever pieces it comes.
 */
async function complete(
  model: Model,
  input: CallLlmInput,
  signal: AbortSignal,
  { note, heard, ports }: TokenIo,
): Promise<ModelReply> {
  let index = 0;
  let settled = false;
  let held: ModelToken | null = null;
  const tell = (token: ModelToken, to: number): void => {
    const { kind, text, callIndex, tool } = token;
    const ofCall = callIndex === undefined ? {} : { callIndex, ...(tool === undefined ? {} : { tool }) };
    held = to < text.length ? { ...token, text: text.slice(to) } : null;
    if (to > 0 || held === null) note({ note: 'token', kind, text: text.slice(0, to), index: index++, ...ofCall });
  };
  const tellHeld = (): void => {
    if (held !== null) tell(held, held.text.length);
  };
  try {
    const reply = await model.complete(input.request, {
      signal,
      connectMs: input.connectMs,
      ...(input.responseMs === null ? {} : { responseMs: input.responseMs }),
      onToken: (told) => {
        if (settled || signal.aborted) return;
        heard?.();
        const token: ModelToken = typeof told === 'string' ? { kind: 'text', text: told } : told;
        if (held?.kind !== token.kind || held.callIndex !== token.callIndex) tellHeld();
        const text = [held?.text, token.text].join('');
        tell({ ...held, ...token, text }, (input.request.stream ? ports.openAt?.(text) : undefined) ?? text.length);
      },
    });
    if (!signal.aborted) tellHeld();
    return reply;
  } finally {
    settled = true;
  }
}

/** For models that leave the time to us: a silence that is too long aborts the signal and ends the wait. */
async function withSilenceLimit(
  model: Model,
  input: CallLlmInput,
  owner: AbortSignal,
  io: TokenIo,
): Promise<ModelReply> {
  const responseMs = input.responseMs ?? DEFAULT_RESPONSE_MS;
  const silence = new AbortController();
  const ended = Promise.withResolvers<never>();
  silence.signal.addEventListener('abort', () => ended.reject(silence.signal.reason), { once: true });
  const follow = (): void => {
    // A model that ignores its signal must not keep the process alive.
    stop();
    silence.abort(owner.reason);
  };
  const late = (): void => {
    const text = `The model sent nothing for ${responseMs} ms. Raise timeouts.responseMs, or look at the server.`;
    silence.abort(new ModelError('timeout', text));
  };
  let stop = afterLimit(responseMs, late);
  if (owner.aborted) follow();
  else owner.addEventListener('abort', follow, { once: true });
  const heard = (): void => {
    stop();
    stop = afterLimit(responseMs, late);
  };
  try {
    return await Promise.race([complete(model, input, silence.signal, { ...io, heard }), ended.promise]);
  } finally {
    stop();
    owner.removeEventListener('abort', follow);
  }
}

/** Codes that asking again with the same words cannot cure. */
const HOPELESS: ReadonlySet<string> = new Set([
  'auth',
  'model-not-found',
  'endpoint-not-found',
  'quota-exhausted',
  'bad-request',
  'content-filter',
  'no-model',
  'live-forbidden',
  'aborted',
]);

function forMachine(
  error: unknown,
  { listed, isBegun }: CallLlmInput & { readonly isBegun: boolean },
  retryable: (error: unknown) => boolean | undefined,
): Error {
  const code = error instanceof ModelError ? error.code : 'model-error';
  const said = code === 'circuit-open' ? undefined : askUser(error, retryable);
  const data = {
    retryable: said ?? !HOPELESS.has(code),
    ...(listed === undefined ? {} : fallbackOf(said, isBegun && REFUSALS.has(code))),
    ...(error instanceof ModelError && error.status !== undefined ? { status: error.status } : {}),
    ...(error instanceof ModelError && error.retryAfterMs !== undefined ? { retryAfterMs: error.retryAfterMs } : {}),
    ...(error instanceof ModelError && error.data !== undefined ? { details: error.data } : {}),
  };
  const message = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(message, { cause: error }), { code, data });
}

/** Codes that a server that has begun to answer cannot mean as its response to the request. */
const REFUSALS: ReadonlySet<string> = new Set(['bad-request', 'auth', 'endpoint-not-found']);

/** Whether another model may be asked, where the code does not say it: the author's word, or a reply that was begun. */
function fallbackOf(said: boolean | undefined, wasAccepted: boolean): { readonly fallback?: boolean } {
  if (said !== undefined) return said ? {} : { fallback: false };
  return wasAccepted ? { fallback: true } : {};
}

function askUser(error: unknown, retryable: (error: unknown) => boolean | undefined): boolean | undefined {
  try {
    return retryable(error);
  } catch {
    return undefined;
  }
}
