import { ModelError, type ModelReply, type ModelToken } from '../../actors/model.ts';
import { isJsonObject } from '../../json/json.ts';
import { createReplyCollector } from './collect-reply.ts';
import { readBody } from '../http/fetch.ts';

/** What a server's reply was read as. `error` is an error that came with HTTP 200, as the server sent it. */
export type ReplyBody =
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
export async function readReplyBody(
  response: Response,
  { onToken, onSound, signal }: ReadListeners,
): Promise<ReplyBody> {
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
  result(): ReplyBody;
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

/** One server-sent event: its payload, already parsed where it is JSON. */
export type StreamEvent =
  | { readonly kind: 'json'; readonly value: unknown; readonly isError: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'garbage'; readonly text: string };

/** Takes a stream's text in pieces of any size. */
export interface EventReader {
  feed(text: string): void;
  /** Says that no more will come: what is pending is given out. */
  end(): void;
}

/**
 * Reads server-sent events. Every `data:` line that is whole JSON is an event at once, so servers that leave out the
 * blank lines are understood too; a payload spread over several lines is put together.
 */
export function createEventReader(onEvent: (event: StreamEvent) => void): EventReader {
  let unended: string[] = [];
  let pending: string[] = [];
  let isError = false;

  const settlePending = () => {
    const text = pending.join('\n');
    pending = [];
    if (text !== '') {
      const value = parsed(text);
      onEvent(value === undefined ? { kind: 'garbage', text } : { kind: 'json', value, isError });
    }
    isError = false;
  };
  const readData = (data: string) => {
    if (data === '[DONE]') {
      settlePending();
      onEvent({ kind: 'done' });
      return;
    }
    const value = pending.length > 0 ? undefined : parsed(data);
    if (value === undefined) pending.push(data);
    else onEvent({ kind: 'json', value, isError });
  };
  const readLine = (line: string) => {
    if (line === '') settlePending();
    else if (line.startsWith('data:')) readData(line.slice(5).trim());
    else if (line.startsWith('event:')) isError = line.slice(6).trim() === 'error';
    // Not in the standard; older llama.cpp servers send their errors this way.
    else if (line.startsWith('error:')) {
      isError = true;
      readData(line.slice(6).trim());
    }
  };

  return {
    feed(text) {
      unended.push(text);
      // A line of any length is put together once, when its end has come.
      if (!text.includes('\n')) return;
      const lines = unended.join('').split('\n');
      unended = [lines.pop() ?? ''];
      for (const line of lines) readLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    end() {
      const rest = unended.join('').trimEnd();
      unended = [];
      if (rest !== '') readLine(rest);
      settlePending();
    },
  };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
