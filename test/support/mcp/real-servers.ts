import { createRequire } from 'node:module';
import type { McpStdioConfig } from '../../../src/mcp/config.ts';

const resolve = createRequire(import.meta.url).resolve;

/** The entry of a published server, started with this Node. */
export function realServer(name: 'filesystem' | 'everything' | 'memory', args: readonly string[] = []): McpStdioConfig {
  return { command: process.execPath, args: [resolve(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args] };
}
