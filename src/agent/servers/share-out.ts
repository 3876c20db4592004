import type { McpToolEntry } from '../../mcp/hub.ts';

/** Which tools of servers are sent to the model, and what to warn of when that is not all of them. */
export interface SharedOut {
  readonly sent: ReadonlySet<McpToolEntry>;
  readonly warning: readonly string[];
}

/**
 * Chooses at most so many tools of servers, one of each server in turn, so that a server with a thousand of them takes
 * nothing from the others. Each server's tools count in its own order; denied ones are not sent anyway.
 */
export function sharedOut(entries: readonly McpToolEntry[], most: number): SharedOut {
  const open = entries.filter(({ policy }) => policy !== 'deny');
  if (open.length <= most) return { sent: new Set(entries), warning: [] };
  const rows = [...Map.groupBy(open, ({ server }) => server).values()];
  const longest = Math.max(...rows.map((row) => row.length));
  const inTurn = Array.from({ length: longest }, (_, at) => rows.flatMap((row) => row[at] ?? [])).flat();
  const sent = new Set(inTurn.slice(0, most));
  const left = rows
    .map((row) => ({ server: row[0]?.server ?? '', count: row.filter((entry) => !sent.has(entry)).length }))
    .filter(({ count }) => count > 0);
  const counts = left.map(({ server, count }) => `${count} of '${server}'`).join(', ');
  return {
    sent,
    warning: [
      `MCP servers offer ${open.length} tools, more than limits.mcp.toolsSent allows (${most}); not sent to the model: ${counts}. Name those that are needed in \`tools\` of the server.`,
    ],
  };
}
