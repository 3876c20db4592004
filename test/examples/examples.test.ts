import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXPECTED } from './expected.ts';
import { runExample } from './run-example.ts';

/** Those of one file; the chat app has a test of its own, in a browser. */
const files = readdirSync(new URL('../../examples/', import.meta.url))
  .filter((file) => file.endsWith('.ts'))
  .toSorted();

test('examples are numbered without a gap, and each has an expected output', () => {
  expect(files.length).toBeGreaterThanOrEqual(8);
  expect(files.map((file) => file.slice(0, 2))).toEqual(files.map((_, index) => String(index + 1).padStart(2, '0')));
  expect(Object.keys(EXPECTED).toSorted()).toEqual(files);
});

test.each(files)('%s begins by saying what it shows, and imports the package by its name', (file) => {
  const source = readFileSync(new URL(`../../examples/${file}`, import.meta.url), 'utf8');
  expect(source).toMatch(/^\/\/ [A-Z].*[.;:,]?\n/);
  expect(source).toMatch(/from 'signalbox'/);
  expect(source).not.toMatch(/from '\.\.?\//);
});

test.each(files)('%s prints what it promises, offline', async (file) => {
  const { stdout, stderr, exitCode } = await runExample(file);
  expect(stdout.trimEnd().split('\n')).toEqual(EXPECTED[file]);
  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
});
