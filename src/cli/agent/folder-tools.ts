import type { Dirent } from 'node:fs';
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { validatePath } from '../../security/paths.ts';
import type { JsonObject } from '../../json/json.ts';
import { type Tool, tool } from '../../tools/tool.ts';

/** Text beyond this is cut off: no model reads more. */
const MOST_BYTES = 1_000_000;
const MOST_FOUND = 500;
/** A search looks at no more names than this. */
const MOST_SEARCHED = 100_000;
const NOT_SEARCHED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * Tools that read a folder and what is in it, and nothing else: paths that lead out of it are refused, by links too. They are
 * called as those of the filesystem MCP server under the name `files`, and answer in the same form.
 *
 * @example createAgent({ tools: folderTools(process.cwd()) })
 */
export function folderTools(folder: string): readonly Tool[] {
  return [
    tool({
      name: 'files_list_directory_with_sizes',
      description: 'Lists the files and folders in a folder, with the sizes of the files.',
      inputSchema: withPath({ sortBy: { type: 'string', enum: ['name', 'size'], default: 'name' } }),
      policy: 'allow',
      effects: 'none',
      execute: async ({ path, sortBy }, { signal }) => list(await inside(folder, path), sortBy === 'size', signal),
    }),
    tool({
      name: 'files_read_text_file',
      description: 'Reads a file as text: all of it, or its first lines.',
      inputSchema: withPath({ head: { type: 'integer', minimum: 1, description: 'Only so many lines.' } }),
      policy: 'allow',
      effects: 'none',
      execute: async ({ path, head }) => {
        const text = await readText(await inside(folder, path));
        return typeof head === 'number' ? text.split('\n').slice(0, head).join('\n') : text;
      },
    }),
    tool({
      name: 'files_search_files',
      description:
        'Finds files and folders by a pattern of their path, such as *.ts (in the folder itself) or **/*.ts (however deep).',
      inputSchema: withPath({ pattern: { type: 'string', maxLength: 500 } }, 'pattern'),
      policy: 'allow',
      effects: 'none',
      execute: async ({ path, pattern }, { signal }) =>
        search(await inside(folder, path), typeof pattern === 'string' ? pattern : '', signal),
    }),
  ];
}

/** As JSON Schema: loading zod takes longer than a short command. */
function withPath(properties: JsonObject, ...required: readonly string[]): JsonObject {
  return {
    type: 'object',
    properties: { path: { type: 'string', description: 'Counts from the current folder.' }, ...properties },
    required: ['path', ...required],
  };
}

/** The real path of what is asked for. Throws where that is not in the folder. */
async function inside(folder: string, requested: unknown): Promise<string> {
  const refused = new Error(`${JSON.stringify(requested)} is not in the folder ${folder}`);
  if (typeof requested !== 'string' || !validatePath(folder, requested)) throw refused;
  const path = await realpath(resolve(folder, requested));
  if (!validatePath(folder, path)) throw refused;
  return path;
}

async function list(folder: string, bySize: boolean, signal: AbortSignal): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found: { readonly name: string; readonly size: number | null }[] = [];
  for (const entry of entries) {
    signal.throwIfAborted();
    // A large folder must not take all threads of the file system.
    found.push({ name: entry.name, size: await sizeOf(folder, entry) });
  }
  found.sort((a, b) => (bySize ? (b.size ?? 0) - (a.size ?? 0) : 0) || (a.name < b.name ? -1 : 1));
  const files = found.flatMap(({ size }) => (size === null ? [] : [size]));
  return [
    ...found.map(({ name, size }) => (size === null ? `[DIR] ${name}` : `[FILE] ${name.padEnd(30)} ${sizeText(size)}`)),
    '',
    `Total: ${String(files.length)} files, ${String(found.length - files.length)} directories`,
    `Combined size: ${sizeText(files.reduce((sum, size) => sum + size, 0))}`,
  ].join('\n');
}

/** Null for a folder. Of a link it is the link's own: what it leads to may lie elsewhere. */
async function sizeOf(folder: string, entry: Dirent): Promise<number | null> {
  if (entry.isDirectory()) return null;
  return lstat(join(folder, entry.name)).then(
    ({ size }) => size,
    () => 0,
  );
}

function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const unit = Math.min(bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 2)} ${units[unit] ?? 'B'}`;
}

async function readText(path: string): Promise<string> {
  // Checked before it is opened: opening a pipe blocks until another process writes to it.
  if (!(await stat(path)).isFile()) throw new Error(`${path} is not a file`);
  await using file = await open(path);
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(
    Buffer.alloc(Math.min(size, MOST_BYTES)),
    0,
    Math.min(size, MOST_BYTES),
    0,
  );
  const text = buffer.toString('utf8', 0, bytesRead);
  return size > MOST_BYTES ? `${text}\n[The first ${String(MOST_BYTES)} of ${String(size)} bytes.]` : text;
}

async function search(folder: string, pattern: string, signal: AbortSignal): Promise<string> {
  const wanted = pattern.toLowerCase().replace(/^\.\//, '').split('/');
  const found: string[] = [];
  const folders = [folder];
  let searched = 0;
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    signal.throwIfAborted();
    // Folder by folder, until enough is found.
    for (const entry of await readdir(next, { withFileTypes: true }).catch((): Dirent[] => [])) {
      const path = join(next, entry.name);
      if (pathFits(wanted, relative(folder, path).toLowerCase().split(sep))) found.push(path);
      if (entry.isDirectory() && !NOT_SEARCHED.has(entry.name)) folders.push(path);
      searched += 1;
    }
    if (found.length >= MOST_FOUND || searched >= MOST_SEARCHED)
      return [...found.slice(0, MOST_FOUND), '[There may be more.]'].join('\n');
  }
  return found.length === 0 ? 'No matches found' : found.join('\n');
}

/** `**` matches any folders, `*` any part of a name, `?` one character. */
const pathFits = (pattern: readonly string[], path: readonly string[]): boolean =>
  fits(pattern, path, '**', (part, name) => fits(part.split(''), name.split(''), '*', signFits));

const signFits = (sign: string, letter: string): boolean => sign === '?' || sign === letter;

/** Whether the pieces of a pattern fit all items, `any` any number of them. Takes no longer than the product of both. */
function fits(
  pattern: readonly string[],
  items: readonly string[],
  any: string,
  one: (piece: string, item: string) => boolean,
): boolean {
  // reached[n]: the pattern so far fits the first n items.
  let reached = [true, ...items.map(() => false)];
  for (const piece of pattern) {
    let before = false;
    const last = reached;
    reached = last.map((reaches, n) => {
      if (piece === any) return (before ||= reaches);
      return last[n - 1] === true && one(piece, items[n - 1] ?? '');
    });
  }
  return reached.at(-1) === true;
}
