import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { blocks, document, root } from './documents.ts';

const files = blocks(document('docs/getting-started.md')).flatMap(({ info, code }) => {
  const [, name] = /^ts no-check: (\S+)$/.exec(info) ?? [];
  return name === undefined ? [] : [{ name, code }];
});

test('the files of docs/getting-started.md pass the test that the reader writes there', () => {
  expect(files.map(({ name }) => name)).toEqual(['support.ts', 'main.ts', 'support.test.ts']);
  const { status, stdout } = withFiles(['--test', '--test-reporter=tap', 'support.test.ts']);
  expect(stdout).toContain('# pass 2\n');
  expect(status).toBe(0);
});

test('its program ends with a reason, also without a model', () => {
  const { status, stdout } = withFiles(['main.ts'], { LEMONADE_BASE_URL: 'http://127.0.0.1:9/v1' });
  expect(stdout).toMatch(/^llm-error: /);
  expect(status).toBe(0);
});

/** Runs Node in a folder that holds the page's files. */
function withFiles(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(`${root}test/docs/.getting-started-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const { name, code } of files) writeFileSync(join(folder, name), code);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return spawnSync(process.execPath, [...BUNDLED, '--conditions=@signalbox/source', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH, NODE_COMPILE_CACHE, HOME: folder, ...env },
  });
}
