/**
 * Owns: the requests of a chat in a browser, for `useChat`. Does not own: what is shown.
 *
 * I1 A connection that breaks is resumed at the last message received, within the same stream.
 * I2 Leaving a page stops nothing: a run is stopped by `stop`, which is recorded like any other event.
 */
import { type JsonObject, defined, parsedText } from '../../json/json.ts';
import { messagesIn } from '../../store/run-link.ts';
import { readPosition } from '../base/sse.ts';
import type { UiChunk } from './ui-chunk.ts';
import type { UiMessage } from './ui-messages.ts';

/** How a transport reaches its server. */
export interface ChatTransportOptions {
  /** Where the chats are served. Default `/api/chat`. */
  readonly api?: string | undefined;
  /** Headers of each request, such as the one that identifies the user. */
  readonly headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined;
  readonly credentials?: 'include' | 'omit' | 'same-origin' | undefined;
  readonly fetch?: typeof fetch | undefined;
}

type HeadersOf = Readonly<Record<string, string>> | Headers;

/** What the AI SDK sends. */
interface SendOptions {
  readonly chatId: string;
  readonly messages: readonly object[];
  readonly trigger: string;
  readonly messageId: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: HeadersOf | undefined;
  readonly body?: object | undefined;
}

/** A person's answer to a waiting call. */
export interface ChatAnswer {
  /** The id of the part's approval. */
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
  /** Other arguments; they are validated again. */
  readonly args?: object;
  readonly always?: boolean;
}

/** A `ChatTransport` of the AI SDK, with additional methods. */
export interface SignalboxTransport {
  /** A resumed stream starts from the beginning: the message is built again. */
  readonly resumeStreamIsReplay: true;
  sendMessages(options: SendOptions): Promise<ReadableStream<UiChunk>>;
  reconnectToStream(options: {
    readonly chatId: string;
    readonly abortSignal?: AbortSignal | undefined;
    readonly headers?: HeadersOf | undefined;
  }): Promise<ReadableStream<UiChunk> | null>;
  /** The messages of a chat so far, for `useChat({ messages })`. */
  messages<TMessage = UiMessage>(chatId: string): Promise<TMessage[]>;
  /** Ends the run of a chat, whichever client shows it. False: it was over. */
  stop(chatId: string, reason?: string): Promise<boolean>;
  /** Sends a message to the model of the live run. */
  steer(chatId: string, text: string): Promise<void>;
  /** Answers waiting calls, optionally with other arguments. If one answer does not fit, none is taken, and it rejects. */
  answer(chatId: string, answers: readonly ChatAnswer[]): Promise<void>;
}

/** A connection that broke is tried again after these milliseconds, or as many as the server asks for; someone waits: a minute at most. */
const RETRIES_MS = [100, 250, 500, 1000, 1000, 2000, 2000, 4000, 4000, 8000] as const;

/**
 * Makes a transport for `useChat`.
 *
 * @example const { messages, sendMessage } = useChat({ transport: chatTransport({ api: '/api/chat' }) });
 */
export function chatTransport(options: ChatTransportOptions = {}): SignalboxTransport {
  const server = new ChatServer(options);
  return {
    resumeStreamIsReplay: true,
    sendMessages: async ({ chatId, abortSignal, headers, messages, trigger, messageId, body = {} }) => {
      const last = messages.slice(-1);
      const post = { ...body, id: chatId, messages: last, trigger, messageId };
      const response = await server.request(server.api, { post, headers, signal: abortSignal });
      // The same message or answer again is the same run; a message without an id would begin another.
      const { id = '', role }: { readonly id?: string; readonly role?: unknown } = Object(last[0]);
      const [run, again] = [role === 'assistant' ? id : '', id === '' ? undefined : post];
      return server.chunks(response, { chatId, run, headers, signal: abortSignal, again });
    },
    reconnectToStream: async ({ chatId, abortSignal, headers }) => {
      const run = server.unfinished(chatId);
      const response = await server.request(server.addressOf(chatId, 'stream', run), { headers, signal: abortSignal });
      return response.status === 204 ? null : server.chunks(response, { chatId, run, headers, signal: abortSignal });
    },
    messages: async (chatId) => {
      const messages = await server.json(server.addressOf(chatId, 'messages'), {}, Array.isArray);
      server.loaded(chatId, messages);
      return messages;
    },
    stop: async (chatId, reason) => (await server.tell(chatId, { action: 'stop', reason })).stopped === true,
    steer: async (chatId, text) => void (await server.tell(chatId, { action: 'steer', text, message: freshId() })),
    answer: async (chatId, answers) => void (await server.tell(chatId, { action: 'answer', answers })),
  };
}

interface Asked {
  readonly post?: object | undefined;
  readonly headers?: HeadersOf | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Reading extends Omit<Asked, 'post'> {
  readonly chatId: string;
  /** The run, as far as it is known before its first chunk: another may have begun by the time the connection breaks. */
  readonly run: string;
  /** What is posted again if the connection breaks before the run is known. */
  readonly again?: object | undefined;
}

/** The server of chats, as a browser reaches it. */
class ChatServer {
  readonly api: string;
  readonly #options: ChatTransportOptions;
  /** The run of each chat whose end was not seen here. */
  readonly #unfinished = new Map<string, string>();

  constructor(options: ChatTransportOptions) {
    this.#options = options;
    this.api = options.api ?? '/api/chat';
  }

  /** The run of a chat that was not shown to its end: it is requested by its id, whether it is over or not. */
  unfinished(chatId: string): string {
    return this.#unfinished.get(chatId) ?? '';
  }

  /** The run of the last message is requested even if it ends before that. */
  loaded(chatId: string, messages: readonly UiMessage[]): void {
    const { runId, status } = markOf(messages.at(-1)?.metadata);
    if (typeof runId === 'string' && status === undefined) this.#unfinished.set(chatId, runId);
  }

  addressOf(chatId: string, what: 'messages' | 'stream', run = ''): string {
    const [path = '', query = ''] = this.api.split('?');
    const all = new URLSearchParams(query);
    if (run !== '') all.set('run', run);
    const asked = all.size === 0 ? '' : `?${all.toString()}`;
    return `${path.replace(/\/$/, '')}/${encodeURIComponent(chatId)}/${what}${asked}`;
  }

  /** The run that is read, with this chunk. */
  #seen({ chatId, run }: Reading, chunk: UiChunk): string {
    const id = (chunk.type === 'start' && chunk.messageId) || run;
    // Ids are in the order of time.
    if (id > this.unfinished(chatId)) this.#unfinished.set(chatId, id);
    const { status } = markOf(chunk.type === 'finish' && chunk.messageMetadata);
    if (status !== undefined && id === this.unfinished(chatId)) this.#unfinished.delete(chatId);
    return id;
  }

  tell(chatId: string, what: object): Promise<JsonObject> {
    const isAnswer = (data: unknown): data is JsonObject => 'runId' in Object(data) || 'stopped' in Object(data);
    return this.json(this.api, { post: { ...what, id: chatId } }, isAnswer);
  }

  /** An answer that is data, and of the kind that is asked for: another server gives any other. */
  async json<T>(url: string, asked: Asked, isAnswer: (data: unknown) => data is T): Promise<T> {
    const response = await this.request(url, asked, 'json');
    const data = parsedText(await response.text());
    if (isAnswer(data)) return data;
    throw refused(response, '');
  }

  async request(url: string, { post, headers, signal }: Asked, kind = 'event-stream'): Promise<Response> {
    const { headers: own = {}, credentials, fetch: ask = fetch } = this.#options;
    const all = new Headers(typeof own === 'function' ? await own() : own);
    new Headers(headers).forEach((value, name) => all.set(name, value));
    if (post !== undefined) all.set('content-type', 'application/json');
    // Firefox would let a page that is loaded again wait for what the page before asks in its last moments.
    const response = await ask(url, {
      headers: all,
      cache: 'no-store',
      ...(post === undefined ? {} : { method: 'POST', body: JSON.stringify(post) }),
      ...defined({ signal, credentials }),
    });
    // Another may answer, such as a page to sign in on.
    const type = response.headers.get('content-type') ?? '';
    if (response.ok && (response.status === 204 || type.includes(kind))) return response;
    throw refused(response, await response.text().catch(() => ''));
  }

  /** The chunks of a stream, over all connections that it takes. */
  chunks(first: Response, reading: Reading): ReadableStream<UiChunk> {
    const messages = this.#read(first, reading);
    return new ReadableStream<UiChunk>({
      pull: async (controller) => {
        const next = await messages.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => void (await messages.return(undefined)),
    });
  }

  async *#read(first: Response, reading: Reading): AsyncGenerator<UiChunk, undefined> {
    const { chatId, headers, signal, again } = reading;
    let { run } = reading;
    let response: Response | null = first;
    let last = '';
    let failures = 0;
    for (;;) {
      let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
      let pauseMs = 0;
      try {
        if (response === null) {
          const after = new Headers(headers);
          if (last !== '') after.set('last-event-id', last);
          const post = last === '' ? again : undefined;
          const url = post === undefined ? this.addressOf(chatId, 'stream', run) : this.api;
          response = await this.request(url, { post, headers: after, signal });
          if (response.status === 204) return;
        }
        reader = response.body?.getReader();
        for await (const messages of reader === undefined ? [] : messagesIn(reader)) {
          // It stood until a proxy let no stream last longer.
          if (messages.length === 0) failures = 0;
          for (const [data, id = ''] of messages) {
            if (data === '[DONE]') return;
            const chunk: UiChunk = JSON.parse(data);
            if (readPosition(id) !== null) last = id;
            run = this.#seen({ ...reading, run }, chunk);
            failures = 0;
            yield chunk;
          }
        }
      } catch (error) {
        const { status = 500, retryAfterMs = 0 }: { status?: number; retryAfterMs?: number } = Object(error);
        pauseMs = Math.min(retryAfterMs, 60_000);
        // A refusal stays one. 429 passes.
        const isFinal = signal?.aborted === true || (status < 500 && status !== 429);
        if (isFinal || failures >= RETRIES_MS.length) throw error;
      } finally {
        void reader?.cancel().catch(() => undefined);
      }
      const ms = RETRIES_MS[failures++];
      if (ms === undefined) throw new TypeError('network error: the stream ended early');
      response = null;
      await new Promise((resolve) => setTimeout(resolve, Math.max(ms, pauseMs)));
    }
  }
}

/** Whose run a message is of, and how that ended. */
function markOf(metadata: unknown): { readonly runId?: unknown; readonly status?: unknown } {
  return Object(Reflect.get(Object(metadata), 'signalbox'));
}

/** Not `crypto.randomUUID`: a page without TLS, on another machine of the network, does not have it. */
function freshId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** Why a request came to nothing. The code is that of our server, if it was ours. */
function refused({ status, headers, ok }: Response, text: string): Error {
  const { error }: { readonly error?: unknown } = Object(parsedText(text));
  const isPage = ok || text === '' || headers.get('content-type')?.includes('html') === true;
  const otherwise = isPage ? `HTTP ${status}, not from uiStream.serve` : text;
  const { code = 'request-failed', message = otherwise }: { code?: unknown; message?: string } = Object(error);
  const retryAfterMs = Number(headers.get('retry-after')) * 1000 || undefined;
  return Object.assign(new Error(message), { status, code, ...defined({ retryAfterMs }) });
}
