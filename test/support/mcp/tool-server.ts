/**
 * An MCP server whose list of tools is given from outside and may change while it runs: over stdio as a program (a file of
 * tools, and a file to which it writes the names of the tools that ran), over HTTP in the process of the test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { McpServerConfig, McpServerSettings } from '../../../src/mcp/config/config.ts';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';
import { COMPILED } from './hostile-entry.ts';
import { replyTo } from './tool-program.ts';

/** A server under the control of a test. */
export interface ToolServer {
  entry(settings?: McpServerSettings): McpServerConfig;
  /** Lists other tools from now on; a server that is told `reload` in a call, or connected anew, says so. */
  list(tools: readonly JsonObject[]): void;
  /** The tools that ran, in order. */
  ran(): readonly string[];
}

function folderOf(tools: readonly JsonObject[]) {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-tools-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [list, log] = [join(folder, 'tools.json'), join(folder, 'ran.txt')];
  writeFileSync(list, JSON.stringify(tools));
  writeFileSync(log, '');
  return { list, log };
}

/** A server that is a program. `arg`: one more argument, which makes it another server. */
export function stdioToolServer(tools: readonly JsonObject[], arg = 'plain'): ToolServer {
  const { list, log } = folderOf(tools);
  const script = fileURLToPath(new URL('tool-program.ts', import.meta.url));
  return {
    entry: (settings = {}) => ({
      command: process.execPath,
      args: [script, list, log, arg],
      env: COMPILED,
      ...settings,
    }),
    list: (next) => writeFileSync(list, JSON.stringify(next)),
    ran: () => readFileSync(log, 'utf8').split('\n').filter(Boolean),
  };
}

/** A server over HTTP, on loopback; its answers are JSON, and it has no stream of its own. */
export async function httpToolServer(first: readonly JsonObject[], path = '/mcp'): Promise<ToolServer> {
  let tools = first;
  const ran: string[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const message: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
      const { answer } = isJsonObject(message)
        ? replyTo(
            message,
            () => tools,
            (tool) => void ran.push(tool),
          )
        : { answer: null };
      if (answer === null) return void response.writeHead(202).end();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    entry: (settings = {}) => ({ url: `http://127.0.0.1:${port}${path}`, ...settings }),
    list: (next) => {
      tools = next;
    },
    ran: () => ran,
  };
}
