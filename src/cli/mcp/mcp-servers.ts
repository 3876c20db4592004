import type { McpElicit } from '../../mcp/questions/answers.ts';
import type { McpServerConfig } from '../../mcp/config/config.ts';
import { type McpHub, createMcpHub } from '../../mcp/hub.ts';
import type { McpEntry, UsableEntry } from './mcp-file.ts';
import { inert } from '../../output/console/inert.ts';

/** How servers are tried. */
export interface Trying {
  /** Longest time for one attempt in milliseconds, instead of what the file says. */
  readonly timeoutMs: number | undefined;
  /** Answers what they ask a person; without it they are not offered to ask. */
  readonly elicit?: McpElicit;
}

/**
 * Connects the usable servers, all at once and each once, gives them to `use` and ends them afterwards. Who does not
 * answer is in the hub all the same, with its error. Tools have the policies that `signalbox run` gives them.
 */
export async function withServers<T>(
  entries: readonly McpEntry[],
  { timeoutMs, elicit }: Trying,
  use: (hub: McpHub) => Promise<T>,
): Promise<T> {
  const usable = entries.filter((entry): entry is UsableEntry => entry.kind === 'usable');
  const servers = Object.fromEntries(usable.map(({ name, config }) => [name, tried(config, timeoutMs)]));
  const hub = createMcpHub(servers, {
    limits: { maxFailures: 1 },
    offersLogin: false,
    ...(elicit === undefined ? {} : { elicit }),
  });
  try {
    await Promise.all(usable.map(({ name }) => hub.connect(name)));
    return await use(hub);
  } finally {
    await hub.close();
  }
}

function tried(config: McpServerConfig, timeoutMs: number | undefined): McpServerConfig {
  const timed = timeoutMs === undefined ? config : { ...config, connectTimeoutMs: timeoutMs };
  return { ...timed, policy: config.policy ?? 'by-annotations' };
}

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
