import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { blocks, document, root } from './documents.ts';

const readme = document('README.md');
const example = readFileSync(`${root}examples/01-hello.ts`, 'utf8');
const unsilenced = example.replace('  silent: true,\n', '');

test('the first code of the README is the first example, in 15 lines', () => {
  const [first] = blocks(readme).filter(({ info }) => info === 'ts');
  expect(first?.code).toBe(example);
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
});

describe.skipIf(process.platform !== 'linux')('in a terminal that code', () => {
  const [said, steps] = blocks(readme).filter(({ info }) => info === 'text');

  test('prints what the README says, and nothing else', () => {
    expect(inTerminal(example, 'xterm-256color')).toBe(said?.code);
  });

  test('prints each step before it without `silent`, as the README says', () => {
    expect(inTerminal(unsilenced, 'dumb')).toBe(`${steps?.code}${said?.code}`);
  });

  test('says the answer once, whether it can redraw a line or not, streamed or not', () => {
    const streamed = unsilenced.replace('  model:', '  streaming: true,\n  model:');
    for (const code of [unsilenced, streamed])
      for (const terminal of ['xterm-256color', 'dumb'])
        expect(inTerminal(code, terminal).match(/half past twelve/g)).toHaveLength(1);
  });

  test('says it twice only where a console is asked for', () => {
    const asked = unsilenced
      .replace('createAgent, tool', 'consoleOutput, createAgent, tool')
      .replace('  model:', '  output: consoleOutput(),\n  model:');
    expect(inTerminal(asked, 'dumb').match(/half past twelve/g)).toHaveLength(2);
  });
});

/** What a program prints in a terminal of this kind. */
function inTerminal(code: string, terminal: string): string {
  const file = join(mkdtempSync(`${root}test/docs/.terminal-`), 'program.ts');
  onTestFinished(() => rmSync(dirname(file), { recursive: true }));
  writeFileSync(file, code);
  const node = [process.execPath, ...BUNDLED, '--conditions=@signalbox/source', file];
  const line = `exec ${node.map((word) => `'${word}'`).join(' ')}`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH, NODE_COMPILE_CACHE, SHELL: '/bin/sh', TERM: terminal },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return stdout.replaceAll('\r\n', '\n');
}

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
