// A complete file agent. Three tools share their error handling and override parts of it: broken arguments are repaired by
// code, then by a repair agent; paths are sanitized and never leave the folder; a busy disk is retried; the error for a file
// that belongs to another user is escalated; a full disk ends the run.
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Json, type Model, type OnError, type ToolError, createAgent, recover, tool } from 'signalbox';
import { validatePath } from 'signalbox/security';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

interface FileAgentOptions {
  readonly folder: string;
  readonly model: Model;
  /** The model of the repair agent, which may be a small one. */
  readonly clerk: Model;
  readonly disk?: Pick<typeof fs, 'readFile' | 'writeFile' | 'unlink'>;
}

/** Creates the agent: the shared `onError` belongs to the agent, exceptions belong to the tool. */
export function fileAgent({ folder, model, clerk, disk = fs }: FileAgentOptions) {
  const insideFolder = <T extends { readonly path: string }>(args: T): T => {
    if (!validatePath(folder, args.path)) throw new Error(`${args.path} is not inside the folder`);
    return { ...args, path: resolve(folder, args.path) };
  };
  const path = z.string().describe('Path in the folder, such as notes/today.md');
  const fixer = createAgent({
    name: 'clerk',
    instructions: 'You correct the arguments of file tools.',
    model: clerk,
    silent: true,
  });
  const defaults: OnError = {
    invalidArgs: [recover.fix(fromPairs), recover.fix(fixer, { retries: 2 })],
    deserializationError: [recover.sanitize(cleanPath), recover.fix(fixer, { retries: 2 })],
    executionError: recover.retry({ maxAttempts: 3, backoff: recover.exponential({ baseMs: 10 }) }),
  };

  return createAgent({
    name: 'files',
    instructions: 'You look after the files in one folder.',
    model,
    onError: defaults,
    silent: true,
    parallelToolCalls: false,
    tools: [
      tool({
        name: 'read_file',
        description: 'Reads a file.',
        inputSchema: z.object({ path }),
        effects: 'none',
        validateArgs: insideFolder,
        execute: (args) => disk.readFile(args.path, 'utf8'),
        onError: { executionError: [recover.substitute(nothingYet), recover.inherit()] },
      }),
      tool({
        name: 'write_file',
        description: 'Writes a file.',
        inputSchema: z.object({ path, text: z.string() }),
        effects: 'idempotent',
        validateArgs: insideFolder,
        execute: async (args) => {
          await disk.writeFile(args.path, args.text);
          return { status: 'success', message: `${args.text.length} characters written` };
        },
        onError: {
          executionError: (error) =>
            codeOf(error) === 'ENOSPC' ? recover.throwException('the disk is full') : recover.inherit(),
        },
      }),
      tool({
        name: 'delete_file',
        description: 'Deletes a file.',
        inputSchema: z.object({ path }),
        validateArgs: insideFolder,
        execute: (args) => disk.unlink(args.path),
        // A guessed path must never be deleted: no sanitizing, no repair agent.
        onError: { deserializationError: [], executionError: recover.escalate('the owner of the file has to decide') },
      }),
    ],
  });
}

/** Some models write `path: a.md, text: hello` instead of JSON. */
function fromPairs(text: string) {
  const pairs = [...text.matchAll(/(\w+)\s*[:=]\s*([^,\n]+)/g)].map(([, key = '', value = '']) => [key, value.trim()]);
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}

/** Turns a path of another operating system into a path in the folder. One that leaves the folder is still refused. */
function cleanPath(args: Json) {
  const { path, ...others } = z.looseObject({ path: z.string() }).parse(recover.normalizePathSeparators(args) ?? args);
  return { ...others, path: path.replace(/^(?:[A-Za-z]:)?\/+/, '') };
}

function codeOf(error: ToolError) {
  return error.kind === 'execution' ? error.cause.code : undefined;
}

function nothingYet(error: ToolError) {
  return codeOf(error) === 'ENOENT' ? { status: 'partial', message: 'There is no such file yet.' } : null;
}

/** The real disk, except that its first operations fail with these codes. */
export function troubledDisk(codes: readonly string[]) {
  const left = [...codes];
  const trouble = () => {
    const code = left.shift();
    if (code !== undefined) throw Object.assign(new Error(`the disk says ${code}`), { code });
  };
  return {
    readFile: fs.readFile,
    writeFile: async (...args: Parameters<typeof fs.writeFile>) => (trouble(), fs.writeFile(...args)),
    unlink: async (...args: Parameters<typeof fs.unlink>) => (trouble(), fs.unlink(...args)),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = await fs.mkdtemp(join(tmpdir(), 'files-'));

  const scene = async (
    title: string,
    name: string,
    args: string | { readonly [key: string]: Json },
    codes: string[],
  ) => {
    const agent = fileAgent({
      folder,
      model: scriptedModel([{ content: '', toolCalls: [{ name, arguments: args }] }, 'Done.']),
      clerk: scriptedModel(['{"path": "today.md", "text": "Buy milk."}']),
      disk: troubledDisk(codes),
    });
    const run = agent.run('Look after my files.');
    const steps: string[] = [];
    for await (const event of run) {
      if (event.type === 'recovery.step') steps.push(event.step);
      if (event.type === 'escalation.raised') steps.push(`escalated: ${event.reason}`);
      if (event.type === 'tool.finished' && event.ok)
        steps.push(event.result.message ?? JSON.stringify(event.result.data));
    }
    const { status, reason, error } = await run;
    console.log(
      `${title}: ${steps.join(', ') || 'nothing'} → ${status === 'answered' ? status : `${reason}: ${error?.message ?? ''}`}`,
    );
  };

  await scene('cleaned by code', 'write_file', 'path: today.md, text: Buy tea.', []);
  await scene('repaired by an agent', 'write_file', 'please put milk on my list', []);
  await scene('path sanitised', 'read_file', { path: '\\today.md' }, []);
  await scene('tried again', 'write_file', { path: 'b.md', text: 'Hi' }, ['EBUSY', 'EBUSY']);
  await scene('stood in for', 'read_file', { path: 'tomorrow.md' }, []);
  await scene('handed up', 'delete_file', { path: 'b.md' }, ['EPERM']);
  await scene('ended', 'write_file', { path: 'c.md', text: 'Hi' }, ['ENOSPC']);
  await fs.rm(folder, { recursive: true });
}
