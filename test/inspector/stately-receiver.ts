import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** What Stately's client sends, as far as the tests look at it. */
export interface StatelyEvent {
  readonly type: string;
  readonly sessionId: string;
  readonly rootId?: string;
  readonly parentId?: string;
  readonly name?: string;
  readonly definition?: string;
  readonly event?: { readonly type: string };
  readonly snapshot?: { readonly status: string; readonly value?: unknown; readonly context?: unknown };
}

/** A WebSocket server that keeps what it is sent. */
export interface StatelyReceiver {
  readonly url: string;
  /** Everything so far, as soon as one of the events satisfies `found`. */
  until(found: (event: StatelyEvent) => boolean): Promise<readonly StatelyEvent[]>;
  close(): Promise<void>;
}

/** Listens on loopback; understands text messages of any length in single frames, which is what the client sends. */
export async function statelyReceiver(): Promise<StatelyReceiver> {
  const events: StatelyEvent[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on('upgrade', (request, socket) => {
    sockets.add(socket);
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    let bytes = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (part: Buffer) => {
      bytes = Buffer.concat([bytes, part]);
      for (let frame = readFrame(bytes); frame !== null; frame = readFrame(bytes)) {
        bytes = bytes.subarray(frame.length);
        if (frame.text !== null) events.push(JSON.parse(frame.text));
      }
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    until: (found) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!events.some(found)) return;
          waiting.delete(look);
          resolve([...events]);
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** The first masked frame of what a client has sent; null while it is not complete. */
function readFrame(bytes: Buffer): { readonly length: number; readonly text: string | null } | null {
  if (bytes.length < 6) return null;
  const short = bytes.readUInt8(1) & 127;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head + 4) return null;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const length = head + 4 + size;
  if (bytes.length < length) return null;
  const body = Buffer.from(bytes.subarray(head + 4, length));
  for (let at = 0; at < size; at++) body.writeUInt8(body.readUInt8(at) ^ bytes.readUInt8(head + (at % 4)), at);
  return { length, text: (bytes.readUInt8(0) & 15) === 1 ? body.toString() : null };
}
