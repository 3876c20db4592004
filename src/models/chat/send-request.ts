import { ModelError, type ModelIo, type ModelReply, type ModelToken } from '../../actors/model.ts';
import { type Endpoint, endpointText } from '../endpoint/endpoint.ts';
import { connectFailed, type RefusedRequest } from './failure.ts';
import type { ChatClient } from './openai-client.ts';
import { readReplyBody } from './reply-body.ts';
import { untilAborted } from '../http/fetch.ts';

/** What came of one HTTP request. */
export type RequestOutcome = { readonly kind: 'reply'; readonly reply: ModelReply } | RefusedRequest;

/** One request to make. */
export interface RequestInput {
  readonly client: ChatClient;
  readonly endpoint: Endpoint;
  readonly body: string;
  /** The longest silence in milliseconds. */
  readonly responseMs: number;
  readonly io: ModelIo;
}

/**
 * Sends one request and reads what comes back. Rejects with a {@link ModelError} when nothing usable did: not
 * reachable, silent for too long, aborted, broken off.
 */
export async function sendRequest({ client, endpoint, body, responseMs, io }: RequestInput): Promise<RequestOutcome> {
  const watch = keepTime(io.signal, responseMs);
  const pace = createPace();
  const onToken = io.onToken === undefined ? undefined : pace.listener(io.onToken);
  try {
    const answer = await untilAborted(watch.signal, client.send(body, watch.signal));
    if (answer.kind === 'refused') return answer;
    if (answer.kind === 'unreachable') throw connectFailed(endpoint, answer.cause);
    watch.heard();
    const { response } = answer;
    const reading = readReplyBody(response, { onToken, onSound: () => watch.heard(), signal: watch.signal });
    const read = await untilAborted(watch.signal, reading);
    if (read.kind === 'error') {
      return { kind: 'refused', status: response.status, headers: response.headers, body: read.error };
    }
    return { kind: 'reply', reply: pace.measured(read.reply) };
  } catch (error) {
    throw namedFailure(error, { endpoint, responseMs, isTimedOut: watch.isTimedOut(), isAborted: io.signal.aborted });
  } finally {
    watch.stop();
  }
}

interface Circumstances {
  readonly endpoint: Endpoint;
  readonly responseMs: number;
  readonly isTimedOut: boolean;
  readonly isAborted: boolean;
}

function namedFailure(error: unknown, { endpoint, responseMs, isTimedOut, isAborted }: Circumstances): ModelError {
  const place = endpointText(endpoint);
  if (isTimedOut) {
    const text = `${place} was silent for ${seconds(responseMs)}; raise timeouts.responseMs if the model is that slow.`;
    return new ModelError('timeout', text, { cause: error, data: { phase: 'response' } });
  }
  if (isAborted) return new ModelError('aborted', `The request to ${place} was aborted.`, { cause: error });
  if (!(error instanceof ModelError))
    return new ModelError('model-error', `The request to ${place} failed.`, { cause: error });
  if (error.code !== 'bad-response') return error;
  return new ModelError('bad-response', `Unusable answer from ${place}: ${error.message}.`, { cause: error });
}

function seconds(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(Math.round(ms / 1000))} s`;
}

/** Measures how fast a reply comes. */
interface Pace {
  /** Wraps a listener so that its tokens are timed. One that throws does not break the reply. */
  listener(onToken: NonNullable<ModelIo['onToken']>): (token: ModelToken) => void;
  /** The reply with the figures that the server did not give itself. */
  measured(reply: ModelReply): ModelReply;
}

/** Replies that come in less time than this come in one piece: nothing can be said of their speed. */
const SHORTEST_MS = 5;

/** Begins to measure: the request goes out now. */
function createPace(): Pace {
  const startedAt = performance.now();
  let firstAt = 0;
  let lastAt = 0;
  return {
    listener: (onToken) => (token) => {
      lastAt = performance.now();
      if (firstAt === 0) firstAt = lastAt;
      try {
        onToken(token);
      } catch {
        // The listener's own trouble.
      }
    },
    measured(reply) {
      const spentMs = lastAt - firstAt;
      if (firstAt === 0 || spentMs < SHORTEST_MS) return reply;
      const tokens = reply.usage?.outputTokens;
      const speed = tokens === undefined ? {} : { tokensPerSecond: (tokens / spentMs) * 1000 };
      return { ...reply, stats: { timeToFirstTokenMs: firstAt - startedAt, ...speed, ...reply.stats } };
    },
  };
}

/** Watches a request for silence and for its owner's abort. */
interface Watch {
  /** Aborts on either; give it to whatever does the work. */
  readonly signal: AbortSignal;
  /** Something arrived: the silence begins anew. */
  heard(): void;
  /** Ends the watch. Always call it. */
  stop(): void;
  /** True when the signal was aborted by silence. */
  isTimedOut(): boolean;
}

const LONGEST_TIMER_MS = 2_147_483_647;

/** Begins to watch: `silenceMs` without a sound, or an abort of `owner`, abort the watch's signal. */
function keepTime(owner: AbortSignal, silenceMs: number): Watch {
  const controller = new AbortController();
  let last = performance.now();
  let timedOut = false;
  const follow = () => controller.abort(owner.reason);
  // One timer that looks again costs less than one that is set anew with every piece.
  const look = () => {
    const left = last + silenceMs - performance.now();
    if (left > 0) {
      timer = setTimeout(look, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
      return;
    }
    timedOut = true;
    controller.abort(new Error('the server was silent for too long'));
  };
  let timer = setTimeout(look, Math.min(silenceMs, LONGEST_TIMER_MS));
  owner.addEventListener('abort', follow, { once: true });
  if (owner.aborted) follow();
  return {
    signal: controller.signal,
    heard() {
      last = performance.now();
    },
    stop() {
      clearTimeout(timer);
      owner.removeEventListener('abort', follow);
    },
    isTimedOut: () => timedOut,
  };
}
