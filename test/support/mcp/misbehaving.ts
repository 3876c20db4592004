import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { McpServerConfig, McpServerSettings } from '../../../src/mcp/config/config.ts';
import { COMPILED } from './hostile-entry.ts';

/** How a misbehaving server sends its messages. */
export type WireForm = 'stdio' | 'json' | 'sse';

/** A server that misbehaves, ready to be put into `mcpServers`. */
export interface Misbehaving {
  readonly config: McpServerConfig;
  readonly end: () => void;
}

/** Starts a misbehaving server, or over stdio says how it is started. */
export async function misbehaving(
  form: WireForm,
  mode = 'normal',
  settings: McpServerSettings & { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Misbehaving> {
  const args = [fileURLToPath(new URL('misbehaving-server.ts', import.meta.url)), form, mode];
  const { headers = {}, ...rest } = settings;
  if (form === 'stdio') {
    return { config: { command: process.execPath, args, env: COMPILED, ...rest }, end: () => undefined };
  }
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout });
  const [port] = await once(lines, 'line');
  return {
    config: { url: `http://127.0.0.1:${String(port)}/mcp`, headers, ...rest },
    end: () => void child.kill('SIGKILL'),
  };
}
