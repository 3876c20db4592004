import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { isJsonObject } from '../../../src/json/json.ts';
import type { Workshop } from './work-through.ts';

const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));

/** The tools of a real file server for a folder, named `files_…` as an agent registers them. */
export async function openFileTools(folder: string): Promise<Workshop & { close(): Promise<void> }> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [server, folder], stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  return {
    tools: tools.map(({ name, description = '', inputSchema }) => ({
      name: `files_${name}`,
      description,
      inputSchema: JSON.parse(JSON.stringify(inputSchema)),
    })),
    async run(name, args) {
      const result = await client.callTool({ name: name.slice('files_'.length), arguments: { ...args } });
      const parts: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
      const text = parts
        .map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
        .join('\n');
      if (result.isError === true) throw new Error(text);
      return text;
    },
    close: () => client.close(),
  };
}
