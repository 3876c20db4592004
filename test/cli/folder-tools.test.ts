import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isJsonObject } from '../../src/json/json.ts';
import { startModelServer } from '../support/model-server.ts';
import { runCliProcess, temporaryFolder } from './spawn-cli.ts';

/** The command as it is installed without any package of MCP. */
const alone = mkdtempSync(join(tmpdir(), 'signalbox-alone-'));
const main = join(alone, 'src/cli/main.ts');

beforeAll(() => {
  const root = join(import.meta.dirname, '../..');
  cpSync(join(root, 'src'), join(alone, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(alone, 'package.json'));
  mkdirSync(join(alone, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@modelcontextprotocol')
      symlinkSync(join(root, 'node_modules', name), join(alone, 'node_modules', name), 'junction');
});
afterAll(() => rmSync(alone, { recursive: true, force: true }));

/** What the model is told that each of these calls gave, on a folder with `small.txt`, `large.log` and what `prepare` makes. */
async function resultsOf(
  calls: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[],
  prepare: (folder: string) => void = () => undefined,
): Promise<readonly string[]> {
  await using folder = await temporaryFolder();
  prepare(folder.path);
  const toolCalls = calls.map(([name, args]) => ({ name: `files_${name}`, arguments: args }));
  await using server = await startModelServer([{ toolCalls }, 'Done.']);
  const ended = await runCliProcess(['run', 'Look.', '--base-url', server.baseURL], { cwd: folder.path, main });
  expect(ended).toMatchObject({ code: 0 });
  const told = server.requests[1]?.body.messages.filter(({ role }) => role === 'tool') ?? [];
  return told.map(({ content }) => textOf(String(content)));
}

/** What is too long for a model is cut within its JSON. */
function textOf(content: string): string {
  const result = parseJson(content);
  return isJsonObject(result) ? String(result.data ?? result.error ?? '') : content;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

test('chat without the file server reads the folder, and says what would write in it', async () => {
  await using folder = await temporaryFolder();
  const ended = await runCliProcess(['chat', '--model', 'practice'], { cwd: folder.path, main });
  expect(ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The largest file is large.log with 1.95 KB.'),
  });
  expect(ended.stderr).toContain('They are read, never changed; npm install @modelcontextprotocol/server-filesystem');
  expect(`${ended.stdout}${ended.stderr}`).toContain('I list this folder.');
});

test('what is in the folder is listed, read and found, below it too', async () => {
  const calls = [
    ['list_directory_with_sizes', { path: '.' }],
    ['list_directory_with_sizes', { path: '.', sortBy: 'size' }],
    ['read_text_file', { path: 'deep/er/poem.md' }],
    ['read_text_file', { path: 'deep/er/poem.md', head: 1 }],
    ['search_files', { path: '.', pattern: '**/*.md' }],
    ['search_files', { path: '.', pattern: '*.md' }],
    ['search_files', { path: 'deep', pattern: 'e?/P*m.md' }],
  ] as const;
  const [byName, bySize, whole, head, everywhere, here, exact] = await resultsOf(calls, (folder) => {
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'deep/er/poem.md'), 'one\ntwo');
    writeFileSync(join(folder, 'node_modules/readme.md'), '');
  });
  expect(byName).toMatch(
    /^\[DIR\] \.signalbox\n\[DIR\] deep\n\[FILE\] large\.log +1\.95 KB\n\[DIR\] node_modules\n\[FILE\] small\.txt +5 B\n/,
  );
  expect(byName).toContain('Total: 2 files, 3 directories\nCombined size: 1.96 KB');
  expect(bySize).toMatch(/^\[FILE\] large\.log/);
  expect([whole, head]).toEqual(['one\ntwo', 'one']);
  expect(everywhere).toMatch(/^\S+[\\/]deep[\\/]er[\\/]poem\.md$/);
  expect(here).toBe('No matches found');
  expect(exact).toMatch(/poem\.md$/);
});

test('nothing outside of the folder is read: not by a path, not by a link', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'signalbox-outside-'));
  writeFileSync(join(outside, 'secret.txt'), 'swordfish');
  const calls = [
    ['read_text_file', { path: join(outside, 'secret.txt') }],
    ['read_text_file', { path: '../../../../../../../../etc/hosts' }],
    ['read_text_file', { path: 'way-out/secret.txt' }],
    ['list_directory_with_sizes', { path: 'way-out' }],
    ['search_files', { path: '..', pattern: '**' }],
    ['search_files', { path: '.', pattern: '**/secret*' }],
    ['read_text_file', { path: '.' }],
  ] as const;
  const results = await resultsOf(calls, (folder) => symlinkSync(outside, join(folder, 'way-out'), 'junction'));
  rmSync(outside, { recursive: true });
  expect(results.join('\n')).not.toContain('swordfish');
  for (const refused of results.slice(0, 5)) expect(refused).toContain('is not in the folder');
  expect(results[5]).toBe('No matches found');
  expect(results[6]).toContain('is not a file');
});

test('a file of many bytes is cut off, with a word about it', async () => {
  const [text = ''] = await resultsOf([['read_text_file', { path: 'much.txt' }]], (folder) =>
    writeFileSync(join(folder, 'much.txt'), 'x'.repeat(1_000_001)),
  );
  expect(text).toContain('[The first 1000000 of 1000001 bytes.]');
});
