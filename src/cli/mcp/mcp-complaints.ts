import type { McpHub } from '../../mcp/hub.ts';
import { inert } from '../../output/console/inert.ts';
import type { McpEntry } from './mcp-file.ts';

/** One sentence for each server that is wanted and not there. */
export function complaintsOf(entries: readonly McpEntry[], hub: McpHub): readonly string[] {
  return entries.flatMap((entry) => {
    const why = whyAbsent(entry, hub);
    return why === null ? [] : [`${inert(why)}\n'signalbox mcp doctor ${entry.name}' says more.`];
  });
}

function whyAbsent(entry: McpEntry, hub: McpHub): string | null {
  if (entry.kind === 'disabled') return null;
  if (entry.kind === 'wrong') return entry.error.message;
  const connection = hub.server(entry.name);
  if (connection?.isConnected() === true) return null;
  return connection?.error?.message ?? `MCP server '${entry.name}' is not connected.`;
}
