import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { McpServerConfig } from '../../../src/mcp/config/config.ts';
import type { McpConnectionOptions } from '../../../src/mcp/connection-types.ts';
import { type McpConnection, type McpConnectionNews, createMcpConnection } from '../../../src/mcp/index.ts';
import { onTestFinished } from '../beside.ts';
import { testFolder } from '../test-folder.ts';

/** A connection that the test leaves behind in no case, with all that it tells. */
export function watched(config: McpServerConfig, options: McpConnectionOptions = {}) {
  const connection: McpConnection = createMcpConnection('hostile', config, { seed: 1, ...options });
  onTestFinished(() => connection.disconnect());
  const news: McpConnectionNews[] = [];
  for (const type of ['mcp.changed', 'mcp.tools', 'mcp.list', 'mcp.warning'] as const)
    connection.on(type, (told) => news.push(told));
  const states = (): readonly string[] => news.flatMap((told) => (told.type === 'mcp.changed' ? [told.state] : []));
  const oddities = (): readonly string[] => news.flatMap((told) => (told.type === 'mcp.warning' ? [told.kind] : []));
  return { connection, news, states, oddities };
}

/** A file in which the hostile server notes the calls that reached it. */
export async function callLog(): Promise<{ readonly path: string; readonly calls: () => Promise<readonly string[]> }> {
  const path = join(testFolder(), 'calls.txt');
  const calls = async (): Promise<readonly string[]> =>
    (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean);
  return { path, calls };
}

/** Whether a process lives; one that has ended and waits to be collected does not. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
}
