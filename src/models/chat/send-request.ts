import { parsedText } from '../../json/json.ts';
import { LONGEST_TIMEOUT } from '../../actors/deadline.ts';
import { ModelError, type ModelIo, type ModelReply, type ModelToken } from '../../actors/model.ts';
import { endpointText, type Endpoint } from '../endpoint/endpoint.ts';
import { connectFailed, type RefusedRequest, type ResponseHeaders } from './failure.ts';
import { ReplyBodyReader } from './reply-body.ts';

/** Receives what comes back of a request: a head, text in pieces and an end; or one of the other two instead. */
export interface ResponseListener {
  onHead(status: number, headers: ResponseHeaders): void;
  onText(text: string): void;
  onEnd(): void;
  /** An error response that the client has read itself. */
  onRefused(refused: RefusedRequest): void;
  /** The server was not reached, or the connection broke off. */
  onFailure(cause: unknown): void;
}

/** Sends Chat Completions requests. */
export interface ChatClient {
  /** True for OpenAI's own servers, which use their own names for some fields. */
  readonly isOpenAI: boolean;
  /** Sends a request. Never throws; gives what stops it and closes its connection. */
  send(body: string, listener: ResponseListener): (reason: unknown) => void;
}

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
export function sendRequest(input: RequestInput): Promise<RequestOutcome> {
  return new Promise((resolve, reject) => {
    new RequestUnderWay(input, resolve, reject).start();
  });
}

/** A connection that the server leaves open after the last event is closed after this time. */
const LINGER_MS = 1000;

/** Once a reply has its `finish_reason`, a stream that does not end is waited for as long as this after each event. */
const GRACE_MS = 2000;

/** A timer that is later than this shows that the process was busy. */
const LATE_MS = 20;

/** Longer error bodies are cut: what matters stands at their beginning. */
const MAX_ERROR_CHARS = 1_000_000;

/** A request from its start until its reply is read: an outcome, a failure, an abort or silence ends it, the first of them. */
class RequestUnderWay implements ResponseListener {
  readonly #input: RequestInput;
  readonly #resolve: (outcome: RequestOutcome) => void;
  readonly #reject: (error: ModelError) => void;
  readonly #pace = new Pace();
  #stop: (reason: unknown) => void = () => undefined;
  #head: { readonly status: number; readonly headers: ResponseHeaders } | undefined;
  /** Reads a reply; undefined before the head, and for an error response. */
  #reader: ReplyBodyReader | undefined;
  #errorText = '';
  #isSettled = false;
  #heardAt = performance.now();
  /** The timer came late, because the process was busy: what was received meanwhile is read before silence counts. */
  #isLastLook = false;
  /** Of the silence; of lingering once the outcome is there. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(input: RequestInput, resolve: (outcome: RequestOutcome) => void, reject: (error: ModelError) => void) {
    this.#input = input;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { client, body, io, responseMs } = this.#input;
    if (io.signal.aborted) {
      this.#onAbort();
      return;
    }
    io.signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#waitFor(responseMs);
    this.#stop = client.send(body, this);
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#heardAt = performance.now();
    this.#head = { status, headers };
    if (status < 200 || status > 299) return;
    const { onToken } = this.#input.io;
    const listener = onToken === undefined ? undefined : this.#pace.listener(onToken);
    this.#reader = new ReplyBodyReader(headers, listener);
  }

  onText(text: string): void {
    if (this.#isSettled) return;
    if (this.#reader !== undefined) this.#readReply(this.#reader, text);
    else {
      this.#heardAt = performance.now();
      this.#errorText += text;
      if (this.#errorText.length <= MAX_ERROR_CHARS) return;
      this.#endErrorBody();
      this.#stop(undefined);
    }
  }

  onEnd(): void {
    if (this.#isSettled) clearTimeout(this.#timer);
    else if (this.#reader === undefined) this.#endErrorBody();
    else this.#endReply(this.#reader);
  }

  onRefused(refused: RefusedRequest): void {
    if (this.#settle()) this.#resolve(refused);
  }

  onFailure(cause: unknown): void {
    if (this.#isSettled) clearTimeout(this.#timer);
    else if (this.#head === undefined) this.#fail(connectFailed(this.#input.endpoint, cause));
    else if (this.#reader === undefined) this.#endErrorBody();
    // What broke off after the end of the reply was only the closing of the connection.
    else if (this.#reader.isComplete()) this.#endReply(this.#reader);
    else this.#fail(new ModelError('bad-response', 'the reply broke off before it was complete', { cause }));
  }

  #readReply(reader: ReplyBodyReader, text: string): void {
    const { events } = reader;
    try {
      if (!reader.feed(text)) {
        // Comments keep a reply alive, not one that is complete.
        if (!reader.isComplete() || reader.events > events) this.#heardAt = performance.now();
        if (reader.isComplete() && reader.events > events) this.#waitFor(this.#longestSilence());
        return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#endReply(reader);
    // Lets the connection be used again if its server ends the reply soon; otherwise closes it.
    this.#timer = setTimeout(() => this.#stop(undefined), LINGER_MS);
  }

  #endReply(reader: ReplyBodyReader): void {
    try {
      const read = reader.result();
      if (!this.#settle()) return;
      if (read.kind === 'error') this.#resolve({ ...this.#refused(), body: read.error, isLate: read.isLate });
      else this.#resolve({ kind: 'reply', reply: this.#pace.measured(read.reply) });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** An error body that broke off or is very long is used as far as it was received. */
  #endErrorBody(): void {
    this.onRefused({ ...this.#refused(), body: parsedText(this.#errorText) ?? this.#errorText });
  }

  #refused() {
    return { kind: 'refused', status: this.#head?.status ?? 0, headers: this.#head?.headers } as const;
  }

  readonly #onAbort = (): void => {
    const { endpoint, io } = this.#input;
    const cause: unknown = io.signal.reason;
    this.#fail(new ModelError('aborted', `The request to ${endpointText(endpoint)} was aborted.`, { cause }));
  };

  #longestSilence(): number {
    const { responseMs } = this.#input;
    return this.#reader?.isComplete() === true ? Math.min(responseMs, GRACE_MS) : responseMs;
  }

  #waitFor(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onSilence, Math.max(0, Math.min(ms, LONGEST_TIMEOUT)));
  }

  /** One recurring timer costs less than resetting one with every piece. */
  readonly #onSilence = (): void => {
    const { endpoint, responseMs } = this.#input;
    const left = this.#heardAt + this.#longestSilence() - performance.now();
    this.#isLastLook = left < -LATE_MS && !this.#isLastLook;
    if (left > 0 || this.#isLastLook) {
      this.#waitFor(Math.ceil(left));
      return;
    }
    if (this.#reader?.isComplete() === true) {
      this.#endReply(this.#reader);
      this.#stop(undefined);
      return;
    }
    const text = `${endpointText(endpoint)} was silent for ${seconds(responseMs)}; raise timeouts.responseMs if the model is that slow.`;
    const cause = new Error('the server was silent for too long');
    this.#fail(new ModelError('timeout', text, { cause, data: { phase: 'response' } }));
  };

  #fail(error: unknown): void {
    if (!this.#settle()) return;
    this.#stop(error);
    this.#reject(namedFailure(error, this.#input.endpoint));
  }

  /** False when the request had an end already. */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#input.io.signal.removeEventListener('abort', this.#onAbort);
    return true;
  }
}

function namedFailure(error: unknown, endpoint: Endpoint): ModelError {
  const place = endpointText(endpoint);
  if (!(error instanceof ModelError))
    return new ModelError('model-error', `The request to ${place} failed.`, { cause: error });
  if (error.code !== 'bad-response') return error;
  return new ModelError('bad-response', `Unusable answer from ${place}: ${error.message}.`, { cause: error });
}

function seconds(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(Math.round(ms / 1000))} s`;
}

/** Replies that take less time than this arrive in one piece: their speed is unknown. */
const SHORTEST_MS = 5;

/** Measures how fast a reply comes, from the moment it is made. */
class Pace {
  readonly #startedAt = performance.now();
  #firstAt = 0;
  #lastAt = 0;

  /** Wraps a listener so that its tokens are timed. One that throws does not break the reply. */
  listener(onToken: NonNullable<ModelIo['onToken']>): (token: ModelToken) => void {
    return (token) => {
      this.#lastAt = performance.now();
      if (this.#firstAt === 0) this.#firstAt = this.#lastAt;
      try {
        onToken(token);
      } catch {
        // A listener that throws is its own affair.
      }
    };
  }

  /** The reply with the figures that the server did not give itself. */
  measured(reply: ModelReply): ModelReply {
    const spentMs = this.#lastAt - this.#firstAt;
    if (this.#firstAt === 0 || spentMs < SHORTEST_MS) return reply;
    const tokens = reply.usage?.outputTokens;
    const speed = tokens === undefined ? {} : { tokensPerSecond: (tokens / spentMs) * 1000 };
    return { ...reply, stats: { timeToFirstTokenMs: this.#firstAt - this.#startedAt, ...speed, ...reply.stats } };
  }
}
