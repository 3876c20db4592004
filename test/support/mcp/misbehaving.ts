import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
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
  const script = new URL('misbehaving-server.ts', import.meta.url);
  const { headers = {}, ...rest } = settings;
  if (form === 'stdio') {
    const args = [fileURLToPath(script), form, mode];
    return { config: { command: process.execPath, args, env: COMPILED, ...rest }, end: () => undefined };
  }
  // Over HTTP in a thread: it begins in a fraction of what a process takes.
  const server = new Worker(script, { argv: [form, mode], stdin: true, stdout: true });
  const [port] = await once(createInterface({ input: server.stdout }), 'line');
  return {
    config: { url: `http://127.0.0.1:${String(port)}/mcp`, headers, ...rest },
    end: () => void server.terminate(),
  };
}
