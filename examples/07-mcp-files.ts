// Tools of an MCP server: the official filesystem server for one folder, started over stdio. Its tools are registered as
// `files_…`, and its process does not outlive the agent.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAgent } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-'));
await writeFile(join(folder, 'notes.txt'), 'Buy tea.\n');
await writeFile(join(folder, 'plan.txt'), 'First tea, then work.\n');

const script = scriptedModel([
  { content: '', toolCalls: [{ name: 'files_list_directory', arguments: { path: folder } }] },
  { content: '', toolCalls: [{ name: 'files_read_text_file', arguments: { path: join(folder, 'notes.txt') } }] },
  'There are two files; the notes say: buy tea.',
]);

// In your own project: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', folder] }
const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));
const agent = createAgent({
  name: 'librarian',
  model: process.env.SIGNALBOX_MODEL ?? script,
  mcpServers: {
    files: { command: process.execPath, args: [server, folder], policy: 'by-annotations', required: true },
  },
});

await agent.ready();
const read = agent.listTools().filter(({ policy }) => policy === 'allow');
console.log(`${agent.tools.size} tools, of which ${read.length} only read and may run unasked`);

const run = agent.run('What is in this folder, and what do the notes say?');
for await (const event of run) {
  if (event.type === 'tool.finished') console.log(`${event.tool}: ${event.ok ? 'done' : event.result.error}`);
}
console.log((await run).result);
await agent.close();
await rm(folder, { recursive: true });
