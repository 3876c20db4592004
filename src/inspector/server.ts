/**
 * Owns: the socket, and who may speak through it. Does not own: what is answered.
 *
 * I1 It listens on 127.0.0.1 and nowhere else.
 * I2 Nothing is answered before host, origin and token were checked.
 * I3 Whatever goes wrong in one request stays in it.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { describeThrown } from '../actors/to-json.ts';
import { checkRequest } from './check-request.ts';
import { type RouteWorld, answer } from './routes.ts';
import { SECURITY_HEADERS } from './security-headers.ts';
import { sendResponse } from './send-response.ts';

interface ServerOptions extends RouteWorld {
  readonly port: number;
  readonly token: string;
  /** From the beginning, the process stays while it listens; see `hold`. */
  readonly keepAlive: boolean;
}

/** A server that listens. */
export interface InspectorServer {
  readonly port: number;
  /** Whether the process stays while it listens, or may end when nothing else is left to do. */
  hold(stay: boolean): void;
  close(): Promise<void>;
}

const LONGEST_BODY = 10_000_000;

/** Listens on a port of 127.0.0.1; 0 for any that is free. Rejects when the port is taken. */
export async function listen({ port, token, keepAlive, ...world }: ServerOptions): Promise<InspectorServer> {
  const server = createServer((request, response) => {
    const wanted = { port: portOf(server), token };
    handle(request, response, world, wanted).catch(() => response.destroy());
  });
  server.on('upgrade', (_request, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve());
  });
  // The socket that listens speaks for all: a browser that is still connected holds no process.
  if (!keepAlive) server.on('connection', (socket) => socket.unref());
  const hold = (stay: boolean): void => void (stay ? server.ref() : server.unref());
  hold(keepAlive);
  return {
    port: portOf(server),
    hold,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  world: RouteWorld,
  wanted: { readonly port: number; readonly token: string },
): Promise<void> {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const refused = checkRequest(request, url, wanted);
  if (refused !== null) {
    response.writeHead(refused.status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    return void response.end(refused.message);
  }
  const { method } = request;
  const lastEventId = request.headers['last-event-id'];
  const allowed = {
    method: method === 'POST' ? method : 'GET',
    url,
    lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    body: () => bodyOf(request),
  } as const;
  const answered = await answer(allowed, world).catch(
    (error: unknown) => new Response(describeThrown(error).message, { status: 500, headers: TEXT }),
  );
  if (method === 'HEAD') return void response.writeHead(answered.status, Object.fromEntries(answered.headers)).end();
  await sendResponse(answered, response);
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    const piece: Buffer = Buffer.from(part);
    length += piece.length;
    if (length > LONGEST_BODY) throw new Error(`The body is longer than ${LONGEST_BODY} bytes.`);
    parts.push(piece);
  }
  return Buffer.concat(parts).toString();
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
