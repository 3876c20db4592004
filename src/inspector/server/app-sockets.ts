/**
 * Owns: the WebSocket connections of apps that report what their actors do. Does not own: which may connect, or what
 * reports are for.
 *
 * I1 The server only listens. It sends nothing but that a message was invalid, and only to an app that reads.
 * I2 However fast they send, runs in this process keep most of its time. Only one message of each app, and what came
 *    with it, is buffered: until that is processed, nothing more is read.
 * I3 What one of them sends ends at most its own connection.
 */
import type { SessionEnding } from '../frames/protocol.ts';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { type RequestRefusal, SECURITY_HEADERS } from './check-request.ts';
import { fairTurns } from '../frames/event-loop.ts';
import { type ReceivedConnection, type ReceivedSystems, receiveText } from '../sessions/received-systems.ts';

/** The connections of one inspector. */
export type AppSockets = ReturnType<typeof appSockets>;

/** A request to continue with another protocol, as Node hands it over. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const MOST_APPS = 32;
/** How long a client has to close its end too, in milliseconds. */
const GOODBYE_MS = 300;
const TOO_LONG = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

/** No connections yet. `longest` is the length of a message in bytes above which its connection is ended. */
export function appSockets(connect: ReceivedSystems['connect'], longest: number) {
  const clients = new Set<WebSocket>();
  const takeTurn = fairTurns();
  let server: WebSocketServer | null = null;
  let closed = false;

  const listenTo = (client: WebSocket, connection: ReceivedConnection): void => {
    const waiting: (() => void)[] = [];
    let tooLong = false;
    const piece = (): boolean => {
      if (closed) return false;
      waiting.shift()?.();
      if (waiting.length === 0) client.resume();
      return waiting.length > 0;
    };
    const later = (what: () => void): void => {
      waiting.push(what);
      client.pause();
      takeTurn(piece);
    };
    clients.add(client);
    client.on('message', (data, isBinary) => {
      later(() => hear(client, connection, !isBinary && Buffer.isBuffer(data) ? data.toString() : ''));
    });
    client.on('error', (error) => {
      tooLong = 'code' in error && error.code === TOO_LONG;
      goodbye(client);
    });
    client.on('close', (code) => {
      clients.delete(client);
      later(() => connection.closed(endingOf(code, tooLong)));
    });
  };

  return {
    /** Makes a connection of a request that was found to be allowed. `app` is the name that it gave itself. */
    accept: async ({ request, socket, head }: Upgrade, app: string): Promise<void> => {
      server ??= await newServer(longest);
      if (closed) return void socket.destroy();
      if (clients.size >= MOST_APPS) return refuseUpgrade(socket, FULL);
      server.handleUpgrade(request, socket, head, (client) => {
        const isLeaving = (): boolean => client.readyState !== client.OPEN;
        listenTo(client, connect(app, isLeaving));
      });
    },
    /** Ends all of them, and takes no more. */
    close: (): void => {
      closed = true;
      for (const client of clients) {
        client.resume();
        client.close(1001, 'The inspector was closed.');
        goodbye(client);
      }
    },
  };
}

const FULL: RequestRefusal = { status: 503, message: `${MOST_APPS} apps are connected already.` };

/** Refuses a request to continue with another protocol. */
export function refuseUpgrade(socket: Duplex, { status, message }: RequestRefusal): void {
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(message)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${message}`);
}

/** Loaded with the first app that connects: most inspectors never see one. */
async function newServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import('ws');
  return new Server({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
}

function hear(client: WebSocket, { receive }: ReceivedConnection, text: string): void {
  try {
    const reply = receiveText(text, receive);
    // For a client that does not read, what was not read would pile up.
    if (!reply.ok && client.readyState === client.OPEN && client.bufferedAmount === 0)
      client.send(JSON.stringify(reply));
  } catch {
    // I3.
  }
}

function goodbye(client: WebSocket): void {
  const timer = setTimeout(() => client.terminate(), GOODBYE_MS);
  client.on('close', () => clearTimeout(timer));
}

/** An app that closes its connection has stopped; one that just falls silent, such as a process that ends, was interrupted. */
function endingOf(code: number, tooLong: boolean): SessionEnding {
  if (tooLong) return { status: 'interrupted', reason: 'it sent too much at once' };
  return { status: GOODBYES.includes(code) ? 'stopped' : 'interrupted', reason: 'disconnected' };
}

/** Normal, left the page, no code. */
const GOODBYES = [1000, 1001, 1005];
