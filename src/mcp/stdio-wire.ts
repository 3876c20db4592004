import { isJsonObject } from '../parsing/json.ts';
import type { McpTarget } from './config.ts';
import { LinkFault, type LinkIo } from './link.ts';
import { lostLine } from './lost-line.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { createTickets } from './tickets.ts';
import type { Wire, WireMessage, WireTransport } from './wire.ts';

/** Talks JSON-RPC by lines to a program that it starts. Nothing runs before the transport's `start`. */
export function openStdioWire(target: McpTarget & { readonly kind: 'stdio' }, io: LinkIo): Wire<WireTransport> {
  const tickets = createTickets();
  let server: ServerProcess | null = null;
  let starting: Promise<ServerProcess> | null = null;
  let dead: LinkFault | null = null;
  let closing = false;
  const transport: WireTransport = {
    async start() {
      starting = startServer(target, {
        onExit(fault) {
          dead = fault;
          transport.onclose?.();
          if (!closing) io.onDown(fault);
        },
        onLine(line) {
          if (!line.ok) return lostLine(line, tickets, io.onOddity);
          const read = readMessage(line.text);
          if (!read.ok)
            return void (line.text.trim() !== '' && io.onOddity({ kind: read.kind, message: excerpt(line.text) }));
          if (!tickets.received(read.message)) transport.onmessage?.(read.message);
        },
      });
      server = await starting;
    },
    async send(message) {
      const ticket = tickets.sent(message);
      if (server === null) throw new LinkFault('exited', 'its process was not started', { delivered: false });
      try {
        await server.write(`${JSON.stringify(message)}\n`);
      } catch (error) {
        if (ticket !== null) ticket.delivered = false;
        throw error;
      }
    },
    close: () => Promise.resolve(),
  };
  return {
    transport,
    kind: 'stdio',
    tickets,
    dead: () => dead,
    evidence: () => (server === null ? {} : { stderr: server.stderr() }),
    async end(how) {
      closing = true;
      const started = await starting?.catch(() => null);
      await started?.end(how);
    },
  };
}

type Read =
  | { readonly ok: true; readonly message: WireMessage }
  | { readonly ok: false; readonly kind: 'noise' | 'bad-message' };

function readMessage(text: string): Read {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && value.jsonrpc === '2.0') return { ok: true, message: value };
    return { ok: false, kind: 'bad-message' };
  } catch {
    return { ok: false, kind: text.trimStart().startsWith('{') ? 'bad-message' : 'noise' };
  }
}

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
