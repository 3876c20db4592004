import { fileURLToPath } from 'node:url';
import type { McpServerSettings, McpStdioConfig } from '../../../src/mcp/config/config.ts';

/** The entry of the server that asks its client things. */
export function askingEntry(settings: McpServerSettings = {}): McpStdioConfig {
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL('asking-server.ts', import.meta.url))],
    ...settings,
  };
}

/** The entry of the hostile server in one of its modes. */
export function hostileEntry(mode = 'normal', settings: McpServerSettings = {}): McpStdioConfig {
  const script = fileURLToPath(new URL('hostile-server.ts', import.meta.url));
  return { command: process.execPath, args: [script, mode], ...settings };
}
