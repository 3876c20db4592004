// Security in four scenes: a denied tool, rejected arguments, a person who is asked, and checks of paths and shell words.
// Whatever the model believes, only a call that passes all of these checks runs.
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createAgent, tool } from 'signalbox';
import { isSafeShellArg, validatePath } from 'signalbox/security';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'notes-'));
await writeFile(join(folder, 'today.md'), 'Buy tea.');
await symlink('/etc', join(folder, 'link'));

/** Rejects a path that leaves the folder, and passes the checked path to the tool. */
function insideFolder({ path }: { readonly path: string }) {
  if (!validatePath(folder, path)) throw new Error(`${path} is not inside the notes folder`);
  return { path: resolve(folder, path) };
}

const path = z.string().describe('Path in the notes folder');
const tools = [
  tool({
    name: 'read_note',
    description: 'Reads a note.',
    inputSchema: z.object({ path }),
    effects: 'none',
    validateArgs: insideFolder,
    execute: (args) => readFile(args.path, 'utf8'),
  }),
  tool({
    name: 'delete_note',
    description: 'Deletes a note.',
    inputSchema: z.object({ path }),
    policy: 'confirm',
    validateArgs: insideFolder,
    execute: (args) => rm(args.path),
  }),
  tool({
    name: 'search_notes',
    description: 'Searches the notes for a word.',
    inputSchema: z.object({ word: z.string() }),
    effects: 'none',
    validateArgs: ({ word }) => {
      if (!isSafeShellArg(word)) throw new Error(`${word} is not one plain word`);
    },
    execute: ({ word }) => `would run: grep -r -- ${word}`,
  }),
  tool({ name: 'format_disk', description: 'Erases everything.', policy: 'deny', execute: () => 'gone' }),
];

/** One scene: the model makes these calls, whatever its prompt says. */
async function scene(title: string, ...toolCalls: readonly { readonly name: string; readonly arguments?: object }[]) {
  console.log(title);
  const agent = createAgent({
    tools,
    model: scriptedModel([{ content: '', toolCalls: JSON.parse(JSON.stringify(toolCalls)) }, 'I see.']),
    confirm: ({ tool: name, args, reason }) => {
      const yes = String(args.path).endsWith('today.md');
      console.log(`  asked: ${name}. ${reason} ${yes ? 'yes' : 'no'}`);
      return yes ? 'allow-once' : 'deny';
    },
    permissions: { isAlwaysAllowed: () => false, add: () => undefined },
    parallelToolCalls: false,
    silent: true,
  });
  for await (const event of agent.run('Look after the notes.')) {
    if (event.type === 'tool.denied') console.log(`  denied: ${event.reason}`);
    if (event.type === 'tool.finished')
      console.log(`  ${event.tool}: ${event.ok ? JSON.stringify(event.result.data) : event.result.error}`);
  }
}

await scene('1. Deny: the tool is not shown to the model, and does not run when it is called all the same.', {
  name: 'format_disk',
});
await scene(
  '2. Validate: the schema first, then your own check; nobody is asked about what is invalid.',
  { name: 'read_note', arguments: { file: 7.5 } },
  { name: 'delete_note', arguments: { path: '../diary.md' } },
);
await scene(
  '3. Confirm: a person says yes or no to each call.',
  { name: 'delete_note', arguments: { path: 'plan.md' } },
  { name: 'read_note', arguments: { path: 'today.md' } },
  { name: 'delete_note', arguments: { path: 'today.md' } },
);
await scene(
  '4. Path and shell: links, homes and orders in disguise.',
  { name: 'read_note', arguments: { path: 'link/passwd' } },
  { name: 'read_note', arguments: { path: '~/.ssh/id_rsa' } },
  { name: 'search_notes', arguments: { word: 'tea; rm -rf .' } },
  { name: 'search_notes', arguments: { word: 'tea' } },
);
await rm(folder, { recursive: true });
