import { fileURLToPath } from 'node:url';
import type { McpServerSettings, McpStdioConfig } from '../../../src/mcp/config/config.ts';

/** What servers of ours need to read what an earlier process compiled: their start costs half then. */
export const COMPILED = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

/** The entry of the server that asks its client things. */
export function askingEntry(settings: McpServerSettings = {}): McpStdioConfig {
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL('asking-server.ts', import.meta.url))],
    env: COMPILED,
    ...settings,
  };
}

/** The entry of the hostile server in one of its modes. */
export function hostileEntry(mode = 'normal', settings: McpServerSettings = {}): McpStdioConfig {
  const script = fileURLToPath(new URL('hostile-server.ts', import.meta.url));
  return { command: process.execPath, args: [script, mode], env: COMPILED, ...settings };
}
