import { ModelError, type ModelIo, type ModelReply } from '../../actors/model.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';
import { connectFailed, placeOf, type Refusal } from './failure.ts';
import { keepTime } from './keep-time.ts';
import type { ChatClient } from './openai-client.ts';
import { createPace } from './pace.ts';
import { readReply } from './read-reply.ts';
import { untilAborted } from './until-aborted.ts';

/** What came of one HTTP request. */
export type Exchange = { readonly kind: 'reply'; readonly reply: ModelReply } | Refusal;

/** One request to make. */
export interface ExchangeInput {
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
export async function exchange({ client, endpoint, body, responseMs, io }: ExchangeInput): Promise<Exchange> {
  const watch = keepTime(io.signal, responseMs);
  const pace = createPace();
  const onToken = io.onToken === undefined ? undefined : pace.listener(io.onToken);
  try {
    const answer = await untilAborted(watch.signal, client.send(body, watch.signal));
    if (answer.kind === 'refused') return answer;
    if (answer.kind === 'unreachable') throw connectFailed(endpoint, answer.cause);
    watch.heard();
    const { response } = answer;
    const reading = readReply(response, { onToken, onSound: () => watch.heard(), signal: watch.signal });
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
  const place = placeOf(endpoint);
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
