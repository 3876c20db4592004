import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { breaksLaw } from './mutants/laws.ts';

const runner = fileURLToPath(new URL('mutants/run.ts', import.meta.url));

test('the parser breaks no law', () => {
  expect(breaksLaw(parseReply)).toBe(false);
});

test('every change can be made', async () => {
  for (const { file, from } of MUTANTS) {
    const source = new URL(`../../src/parsing/${file}`, import.meta.url);
    expect(await readFile(source, 'utf8'), `${file} holds no ${from}`).toContain(from);
  }
});

test('every change that gives text more authority breaks a law', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [runner]);
  const broken: readonly boolean[] = JSON.parse(stdout);
  expect(broken).toHaveLength(MUTANTS.length);
  expect(MUTANTS.filter((_mutant, n) => broken[n] !== true).map(({ title }) => title)).toEqual([]);
});
