import type { McpTarget } from '../config/config.ts';
import type { LinkIo, ProtocolWarning } from '../wire/link.ts';
import {
  PendingRequests,
  type Wire,
  type WireMessage,
  type WireTransport,
  onlyProtocol,
} from '../wire/pending-requests.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { LinkFault, pastLimit, tooIntricate } from '../wire/faults.ts';
import { isJsonObject } from '../../json/json.ts';
import type { InputLine } from '../wire/lines.ts';

/** A line that has gone on for so many times the limit is taken for one without an end. */
const ENDLESS = 4;

/** So many answers may wait for a server that does not read them. */
const MOST_WAITING = 1000;

/** Talks JSON-RPC by lines to a program that it starts. Nothing runs before the transport's `start`. */
export function openStdioWire(target: McpTarget & { readonly kind: 'stdio' }, io: LinkIo): Wire<WireTransport> {
  const { limits } = io;
  const requests = new PendingRequests(io.clock);
  let server: ServerProcess | null = null;
  let starting: Promise<ServerProcess> | null = null;
  let dead: LinkFault | null = null;
  let closing = false;
  /** Answers that the server has not read yet. */
  let waiting = 0;
  /** The server is abandoned. Pending requests receive the reason before they lose the link. */
  const giveUp = (fault: LinkFault): void => {
    if (closing) return;
    [dead, closing] = [fault, true];
    for (const pending of requests.open()) pending.lose(fault);
    setImmediate(() => io.onDown(fault));
  };
  const transport: WireTransport = {
    async start() {
      // The second greeting goes to the same process.
      starting ??= startServer(target, {
        lineBytes: limits.messageBytes,
        onExit(fault) {
          dead ??= fault;
          transport.onclose?.();
          if (!closing) io.onDown(fault);
        },
        onTooLong({ bytes }) {
          if (bytes > ENDLESS * limits.messageBytes)
            giveUp(pastLimit('messageBytes', 'it wrote a line without an end, which is larger', limits));
        },
        onLine(line) {
          const { onWarning } = io;
          if (!line.ok) {
            const fault = pastLimit('messageBytes', `its answer has ${megabytes(line)} MB, which is more`, limits);
            return lostLine(line, requests, { fault, onWarning });
          }
          const fault = tooIntricate(line.text);
          if (fault !== null) return lostLine(cutLine(line.text), requests, { fault, onWarning });
          // An error for each of millions would take minutes.
          if (line.text.trim() === '') return;
          const read = readMessages(line.text.replace(BOM, ''));
          if (!read.ok) onWarning({ kind: read.kind, message: excerpt(line.text) });
          for (const message of (read.ok ? read.messages : answersBehind(line.text, requests)).map(onlyProtocol))
            if (!requests.refused(message) && !requests.received(message)) transport.onmessage?.(message);
        },
      });
      server = await starting;
    },
    async send(message) {
      const pending = requests.sent(message);
      if (server === null) throw new LinkFault('exited', 'its process was not started', { delivered: false });
      if (waiting >= MOST_WAITING)
        giveUp(new LinkFault('limit', 'it asks, but does not accept the answer', { delivered: true }));
      if (pending === null) waiting += 1;
      try {
        await server.write(`${JSON.stringify(message)}\n`);
      } catch (error) {
        if (pending !== null) pending.delivered = false;
        throw error;
      } finally {
        if (pending === null) waiting -= 1;
      }
    },
    close: () => Promise.resolve(),
  };
  return {
    transport,
    kind: 'stdio',
    requests,
    dead: () => dead,
    evidence: () => (server === null ? {} : { stderr: server.stderr() }),
    async end(how) {
      closing = true;
      const started = await starting?.catch(() => null);
      await started?.end(how);
    },
  };
}

/** What some programs write before all else. */
const BOM = /^\uFEFF/;

type Read =
  | { readonly ok: true; readonly messages: readonly WireMessage[] }
  | { readonly ok: false; readonly kind: 'noise' | 'bad-message' };

/** One message, or, in versions of the protocol that have them, a batch of several. */
function readMessages(text: string): Read {
  try {
    const value: unknown = JSON.parse(text);
    const all: readonly unknown[] = Array.isArray(value) ? value : [value];
    const messages = all.filter(isJsonObject).filter(({ jsonrpc }) => jsonrpc === '2.0');
    const isWhole = all.length > 0 && messages.length === all.length;
    return isWhole ? { ok: true, messages } : { ok: false, kind: 'bad-message' };
  } catch {
    return { ok: false, kind: text.trimStart().startsWith('{') ? 'bad-message' : 'noise' };
  }
}

/** Answers behind what a program printed without ending its line: they would be waited for in vain. */
function answersBehind(text: string, requests: PendingRequests): readonly WireMessage[] {
  const read = readMessages(text.slice(Math.max(1, text.search(ANSWER))));
  return read.ok ? read.messages.filter(({ id, method }) => method === undefined && requests.find(id) !== null) : [];
}

const ANSWER = /\{"(?:jsonrpc|result|id|error)":/;

function cutLine(text: string): InputLine & { readonly ok: false } {
  return { ok: false, bytes: Buffer.byteLength(text), head: text.slice(0, 1024), tail: text.slice(-1024) };
}

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/**
 * Deals with an answer that was too large to be read: the request it belongs to fails at once and does not wait for its
 * timeout. The ends of the line identify it (servers write the `id` first or last); if they do not, and only one request
 * is under way, it is that one.
 */
function lostLine(
  line: InputLine & { readonly ok: false },
  requests: PendingRequests,
  { fault, onWarning }: { readonly fault: LinkFault; readonly onWarning: (warning: ProtocolWarning) => void },
): void {
  onWarning({
    kind: 'too-large',
    message: `it wrote a line of ${megabytes(line)} MB, which was skipped: ${line.head.slice(0, 100)}…`,
  });
  const open = requests.open();
  const id = idAtTheEnds(line);
  const pending = (id === null ? null : requests.find(id)) ?? (open.length === 1 ? (open[0] ?? null) : null);
  pending?.lose(fault);
}

/** The size of a line, for people. */
function megabytes({ bytes }: { readonly bytes: number }): string {
  return (bytes / 2 ** 20).toFixed(1);
}

function idAtTheEnds({ head, tail }: InputLine & { readonly ok: false }): number | null {
  const first = /^\s*\{(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d+),/.exec(head);
  const last = /\},(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d+)(?:,\s*"jsonrpc":\s*"2\.0")?\}\s*$/.exec(tail);
  const found = first?.[1] ?? last?.[1];
  return found === undefined ? null : Number(found);
}
