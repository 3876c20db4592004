import { execFileSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { permissionStore } from '../../src/security/permissions-store.ts';
import { runCli } from '../cli/spawn-cli.ts';
import { temporaryFolder } from './temporary-folder.ts';

const ask = (journal: JournalStore) =>
  createAgent({ model: scriptedModel(['Yes.']), silent: true, journal })
    .run('Well?')
    .orThrow();

const untracked = (cwd: string) => {
  execFileSync('git', ['init', '-q'], { cwd });
  return execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], { cwd, encoding: 'utf8' });
};

test.each([
  ['fileJournal', (folder: string) => ask(fileJournal(join(folder, '.signalbox/runs')))],
  ['sqliteJournal', (folder: string) => ask(sqliteJournal(join(folder, '.signalbox/runs.sqlite')))],
  [
    'permissionStore',
    async (folder: string) => permissionStore({ path: join(folder, '.signalbox/allowed.json'), agent: 'a' }).add('b'),
  ],
  ['signalbox run', (cwd: string) => runCli(['run', 'What is here?', '--model', 'practice'], { cwd })],
])('what %s keeps in .signalbox is no news to git', async (_, keep) => {
  await using folder = await temporaryFolder();
  await keep(folder.path);
  expect(readdirSync(join(folder.path, '.signalbox')).length).toBeGreaterThan(1);
  expect(untracked(folder.path)).toBe('');
});

test('a .gitignore that is there stays, and one that was removed is not written again', async () => {
  await using folder = await temporaryFolder();
  const own = join(folder.path, '.signalbox/.gitignore');
  await ask(fileJournal(join(folder.path, '.signalbox/runs')));
  await writeFile(own, '*.vault\n');
  await ask(fileJournal(join(folder.path, '.signalbox/other')));
  expect(await readFile(own, 'utf8')).toBe('*.vault\n');
  await rm(own);
  await ask(fileJournal(join(folder.path, '.signalbox/runs')));
  expect(readdirSync(join(folder.path, '.signalbox'))).toEqual(['other', 'runs']);
});

test('folders of any other name get none', async () => {
  await using folder = await temporaryFolder();
  await ask(fileJournal(join(folder.path, 'kept/runs')));
  expect(untracked(folder.path)).toMatch(/^\?\? kept\/runs\/\S+\.jsonl\n$/);
});
