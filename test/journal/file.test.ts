import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { storeContract } from './store-contract.ts';
import { newWriter } from '../../src/journal/stores/writer.ts';
import { processContract, start } from './store-processes.ts';
import { interrupted } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

for (const durability of ['process', 'power'] as const) {
  storeContract(`fileJournal, durability ${durability},`, async () => {
    const folder = await temporaryFolder();
    return { store: fileJournal(join(folder.path, 'deep/runs'), { durability }), ...folder };
  });
}

processContract('file', (folder) => join(folder, 'runs'));

test('of many locks left behind, each is given to one of those who want them all at once', async () => {
  await using folder = await temporaryFolder();
  await interrupted(fileJournal(folder.path), 'run-0');
  const file = (name: string) => join(folder.path, name);
  const dead = JSON.stringify({ ...newWriter(), start: '1' });
  for (let index = 0; index < 60; index++) {
    if (index > 0) await copyFile(file('run-0.jsonl'), file(`run-${index}.jsonl`));
    await writeFile(file(`run-${index}.lock`), dead);
  }
  const wanting = Array.from({ length: 4 }, () => start('take-runs', 'file', folder.path));
  await Promise.all(wanting.map(({ line }) => line()));
  for (const { child } of wanting) child.stdin.write('now');
  const counts = await Promise.all(wanting.map(({ line }) => line()));
  expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(60);
  await Promise.all(wanting.map(({ kill }) => kill()));
});
