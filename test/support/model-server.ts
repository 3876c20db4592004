import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { RecordedRequest, RequestBody, Scripted, ScriptedHttp } from './model-server/script.ts';
import { writePieces, writeReply } from './model-server/write-reply.ts';

export type {
  RecordedRequest,
  RequestBody,
  Scripted,
  ScriptedCall,
  ScriptedHttp,
  ScriptedReply,
} from './model-server/script.ts';

/** Options of {@link startModelServer}. */
export interface ModelServerOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** What `/v1/models` lists. Default: `scripted`. */
  readonly models?: readonly string[];
  /** Answers to GET requests by path, beside `/v1/models`; a number is a bare status. */
  readonly pages?: Readonly<Record<string, unknown>>;
  /** Milliseconds after which the server closes idle connections. */
  readonly keepAliveMs?: number;
  /** Do not keep the requests: for benchmarks. */
  readonly forget?: boolean;
}

/** A running model server. */
export interface ModelServer {
  /** Up to and including `/v1`. */
  readonly baseURL: string;
  readonly origin: string;
  readonly port: number;
  /** Every chat request, in the order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Paths of every other request. */
  readonly otherPaths: readonly string[];
  /** Their headers, in the same order. */
  readonly otherHeaders: readonly IncomingHttpHeaders[];
  /** Chat requests that came after the script had ended: a test that expects none of them checks this list. */
  readonly unexpected: readonly RecordedRequest[];
  /** Connections that were ever opened. */
  sockets(): number;
  /** Resolves once this many chat requests have come in. */
  received(count: number): Promise<void>;
  /** Resolves once this many other requests have come in. */
  askedElsewhere(count: number): Promise<void>;
  /** Resolves once a client has gone before its answer was complete. */
  abandoned(): Promise<void>;
  /** Ends every connection that is idle now, as a server does that restarts. */
  dropIdle(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What is known of an endpoint outlasts the test that has met it: a server that is started later is another endpoint. */
const usedPorts = new Set<number>();

/**
 * Starts a real HTTP server on loopback that speaks Chat Completions and says what the script says: a list is answered
 * in order, one answer a request; a single function answers every request for as long as it is asked.
 */
export async function startModelServer(
  script: readonly Scripted[] | ((request: RecordedRequest) => Scripted | Promise<Scripted>),
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const unexpected: RecordedRequest[] = [];
  const otherPaths: string[] = [];
  const otherHeaders: IncomingHttpHeaders[] = [];
  const news = new EventTarget();
  const queue = typeof script === 'function' ? undefined : [...script];
  let sockets = 0;
  let abandoned = 0;

  const next = (request: RecordedRequest): Scripted => {
    if (typeof script === 'function') return script;
    const item = queue?.shift();
    if (item !== undefined) return item;
    unexpected.push(request);
    return { status: 500, body: { error: { message: 'the script has ended: this request was not expected' } } };
  };
  const chat = async (incoming: IncomingMessage, response: ServerResponse) => {
    const text = await readText(incoming);
    const body: RequestBody = JSON.parse(text);
    const request = { headers: incoming.headers, url: incoming.url ?? '', text, body };
    if (options.forget !== true) requests.push(request);
    news.dispatchEvent(new Event('request'));
    response.once('close', () => {
      if (response.writableFinished) return;
      abandoned += 1;
      news.dispatchEvent(new Event('abandoned'));
    });
    await answer(response, request, next(request));
  };
  const server = createServer((incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname;
    if (incoming.method === 'POST' && path.endsWith('/chat/completions')) {
      void chat(incoming, response);
      return;
    }
    otherPaths.push(path);
    otherHeaders.push(incoming.headers);
    news.dispatchEvent(new Event('other'));
    writePage(response, path, options);
  });
  server.keepAliveTimeout = options.keepAliveMs ?? 60_000;
  server.on('connection', () => {
    sockets += 1;
  });
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
  while (options.port === undefined && usedPorts.has(addressOf(server.address()).port)) {
    await once(server.close(), 'close');
    await once(server.listen(0, '127.0.0.1'), 'listening');
  }
  const { port } = addressOf(server.address());
  usedPorts.add(port);
  const origin = `http://127.0.0.1:${String(port)}`;

  const until = async (event: string, isTrue: () => boolean) => {
    while (!isTrue()) await once(news, event);
  };
  const close = async () => {
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    baseURL: `${origin}/v1`,
    origin,
    port,
    requests,
    otherPaths,
    otherHeaders,
    unexpected,
    sockets: () => sockets,
    received: (count) => until('request', () => requests.length >= count),
    askedElsewhere: (count) => until('other', () => otherPaths.length >= count),
    abandoned: () => until('abandoned', () => abandoned > 0),
    dropIdle: () => server.closeIdleConnections(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function answer(response: ServerResponse, request: RecordedRequest, scripted: Scripted): Promise<void> {
  if (typeof scripted === 'function') return answer(response, request, await scripted(request));
  if (typeof scripted === 'string') return writeReply(response, request.body, { content: scripted });
  if ('hang' in scripted) return undefined;
  if ('closeSocket' in scripted) return void response.destroy();
  if (scripted.delayMs !== undefined) await wait(scripted.delayMs);
  return 'status' in scripted ? writeHttp(response, scripted) : writeReply(response, request.body, scripted);
}

function writeHttp(response: ServerResponse, { status, body, pieces, headers }: ScriptedHttp): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
  writePieces(response, pieces ?? [isText ? body : JSON.stringify(body ?? {})]);
}

function writePage(response: ServerResponse, path: string, { models, pages }: ModelServerOptions): void {
  const list = { object: 'list', data: (models ?? ['scripted']).map((id) => ({ id, object: 'model' })) };
  const page: unknown = pages?.[path] ?? (path.endsWith('/models') ? list : 404);
  const status = typeof page === 'number' ? page : 200;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(typeof page === 'number' ? { error: { message: `HTTP ${String(page)}` } } : page));
}

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address;
}
