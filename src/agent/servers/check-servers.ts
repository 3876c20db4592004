import { readMcpServer } from '../../mcp/config/read-config.ts';

/**
 * Refuses wrong entries of the option `mcpServers` when the agent is made, with a `TypeError` that names the server and
 * the key. Connections made by `createMcpConnection` have been checked already.
 */
export function checkServers(servers: { readonly [name: string]: unknown } = {}): void {
  for (const [name, entry] of Object.entries(servers)) {
    if (isConnection(entry)) continue;
    try {
      readMcpServer(name, entry);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new TypeError(`createAgent: option 'mcpServers.${name}': ${reason}`, { cause });
    }
  }
}

function isConnection(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && typeof Reflect.get(entry, 'callTool') === 'function';
}
