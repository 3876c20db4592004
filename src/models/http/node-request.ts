import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import type Zlib from 'node:zlib';
import { afterLimit } from '../../actors/deadline.ts';
import { MOST_REDIRECTS } from '../../actors/redirect.ts';
import type { HttpRoute } from './http-routes.ts';

const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** No connection was established in time. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
}

/** One request, whatever connection carries it. */
export interface OutgoingRequest {
  readonly route: HttpRoute;
  readonly method: string;
  /** Name, value, name, value …, without `host` and `content-length`. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | undefined;
  /** Time limit for connecting, in milliseconds. */
  readonly connectMs: number;
}

/** Receives what comes of a request: one of the two, once. */
export interface RequestListener {
  /** The head has come. Errors of the message are the listener's from here on. */
  onResponse(message: IncomingMessage): void;
  /** There will be no response. */
  onError(error: Error): void;
}

/**
 * A request over Node's own HTTP client. It is sent again, over a new connection, if a kept connection turns out to have
 * been closed by the server: nothing came back on it, so asking again is safe. Redirects that keep it within its origin are
 * followed.
 */
export class NodeRequest {
  #outgoing: OutgoingRequest;
  #redirects = 0;
  readonly #listener: RequestListener;
  #current: ClientRequest | IncomingMessage;
  #isDestroyed = false;

  /** Sends the request. Throws for a header that cannot be sent. */
  constructor(outgoing: OutgoingRequest, listener: RequestListener) {
    this.#outgoing = outgoing;
    this.#listener = listener;
    this.#current = this.#send(false);
  }

  /** Ends the request or the reading of its response, and closes the connection. */
  destroy(reason: unknown): void {
    this.#isDestroyed = true;
    end(this.#current, reason instanceof Error ? reason : new Error('the request was aborted'));
  }

  #send(fresh: boolean): ClientRequest {
    const request = open(this.#outgoing, fresh);
    // Node has assigned a kept connection by now, if there is one; only a new one must still be made.
    if (!request.reusedSocket) limitConnecting(request, this.#outgoing.connectMs);
    const hasAnswered = request.reusedSocket ? watchBytes(request) : undefined;
    request.once('response', (message) => {
      if (this.#follow(message)) return;
      this.#current = message;
      this.#listener.onResponse(message);
    });
    // Nobody asked for another protocol, and Node would report nothing.
    request.once('upgrade', (_message, socket) => {
      socket.destroy();
      request.emit('error', Object.assign(new Error('the server left HTTP'), { code: 'EPROTO' }));
    });
    request.on('error', () => undefined);
    request.once('error', (error) => {
      // What goes wrong with a response is an error of the message.
      if (this.#current !== request) return;
      if (this.#isDestroyed || hasAnswered === undefined || hasAnswered())
        this.#listener.onError('code' in error ? this.#outgoing.route.failed(error) : error);
      else this.#current = this.#send(true);
    });
    return request;
  }

  #follow(message: IncomingMessage): boolean {
    const route = this.#redirects < MOST_REDIRECTS ? this.#outgoing.route.redirected(message) : null;
    if (route === null) return false;
    // What it says beside that is read past, so that its connection can be used again, and not for longer than the rest takes.
    message.on('error', () => undefined).resume();
    this.#redirects += 1;
    this.#outgoing = { ...this.#outgoing, route };
    this.#current = this.#send(false).once('close', () => message.destroy());
    return true;
  }
}

function open({ route, method, headers, body }: OutgoingRequest, fresh: boolean): ClientRequest {
  const length = body === undefined ? undefined : Buffer.byteLength(body);
  const request = (route.secure ? https : http).request({
    host: route.host,
    port: route.port,
    path: route.path,
    method,
    agent: route.agent(fresh),
    headers: [...route.headers, ...headers, ...(length === undefined ? [] : ['content-length', String(length)])],
  });
  // Pure ASCII text is written as it is, without looking at each character.
  if (typeof body === 'string') request.end(body, length === body.length ? 'latin1' : 'utf8');
  else request.end(body);
  return request;
}

/** Ends a request or the reading of its response. Without a connection, Node would report it when a tunnel stands or fails. */
function end(current: ClientRequest | IncomingMessage, error: Error): void {
  current.destroy(error);
  if (!('complete' in current) && current.socket === null) current.emit('error', error);
}

/** Ends the request when its connection is not established in time. */
function limitConnecting(request: ClientRequest, connectMs: number): void {
  const late = () => end(request, new ConnectTimeout(`no connection within ${String(connectMs)} ms`));
  const stands = afterLimit(connectMs, late);
  request.once('error', stands).once('close', stands);
  request.once('socket', (socket) => {
    if (!socket.connecting) stands();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', stands);
  });
}

/** Whether anything came in since the request got its connection. */
function watchBytes(request: ClientRequest): () => boolean {
  let before = 0;
  request.once('socket', (socket) => {
    before = socket.bytesRead;
  });
  return () => (request.socket?.bytesRead ?? 0) > before;
}

/** How to unpack a body, by its `content-encoding`. */
const UNPACKERS: ReadonlyMap<string | undefined, (zlib: typeof Zlib) => Transform> = new Map([
  ['gzip', (zlib) => zlib.createGunzip()],
  ['x-gzip', (zlib) => zlib.createGunzip()],
  ['deflate', (zlib) => zlib.createInflate()],
  ['br', (zlib) => zlib.createBrotliDecompress()],
  ['zstd', (zlib) => zlib.createZstdDecompress()],
]);

/** The body of a response, unpacked where its server has compressed it: that is not asked for, and some do it all the same. */
export function bodyOf(message: IncomingMessage): Readable {
  const unpacker = UNPACKERS.get(message.headers['content-encoding']?.trim().toLowerCase());
  if (unpacker === undefined) return message;
  const { pipeline } = process.getBuiltinModule('node:stream');
  return pipeline(message, unpacker(process.getBuiltinModule('node:zlib')), () => undefined);
}
