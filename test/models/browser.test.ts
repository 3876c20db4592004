import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const STATIC = /^(?:import|export)\s(?!type\b)[^;]*?from\s+'([^']+)'/gms;
const DYNAMIC = /\bimport\('([^']+)'\)/g;

/** Every module that can be reached from a file, with the packages that they import. */
async function reachable(entry: URL, patterns: readonly RegExp[]): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const queue = [entry.href];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (!next.startsWith('file:')) continue;
    const source = await readFile(fileURLToPath(next), 'utf8');
    for (const [, name = ''] of patterns.flatMap((pattern) => [...source.matchAll(pattern)])) {
      queue.push(name.startsWith('.') ? new URL(name, next).href : name);
    }
  }
  return seen;
}

const index = new URL('../../src/models/index.ts', import.meta.url);
const packagesIn = (modules: ReadonlySet<string>) =>
  [...modules].filter((name) => !name.startsWith('file:')).toSorted();

test('importing the subpath loads no package and no Node module', async () => {
  expect(packagesIn(await reachable(index, [STATIC]))).toEqual([]);
});

test('what a request loads later is the openai client alone: a bundler for browsers meets no Node module', async () => {
  const modules = await reachable(index, [STATIC, DYNAMIC]);
  expect(packagesIn(modules)).toEqual(['openai/client']);
  for (const late of ['/node-fetch.ts', '/direct-client.ts']) {
    expect(
      [...modules].some((name) => name.endsWith(late)),
      late,
    ).toBe(true);
  }
});
