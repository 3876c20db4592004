// The two clients that bench/mcp-faults.ts compares: the bare client of the official SDK, and ours.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpConnection } from '../src/mcp/index.ts';
import type { JsonObject } from '../src/json/json.ts';

/** Where a server is: a program to start, or an address. */
export type Place = { readonly command: string; readonly args: readonly string[] } | { readonly url: string };

/** A client as its user sees it: what a call gives is text, an error rejects. */
export interface Contender {
  call(tool: string, args?: JsonObject, timeoutMs?: number): Promise<string>;
  close(): Promise<void>;
}

/** Connects the SDK's own client, used as its documentation shows. */
export async function openBare(place: Place): Promise<Contender> {
  const client = new Client({ name: 'bare', version: '1.0.0' });
  const transport =
    'url' in place
      ? new StreamableHTTPClientTransport(new URL(place.url))
      : new StdioClientTransport({ command: place.command, args: [...place.args], stderr: 'ignore' });
  await client.connect(transport);
  return {
    async call(tool, args = {}, timeout) {
      const options = timeout === undefined ? {} : { timeout };
      const { content } = await client.callTool({ name: tool, arguments: args }, undefined, options);
      return textOf(content);
    },
    close: () => client.close(),
  };
}

/** Connects ours, with all defaults. */
export async function openOurs(place: Place): Promise<Contender> {
  const connection = createMcpConnection('server', 'url' in place ? place : { ...place });
  if (!(await connection.connect())) throw connection.error ?? new Error('it did not connect');
  return {
    async call(tool, args = {}, timeoutMs) {
      const { data } = await connection.call(tool, args, { timeoutMs });
      return typeof data === 'string' ? data : JSON.stringify(data);
    },
    close: () => connection.disconnect(),
  };
}

function textOf(content: unknown): string {
  const [first]: readonly unknown[] = Array.isArray(content) ? content : [];
  return typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : JSON.stringify(content);
}
