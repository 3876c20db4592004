import { createRequire } from 'node:module';
import type { McpStdioConfig } from '../../../src/mcp/config/config.ts';
import { COMPILED } from './hostile-entry.ts';

const resolve = createRequire(import.meta.url).resolve;

type ServerName = 'filesystem' | 'everything' | 'memory' | 'sequential-thinking';

/** Whether a published server is installed here. */
export function hasServer(name: ServerName): boolean {
  try {
    return resolve(`@modelcontextprotocol/server-${name}/dist/index.js`) !== '';
  } catch {
    return false;
  }
}

/** The entry of a published server, started with this Node. */
export function realServer(name: ServerName, args: readonly string[] = []): McpStdioConfig {
  const entry = resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
  return { command: process.execPath, args: [entry, ...args], env: COMPILED };
}
