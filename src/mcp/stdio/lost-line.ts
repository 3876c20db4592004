import type { LinkFault, McpOddity } from '../link/link.ts';
import type { Line } from './line-reader.ts';
import type { Tickets } from '../link/tickets.ts';

/**
 * Deals with an answer that was too large to be read: the request it belongs to fails at once and does not wait for its
 * timeout. Which one that is, the line's ends tell (servers write the `id` first or last); when they do not, and only one
 * request is under way, it is that one.
 */
export function lostLine(
  line: Line & { readonly ok: false },
  tickets: Tickets,
  { fault, onOddity }: { readonly fault: LinkFault; readonly onOddity: (oddity: McpOddity) => void },
): void {
  onOddity({
    kind: 'too-large',
    message: `it wrote a line of ${megabytes(line)} MB, which was skipped: ${line.head.slice(0, 100)}…`,
  });
  const open = tickets.open();
  const id = idAtTheEnds(line);
  const ticket = (id === null ? null : tickets.find(id)) ?? (open.length === 1 ? (open[0] ?? null) : null);
  ticket?.lose(fault);
}

/** The size of a line, for people. */
export function megabytes({ bytes }: { readonly bytes: number }): string {
  return (bytes / 2 ** 20).toFixed(1);
}

function idAtTheEnds({ head, tail }: Line & { readonly ok: false }): number | null {
  const first = /^\s*\{(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d+),/.exec(head);
  const last = /\},(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d+)(?:,\s*"jsonrpc":\s*"2\.0")?\}\s*$/.exec(tail);
  const found = first?.[1] ?? last?.[1];
  return found === undefined ? null : Number(found);
}
