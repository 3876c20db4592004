import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { McpConfigError, type McpServerConfig, type McpServersConfig } from '../../mcp/config/config.ts';
import { readMcpConfigFile } from '../../mcp/config/config-file.ts';
import { readMcpServers } from '../../mcp/config/read-config.ts';
import { isJsonObject } from '../../json/json.ts';
import { UsageError } from '../command.ts';

/**
 * The MCP servers of a command: those of a configuration file, else the file server on a folder. Tools that may change
 * something ask first, unless the file names a policy. Throws a {@link UsageError} for a file that cannot be used.
 */
export async function chooseServers(file: string | undefined, folder: string): Promise<McpServersConfig> {
  if (file === undefined) return { files: fileServer(folder) };
  try {
    await readMcpConfigFile(file);
    const servers = serversOf(JSON.parse((await readFile(file, 'utf8')).replace(/^\ufeff/, '')));
    return Object.fromEntries(
      Object.entries(servers).map(([name, config]) => [name, { ...config, policy: config.policy ?? 'by-annotations' }]),
    );
  } catch (error) {
    if (error instanceof McpConfigError) throw new UsageError(`--mcp: ${error.message}`);
    throw error;
  }
}

/** The reference file server, from our own dependencies and with our own Node: nothing is downloaded. */
function fileServer(folder: string): McpServerConfig {
  const require = createRequire(import.meta.url);
  const description = require.resolve('@modelcontextprotocol/server-filesystem/package.json');
  const { bin }: { readonly bin: Readonly<Record<string, string>> } = require(description);
  const entry = join(dirname(description), bin['mcp-server-filesystem'] ?? 'dist/index.js');
  return { command: process.execPath, args: [entry, folder], policy: 'by-annotations' };
}

function serversOf(content: unknown): McpServersConfig {
  const servers: unknown = isJsonObject(content) ? (content.mcpServers ?? content.servers) : undefined;
  if (!areServers(servers)) throw new McpConfigError('mcpServers must be an object of servers by name.');
  return servers;
}

function areServers(servers: unknown): servers is McpServersConfig {
  // Throws, naming server and key, for anything that is not one.
  readMcpServers(servers);
  return true;
}
