import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { MUTANTS, type Mutant } from './mutants/mutants.ts';
import { breaksLaw } from './mutants/laws.ts';

const source = fileURLToPath(new URL('../../src', import.meta.url));
/** What the parser is made of. */
const ROOMS = ['json', 'parsing'];
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const runner = fileURLToPath(new URL('mutants/run.ts', import.meta.url));

/** The parser with one change; the change must be there to be made. */
async function written(folder: string, { file, from, to }: Mutant, n: number): Promise<string> {
  const copy = join(folder, String(n));
  await Promise.all(ROOMS.map((room) => cp(join(source, room), join(copy, room), { recursive: true })));
  const path = join(copy, 'parsing', file);
  const text = await readFile(path, 'utf8');
  expect(text, `${file} holds no ${from}`).toContain(from);
  await writeFile(
    path,
    text.replace(from, () => to),
  );
  return copy;
}

test('the parser breaks no law', () => {
  expect(breaksLaw(parseReply)).toBe(false);
});

test('every change that gives text more authority breaks a law', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-mutants-'));
  try {
    await symlink(modules, join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const copies: string[] = [];
    for (const [n, mutant] of MUTANTS.entries()) copies.push(await written(folder, mutant, n));
    const { stdout } = await promisify(execFile)(process.execPath, [runner, ...copies]);
    const broken: readonly boolean[] = JSON.parse(stdout);
    expect(MUTANTS.filter((_mutant, n) => broken[n] !== true).map(({ title }) => title)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
