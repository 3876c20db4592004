import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type CliEnd, runCli, temporaryFolder } from './spawn-cli.ts';

type Servers = Readonly<Record<string, object>>;

/** A folder with a configuration file, and `signalbox mcp` run in it; removed when the test ends. */
export async function withFile(servers: Servers | ((folder: string) => Servers), name = 'mcp.json') {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const mcpServers = typeof servers === 'function' ? servers(folder.path) : servers;
  await writeFile(join(folder.path, name), JSON.stringify({ mcpServers }));
  const mcp = (...args: readonly string[]): Promise<CliEnd> => runCli(['mcp', ...args], { cwd: folder.path });
  const withEnv = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CliEnd> =>
    runCli(['mcp', ...args], { cwd: folder.path, env });
  return { folder: folder.path, mcp, withEnv };
}
