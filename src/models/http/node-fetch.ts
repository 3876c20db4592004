import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Fetch } from '../endpoint/endpoint.ts';
import type { Environment } from '../endpoint/environment.ts';
import { findRoute, type HttpRoute } from './http-routes.ts';
import { bodyOf, NodeRequest } from './node-request.ts';

const stream = process.getBuiltinModule('node:stream');

/**
 * A `fetch` over Node's own HTTP client, at half the CPU of the platform's. It keeps connections, honours the proxy
 * variables, abandons a connection that is not established after `connectMs` milliseconds, and does not keep an idle
 * process alive. It follows redirects within their origin alone, and sends text or bytes only.
 */
export function createNodeFetch({ connectMs, env }: { readonly connectMs: number; readonly env: Environment }): Fetch {
  // Requests go to one address again and again.
  let last: { readonly url: string; readonly route: HttpRoute } | undefined;
  // So do the same headers; they do not change between two requests.
  let sent: { readonly given: Headers; readonly headers: readonly string[] } | undefined;
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    if (last?.url !== url) last = { url, route: findRoute(new URL(url), env) };
    const { route } = last;
    const { method = 'GET', signal } = init;
    const given = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
    if (sent?.given !== given) sent = { given, headers: [...given].flat() };
    const { headers } = sent;
    const body = sendable(init.body);
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const abort = () => request.destroy(signal?.reason);
      const unfollow = () => signal?.removeEventListener('abort', abort);
      const request = new NodeRequest(
        { route, method, headers, body, connectMs },
        {
          onResponse(message) {
            // Later errors belong to whatever reads the body; without a listener they would end the process.
            message.on('error', () => undefined);
            message.once('close', unfollow);
            resolve(new NodeResponse(message));
          },
          onError(error) {
            unfollow();
            reject(error);
          },
        },
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  };
}

function sendable(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('this HTTP client sends text or bytes only');
}

/**
 * A `Response` over Node's own message. `readText` is the cheap way to its body; `body`, `text` and `json` are there
 * for clients that expect a platform response. The body can be read once, in one of these ways.
 */
export class NodeResponse extends Response {
  /** Let go once it was read: whatever keeps the response, as the `openai` package does, keeps no run by it. */
  #message: IncomingMessage | null;
  #web: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(message: IncomingMessage) {
    const { statusCode = 0 } = message;
    // No other status is one to the platform, and any other is a failure of the server.
    super(null, { status: statusCode < 200 || statusCode > 599 ? 500 : statusCode, headers: pairs(message) });
    this.#message = message;
  }

  /** Passes on the body piece by piece, as text. Rejects when the connection breaks off. */
  readText(onText: (text: string) => void): Promise<void> {
    const body = bodyOf(this.#unread());
    body.setEncoding('utf8');
    return new Promise((resolve, reject) => {
      body.on('data', onText);
      body.once('end', resolve);
      body.once('error', reject);
      body.once('close', () => {
        body.off('data', onText);
        this.#message = null;
        if (!body.readableEnded) reject(new Error('the connection was closed before the reply was complete'));
      });
    });
  }

  /** Stops reading and closes the connection. */
  discard(): void {
    this.#message?.destroy();
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#web ??= new ReadableStream(sourceOf(bodyOf(this.#unread())));
    return this.#web;
  }

  override async text(): Promise<string> {
    const pieces: string[] = [];
    await this.readText((text) => pieces.push(text));
    return pieces.join('');
  }

  #unread(): IncomingMessage {
    if (this.#message === null) throw new TypeError('the body of this response was read');
    return this.#message;
  }

  override async json(): Promise<unknown> {
    const value: unknown = JSON.parse(await this.text());
    return value;
  }
}

function pairs(message: IncomingMessage): Headers {
  const headers = new Headers();
  const raw = message.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '');
  return headers;
}

function sourceOf(body: Readable): UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  const reader = stream.Readable.toWeb(body).getReader();
  return {
    async pull(controller) {
      const next = await reader.read();
      if (next.done) controller.close();
      else controller.enqueue(Uint8Array.from(next.value));
    },
    cancel: (reason) => reader.cancel(reason),
  };
}
