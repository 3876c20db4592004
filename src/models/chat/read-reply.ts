import { ModelError, type ModelReply, type ModelToken } from '../../actors/model.ts';
import { isJsonObject } from '../../json/json.ts';
import { createReplyCollector } from './collect-reply.ts';
import { createEventReader, type StreamEvent } from './event-stream.ts';
import { readBody } from '../http/read-body.ts';

/** What a server's reply was read as. `error` is an error that came with HTTP 200, as the server sent it. */
export type ReadReply =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'error'; readonly error: unknown };

/** Who follows a reply while it is read. */
export interface ReadListeners {
  readonly onToken: ((token: ModelToken) => void) | undefined;
  /** Called whenever anything arrives. */
  readonly onSound: () => void;
  readonly signal: AbortSignal;
}

/** Longer replies are refused, so that a server that never stops cannot fill the memory. */
const MAX_REPLY_CHARS = 64_000_000;

/** A connection whose server does not end it after the last event is closed after this time. */
const LINGER_MS = 1000;

/**
 * Reads a reply in whichever form it comes: a plain JSON completion or a stream of events, asked for or not. Rejects
 * with a `bad-response` when it breaks off, cannot be read or is no completion; a broken-off reply is never a short one.
 */
export async function readReply(response: Response, { onToken, onSound, signal }: ReadListeners): Promise<ReadReply> {
  const body = createBodyReader(response, onToken);
  const reading = readBody(response, (text) => {
    onSound();
    body.feed(text);
  });
  const stop = () => reading.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([reading.ended, body.settled]);
    const result = body.result();
    lingerThenStop(reading.ended, stop);
    return result;
  } catch (error) {
    stop();
    if (error instanceof ModelError) throw error;
    // What broke off after the server had said that the reply is over was only the goodbye.
    if (!signal.aborted && body.isComplete()) return body.result();
    throw new ModelError('bad-response', 'the reply broke off before it was complete', { cause: error });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface BodyReader {
  feed(text: string): void;
  /** Resolves as soon as the outcome is clear, which may be before the body ends. Rejects when it went wrong. */
  readonly settled: Promise<void>;
  /** True once the server has said that the reply is over. */
  isComplete(): boolean;
  result(): ReadReply;
}

function createBodyReader(response: Response, onToken: ((token: ModelToken) => void) | undefined): BodyReader {
  const collector = createReplyCollector(onToken);
  const { promise: settled, resolve, reject } = Promise.withResolvers<void>();
  // Whoever stopped waiting for it must not be told.
  settled.catch(() => undefined);
  let form: 'unknown' | 'json' | 'events' = 'unknown';
  let chars = 0;
  let said = '';
  let isDone = false;
  let failure: { readonly error: unknown } | undefined;

  const take = (event: StreamEvent) => {
    if (isDone || failure !== undefined) return;
    if (event.kind === 'garbage') {
      reject(new ModelError('bad-response', `the stream holds something that is no JSON: ${event.text.slice(0, 200)}`));
    } else if (event.kind === 'done') {
      isDone = true;
      resolve();
    } else if (event.isError || (isJsonObject(event.value) && isErrorBody(event.value))) {
      failure = { error: event.value };
      resolve();
    } else if (isJsonObject(event.value)) collector.add(event.value);
  };
  const events = createEventReader(take);

  return {
    settled,
    isComplete: () => form === 'events' && collector.isFinished(),
    feed(text) {
      chars += text.length;
      if (chars > MAX_REPLY_CHARS) {
        reject(new ModelError('bad-response', `the reply is longer than ${String(MAX_REPLY_CHARS)} characters`));
        return;
      }
      if (form === 'events') events.feed(text);
      else said += text;
      if (form === 'unknown' && said.trimStart() !== '') {
        form = /^\s*[{[]/.test(said) ? 'json' : 'events';
        if (form === 'events') events.feed(said);
      }
    },
    result() {
      if (form === 'events') events.end();
      else if (form === 'json') take(jsonEvent(said, response));
      if (failure !== undefined) return { kind: 'error', ...failure };
      if (form === 'events' && !isDone && !collector.isFinished()) throw notACompletion(said, response);
      return { kind: 'reply', reply: collector.reply() };
    },
  };
}

function isErrorBody(value: { readonly [key: string]: unknown }): boolean {
  const { error } = value;
  const hasError = isJsonObject(error) || (typeof error === 'string' && error !== '');
  return hasError || value['object'] === 'error' || value['type'] === 'error';
}

function jsonEvent(text: string, response: Response): StreamEvent {
  try {
    const value: unknown = JSON.parse(text);
    return { kind: 'json', value: Array.isArray(value) ? value[0] : value, isError: false };
  } catch (error) {
    throw new ModelError('bad-response', `the reply is no whole JSON: ${excerpt(text, response)}`, { cause: error });
  }
}

function notACompletion(text: string, response: Response): ModelError {
  if (text.includes('data:'))
    return new ModelError('bad-response', 'the stream broke off before the reply was complete');
  return new ModelError('bad-response', `the reply is no Chat Completions reply: ${excerpt(text, response)}`);
}

function excerpt(text: string, response: Response): string {
  const type = response.headers.get('content-type') ?? 'no content type';
  return `${type}, '${text.trim().slice(0, 120)}'`;
}

/** Lets the connection be used again if its server ends the reply soon; otherwise closes it. */
function lingerThenStop(ended: Promise<void>, stop: () => void): void {
  const timer = setTimeout(stop, LINGER_MS);
  ended.then(
    () => clearTimeout(timer),
    () => clearTimeout(timer),
  );
}
