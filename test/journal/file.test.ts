import { copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { RunQuery } from '../../src/journal/format/tally.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { storeContract } from './store-contract.ts';
import { newWriter } from '../../src/journal/stores/writer.ts';
import { processContract, start } from './store-processes.ts';
import { answered, interrupted } from './stored-runs.ts';
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

describe('the newest runs of a folder whose runs are known', () => {
  const idOf = (n: number): string => `${String(n).padStart(10, '0')}-abcdefghij`;
  const idsOf = async (store: JournalStore, query: RunQuery): Promise<readonly string[]> =>
    ((await store.list?.(query)) ?? []).map(({ runId }) => runId);

  /** Six runs of two conversations in turn, of which a list was read. */
  async function known(folder: string) {
    const store = fileJournal(folder);
    for (let n = 0; n < 6; n += 1) await answered(store, idOf(n), {}, { conversation: n % 2 === 0 ? 'ada' : 'bob' });
    expect(await idsOf(store, {})).toHaveLength(6);
    return store;
  }

  test('are found without looking at the older files', async () => {
    await using folder = await temporaryFolder();
    const store = await known(folder.path);
    // Whoever looks at one of these warns of it.
    for (const n of [0, 1, 2, 3]) await writeFile(join(folder.path, `${idOf(n)}.jsonl`), 'damaged\nand more\n');
    using warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    expect(await idsOf(store, { limit: 2 })).toEqual([idOf(5), idOf(4)]);
    expect(await idsOf(store, { limit: 1, metadata: { conversation: 'ada' } })).toEqual([idOf(4)]);
    expect(warned).not.toHaveBeenCalled();
    expect(await idsOf(store, { limit: 3 })).toEqual([idOf(5), idOf(4)]);
    expect(warned).toHaveBeenCalled();
  });

  test('are those that are there now, also where others have written or removed some', async () => {
    await using folder = await temporaryFolder();
    const store = await known(folder.path);
    const other = fileJournal(folder.path);
    await answered(other, idOf(6));
    expect(await idsOf(store, { limit: 1 })).toEqual([idOf(6)]);
    await rm(join(folder.path, `${idOf(6)}.jsonl`));
    await rm(join(folder.path, `${idOf(5)}.jsonl`));
    expect(await idsOf(store, { limit: 2 })).toEqual([idOf(4), idOf(3)]);
    expect(await idsOf(store, { limit: 1, status: 'failed' })).toEqual([]);
    const [newest] = (await store.list?.({ limit: 1 })) ?? [];
    expect(await idsOf(store, { limit: 2, after: newest })).toEqual([idOf(3), idOf(2)]);
  });

  test('may have the name that an older one had', async () => {
    await using folder = await temporaryFolder();
    const store = fileJournal(folder.path);
    for (const runId of ['nightly', 'weekly']) await answered(store, runId);
    expect(await idsOf(store, {})).toEqual(['weekly', 'nightly']);
    const other = fileJournal(folder.path);
    await other.remove?.('nightly');
    await answered(other, 'nightly');
    expect(await idsOf(store, { limit: 1 })).toEqual(['nightly']);
  });
});
