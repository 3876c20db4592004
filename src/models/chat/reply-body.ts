import { ModelError, type ModelReply, type ModelToken } from '../../actors/model.ts';
import { isJsonObject, type JsonObject, parsedText } from '../../json/json.ts';
import type { ResponseHeaders } from './failure.ts';
import { countedChoices, createReplyCollector, type ReplyCollector } from './collect-reply.ts';

/** What a server's reply was read as. `error` is an error that came with HTTP 200, as the server sent it; `isLate`: not as the first event. */
export type ReplyBody =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'error'; readonly error: unknown; readonly isLate: boolean };

/** Longer replies are refused, so that a server that never stops cannot fill the memory. */
const MAX_REPLY_CHARS = 64_000_000;

/**
 * Reads a reply in whichever form it comes: a plain JSON completion or a stream of events, asked for or not. Throws a
 * `bad-response` when it breaks off, cannot be read or is not a completion; a broken-off reply is never a short one.
 */
export class ReplyBodyReader {
  readonly #headers: ResponseHeaders;
  readonly #collector: ReplyCollector;
  /** How many events have come; comments are none. */
  events = 0;
  #form: 'unknown' | 'json' | 'events' = 'unknown';
  #events: EventReader | undefined;
  #chars = 0;
  #text = '';
  #isDone = false;
  #isEnding = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(headers: ResponseHeaders, onToken: ((token: ModelToken) => void) | undefined) {
    this.#headers = headers;
    this.#collector = createReplyCollector(onToken);
  }

  /** Takes a piece of the body. True once the outcome is clear, which may be before the body ends. */
  feed(text: string): boolean {
    this.#chars += text.length;
    if (this.#chars > MAX_REPLY_CHARS)
      throw new ModelError('bad-response', `the reply is longer than ${String(MAX_REPLY_CHARS)} characters`);
    if (this.#events !== undefined) this.#events.feed(text);
    else this.#text += this.#text === '' ? text.replace(/^\uFEFF/, '') : text;
    if (this.#form === 'unknown') this.#recognize();
    return this.#isDone || this.#failure !== undefined;
  }

  /** True once the server has ended the reply: a connection that breaks after that does not matter. */
  isComplete(): boolean {
    return this.#form === 'events' && this.#collector.isFinished();
  }

  /** What the body was, when its outcome is clear or it has ended. */
  result(): ReplyBody {
    this.#isEnding = true;
    if (this.#events !== undefined) this.#events.end();
    else if (this.#form === 'json') this.#take(this.#jsonEvent());
    if (this.#failure !== undefined) return { kind: 'error', isLate: this.events > 1, ...this.#failure };
    if (this.#form === 'events' && !this.#isDone && !this.#collector.isFinished()) throw this.#notACompletion();
    return { kind: 'reply', reply: this.#collector.reply() };
  }

  #recognize(): void {
    if (this.#text.trimStart() === '') return;
    this.#form = /^\s*[{[]/.test(this.#text) ? 'json' : 'events';
    if (this.#form === 'json') return;
    this.#events = createEventReader((event) => this.#take(event));
    this.#events.feed(this.#text);
  }

  #take(event: StreamEvent): void {
    this.events += 1;
    if (this.#isDone || this.#failure !== undefined) return;
    if (event.kind === 'garbage') {
      // Half a line at the very end: whether the reply was complete before it decides.
      if (this.#isEnding) return;
      const start = event.text.slice(0, 200);
      throw new ModelError('bad-response', `the stream contains something that is not JSON: ${start}`);
    }
    if (event.kind === 'done') this.#isDone = true;
    else if (event.isError) this.#failure = { error: event.value };
    else this.#add(Array.isArray(event.value) ? event.value[0] : event.value);
  }

  #add(value: unknown): void {
    if (!isJsonObject(value)) return;
    const error = [value, value['x_groq'], ...countedChoices(value)].find(
      (one) => isJsonObject(one) && isErrorBody(one),
    );
    if (error === undefined) this.#collector.add(value);
    else this.#failure = { error };
  }

  #jsonEvent(): StreamEvent {
    try {
      const value: unknown = JSON.parse(this.#text);
      return { kind: 'json', value, isError: false };
    } catch (error) {
      throw new ModelError('bad-response', `the reply is not complete JSON: ${this.#excerpt()}`, { cause: error });
    }
  }

  #notACompletion(): ModelError {
    return this.#text.includes('data:')
      ? new ModelError('bad-response', 'the stream broke off before the reply was complete')
      : new ModelError('bad-response', `the reply is not a Chat Completions reply: ${this.#excerpt()}`);
  }

  #excerpt(): string {
    return `${this.#headers.get('content-type') ?? 'no content type'}, '${this.#text.trim().slice(0, 120)}'`;
  }
}

function isErrorBody(value: JsonObject): boolean {
  const { error, base_resp: base } = value;
  // MiniMax's, which is in its good replies too.
  const isBad = isJsonObject(base) && (base['status_code'] ?? 0) !== 0;
  const hasError = isBad || isJsonObject(error) || (typeof error === 'string' && error !== '');
  return hasError || value['object'] === 'error' || value['type'] === 'error';
}

/** One server-sent event: its payload, already parsed where it is JSON. */
export type StreamEvent =
  | { readonly kind: 'json'; readonly value: unknown; readonly isError: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'garbage'; readonly text: string };

/** Takes a stream's text in pieces of any size. */
export type EventReader = ReturnType<typeof createEventReader>;

/**
 * Reads server-sent events. Every `data:` line that is whole JSON is an event at once, so servers that leave out the
 * blank lines are understood too; a payload spread over several lines is put together. Gemini ends a reply that fails with
 * lines that are no event: they come last.
 */
export function createEventReader(onEvent: (event: StreamEvent) => void) {
  let unended: string[] = [];
  let pending: string[] = [];
  const strayed: string[] = [];
  let isError = false;

  const settlePending = () => {
    const text = pending.join('\n');
    pending = [];
    if (text !== '') {
      const value = parsedText(text);
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
    const value = pending.length > 0 ? undefined : parsedText(data);
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
    } else if (!/^(?::|id:|retry:)/.test(line)) strayed.push(line);
  };

  return {
    feed(text: string): void {
      unended.push(text);
      // A line of any length is assembled once, when it is complete.
      if (!text.includes('\n')) return;
      const lines = unended.join('').split('\n');
      unended = [lines.pop() ?? ''];
      for (const line of lines) readLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    /** Marks the end: what is pending is emitted. */
    end(): void {
      const rest = unended.join('').trimEnd();
      unended = [];
      if (rest !== '') readLine(rest);
      settlePending();
      pending = strayed;
      settlePending();
    },
  };
}
