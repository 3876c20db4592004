import type { ClientRequest, IncomingMessage } from 'node:http';
import { readVariable, type Environment } from '../endpoint/environment.ts';
import type { Fetch } from '../endpoint/endpoint.ts';
import { findRoute, proxyHeaders, type Route } from './node-agents.ts';
import { NodeResponse } from './node-response.ts';

const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** No connection stood in time. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
}

/** What one request consists of, whatever connection carries it. */
interface Outgoing {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * A `fetch` over Node's own HTTP client, at half the CPU of the platform's. It keeps connections, honours the proxy
 * variables, gives up a connection that does not stand after `connectMs`, and holds no process open when idle.
 * It follows no redirects and sends text or bytes only.
 */
export function createNodeFetch({ connectMs, env }: { readonly connectMs: number; readonly env: Environment }): Fetch {
  const proxied = PROXY_VARIABLES.some((name) => readVariable(env, name) !== undefined);
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const outgoing: Outgoing = {
      url,
      method: init.method ?? 'GET',
      headers: Object.fromEntries(init.headers instanceof Headers ? init.headers : new Headers(init.headers)),
      body: sendable(init.body),
      signal: init.signal ?? undefined,
    };
    outgoing.signal?.throwIfAborted();
    const proxy = proxied ? proxyFor(url, env) : undefined;
    try {
      return await send(outgoing, findRoute(url, proxy, false), connectMs);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return send(outgoing, findRoute(url, proxy, true), connectMs);
    }
  };
}

const PROXY_VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'] as const;

/** A kept connection that the server had closed meanwhile: nothing came back on it, so asking again is safe. */
class StaleConnection extends Error {}

function send(outgoing: Outgoing, route: Route, connectMs: number): Promise<NodeResponse> {
  return new Promise((resolve, reject) => {
    const request = open(outgoing, route);
    const { signal } = outgoing;
    let reading: IncomingMessage | undefined;
    const abort = () => (reading ?? request).destroy(asError(signal?.reason));
    signal?.addEventListener('abort', abort, { once: true });
    watchConnection(request, connectMs);
    const bytesSeen = countBytes(request);

    request.once('response', (message) => {
      reading = message;
      // Later errors belong to whoever reads the body; without a listener they would end the process.
      message.on('error', () => undefined);
      message.once('close', () => signal?.removeEventListener('abort', abort));
      resolve(new NodeResponse(message));
    });
    request.on('error', (error) => {
      signal?.removeEventListener('abort', abort);
      const stale = request.reusedSocket && bytesSeen() === 0 && !(signal?.aborted ?? false);
      reject(stale ? new StaleConnection(error.message, { cause: error }) : error);
    });
    request.end(outgoing.body);
  });
}

function open({ url, method, headers, body }: Outgoing, { secure, agent, forwardedBy }: Route): ClientRequest {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const address = forwardedBy ?? url;
  const forwarded = forwardedBy === undefined ? {} : { host: url.host, ...proxyHeaders(forwardedBy) };
  return (secure ? https : http).request({
    host: address.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: address.port === '' ? null : address.port,
    path: forwardedBy === undefined ? url.pathname + url.search : url.href,
    method,
    agent,
    headers: { ...headers, ...length, ...forwarded },
  });
}

/** Ends the request when its connection does not stand in time. */
function watchConnection(request: ClientRequest, connectMs: number): void {
  const timer = setTimeout(
    () => request.destroy(new ConnectTimeout(`no connection within ${String(connectMs)} ms`)),
    connectMs,
  );
  const stands = () => clearTimeout(timer);
  request.once('close', stands);
  request.once('socket', (socket) => {
    if (!socket.connecting) stands();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', stands);
  });
}

/** Bytes that came in since the request got its connection. */
function countBytes(request: ClientRequest): () => number {
  let before = 0;
  request.once('socket', (socket) => {
    before = socket.bytesRead;
  });
  return () => (request.socket?.bytesRead ?? 0) - before;
}

function sendable(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('this HTTP client sends text or bytes only');
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was aborted');
}

/**
 * The proxy for a URL by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (either case), or undefined for none.
 * Loopback addresses are never sent to a proxy: a local model is not reachable from there.
 */
export function proxyFor(url: URL, env: Environment): URL | undefined {
  const host = url.hostname.toLowerCase();
  if (isLoopback(host)) return undefined;
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const proxy = first(env, names);
  if (proxy === undefined || isExcluded(url, host, first(env, ['no_proxy', 'NO_PROXY']) ?? '')) return undefined;
  const address = proxy.includes('://') ? proxy : `http://${proxy}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

/** True for `localhost`, 127.0.0.0/8 and ::1. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function isExcluded(url: URL, host: string, list: string): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (entryPort !== undefined && entryPort !== port) return false;
      const suffix = name.replace(/^\*?\./, '');
      return host === suffix || host.endsWith(`.${suffix}`);
    });
}

function first(env: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => readVariable(env, name)).find((value) => value !== undefined);
}
