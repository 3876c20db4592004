import { fileURLToPath } from 'node:url';
import type { McpServerSettings, McpStdioConfig } from '../../../src/mcp/config.ts';

/** The entry of the hostile server in one of its modes. */
export function hostileEntry(mode = 'normal', settings: McpServerSettings = {}): McpStdioConfig {
  const script = fileURLToPath(new URL('hostile-server.ts', import.meta.url));
  return { command: process.execPath, args: [script, mode], ...settings };
}
