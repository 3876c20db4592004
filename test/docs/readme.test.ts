import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { blocks, document, root } from './documents.ts';

const readme = document('README.md');

test('the first code of the README is the first example, in 15 lines', () => {
  const example = readFileSync(`${root}examples/01-hello.ts`, 'utf8');
  const [first] = blocks(readme).filter(({ info }) => info === 'ts');
  expect(first?.code).toBe(example);
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
});

test.skipIf(process.platform !== 'linux')(
  'in a terminal that code prints what the README says, and nothing else',
  () => {
    const line = `exec '${process.execPath}' --conditions=@signalbox/source examples/01-hello.ts`;
    const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm-256color' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [said] = blocks(readme).filter(({ info }) => info === 'text');
    expect(stdout.replaceAll('\r\n', '\n')).toBe(said?.code);
  },
);

test('the README begins with its name, one sentence, the example and the statechart', () => {
  const [title, sentence] = readme.text.split('\n\n');
  expect(title).toBe('# Signalbox');
  expect(sentence?.match(/\.(\s|$)/g)).toHaveLength(1);
  expect(
    blocks(readme)
      .slice(0, 3)
      .map(({ info }) => info),
  ).toEqual(['ts', 'text', 'mermaid']);
});

test('every example stands in the README', () => {
  const links = [...readme.text.matchAll(/\(examples\/(\d\d)-[\w-]+\.ts\)/g)].map(({ 1: number }) => Number(number));
  expect(links).toEqual(links.map((_, index) => index + 1));
  expect(links.length).toBeGreaterThanOrEqual(8);
});
