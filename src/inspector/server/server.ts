/**
 * Owns: the socket, and which requests it lets through. Does not own: what is answered.
 *
 * I1 It listens on 127.0.0.1 and nowhere else.
 * I2 Nothing is answered before host, origin and token were checked.
 * I3 Whatever goes wrong in one request stays in it.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { describeThrown } from '../../json/to-json.ts';
import { type AppSockets, type Upgrade, appSockets, refuseUpgrade } from './app-sockets.ts';
import { type Gate, checkRequest, checkUpgrade, reloadCookie, SECURITY_HEADERS } from './check-request.ts';
import type { ReceivedSystems } from '../sessions/received-systems.ts';
import { type RouteWorld, answer } from './api-routes.ts';

interface ServerOptions extends RouteWorld, Gate {
  /** An app has connected that gives itself this name. */
  readonly connect: ReceivedSystems['connect'];
  /** From the beginning, the process stays while it listens; see `hold`. */
  readonly keepAlive: boolean;
}

/** Of a body, but for recordings, and of a message, in bytes. */
const LONGEST = 10_000_000;

/** Listens on a port of 127.0.0.1; 0 for a free one. Rejects when the port is taken. */
export async function listen({ port, keepAlive, connect, ...world }: ServerOptions) {
  const apps = appSockets(connect, LONGEST);
  const gate = (): Gate => ({ ...world, port: portOf(server) });
  const streams: Streams = new Set();
  const server = createServer((request, response) => {
    handle(request, response, { ...world, streams }, gate()).catch(() => response.destroy());
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => undefined);
    upgrade({ request, socket, head }, apps, gate()).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve());
  });
  // Only the listening socket decides: a browser that is still connected does not keep the process alive.
  if (!keepAlive) server.on('connection', (socket) => socket.unref());
  const hold = (stay: boolean): void => void (stay ? server.ref() : server.unref());
  hold(keepAlive);
  return {
    port: portOf(server),
    /** Whether the process stays while it listens, or may end when nothing else is left to do. */
    hold,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        apps.close();
      }),
  };
}

/** How to end each of the streams that browsers listen to; first the one that was opened first. */
type Streams = Set<() => void>;

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  { streams, ...world }: RouteWorld & { readonly streams: Streams },
  gate: Gate,
): Promise<void> {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const refused = checkRequest(request, url, gate);
  if (refused !== null) {
    response.writeHead(refused.status, { ...TEXT, allow: 'GET, HEAD, POST', connection: 'close' });
    return void response.end(refused.message);
  }
  const { method } = request;
  if (url.pathname === '/') response.setHeader('set-cookie', reloadCookie(gate));
  const lastEventId = request.headers['last-event-id'];
  const allowed = {
    method: method === 'POST' ? method : 'GET',
    url,
    lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    body: (most = LONGEST) => bodyOf(request, most),
  } as const;
  const answered = await answer(allowed, world).catch(
    (error: unknown) =>
      new Response(describeThrown(error).message, { status: error instanceof TooLong ? 413 : 500, headers: TEXT }),
  );
  if (method === 'HEAD') return void response.writeHead(answered.status, Object.fromEntries(answered.headers)).end();
  const accepted = method === 'POST' ? '' : (request.headers['accept-encoding'] ?? '');
  const isStream = answered.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const room = isStream && 'sec-fetch-site' in request.headers ? streams : null;
  await sendResponse(compressed(answered, accepted), response, room);
}

/**
 * A browser has six connections to a server, all its tabs together, and each stream takes one: with more of them than this, not
 * even an approval would get through. The one that was opened first makes room; its page soon continues it.
 */
const MOST_STREAMS = 5;

function takeRoom(streams: Streams, to: ServerResponse, leave: () => void): void {
  const end = (): void => {
    streams.delete(end);
    if (to.writableNeedDrain) to.destroy();
    else leave();
  };
  const [oldest] = streams;
  if (streams.size >= MOST_STREAMS) oldest?.();
  streams.add(end);
  to.once('close', () => streams.delete(end));
}

/** Files and recordings are a fifth of their size; events have to arrive one by one. */
const COMPRESSED = /^(?:text\/(?:html|css|javascript)|application\/(?:json|x-ndjson))/;

function compressed(answered: Response, accepted: string): Response {
  const { body, headers, status } = answered;
  if (body === null || !/\bgzip\b/.test(accepted) || !COMPRESSED.test(headers.get('content-type') ?? ''))
    return answered;
  const packed = new Response(body.pipeThrough(new CompressionStream('gzip')), { status, headers });
  packed.headers.set('content-encoding', 'gzip');
  return packed;
}

async function upgrade(wish: Upgrade, apps: AppSockets, gate: Gate): Promise<void> {
  const url = new URL(wish.request.url ?? '/', 'http://127.0.0.1');
  const refused = checkUpgrade(wish.request, url, gate);
  if (refused !== null) return refuseUpgrade(wish.socket, refused);
  await apps.accept(wish, url.searchParams.get('app') ?? '');
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

class TooLong extends Error {}

async function bodyOf(request: IncomingMessage, most: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    const piece: Buffer = Buffer.from(part);
    length += piece.length;
    // The rest is read as well, or the client is cut off and sees no answer.
    if (length > most) parts.length = 0;
    else parts.push(piece);
  }
  if (length > most) throw new TooLong(`The body is longer than ${most} bytes.`);
  return Buffer.concat(parts).toString();
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Sends a Web `Response` over Node's HTTP. What the client does not take is not read: it waits in the source. */
async function sendResponse(response: Response, to: ServerResponse, streams: Streams | null): Promise<void> {
  to.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void to.end();
  writeTogether(to);
  to.flushHeaders();
  const reader = response.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  to.once('close', leave);
  if (streams !== null) takeRoom(streams, to, leave);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (to.destroyed) return;
      writeTogether(to);
      if (!to.write(part.value)) await roomOrEnd(to);
    }
    to.end();
  } catch {
    to.destroy();
  } finally {
    to.off('close', leave);
  }
}

/** What is written in this turn of the event loop becomes one write: each costs a system call in the agent's process. */
function writeTogether({ socket }: ServerResponse): void {
  if (socket === null || socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}

/** Resolves when there is room for more, or the client is gone. */
function roomOrEnd(to: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      to.off('drain', done).off('close', done);
      resolve();
    };
    to.on('drain', done).on('close', done);
  });
}
