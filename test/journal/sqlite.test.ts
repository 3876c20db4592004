import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { sqliteJournal } from '../../src/journal/sqlite.ts';
import { newWriter } from '../../src/journal/writer.ts';
import { storeContract } from './store-contract.ts';
import { processContract } from './store-processes.ts';
import { answered, interrupted, taken } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

for (const durability of ['process', 'power'] as const) {
  storeContract(`sqliteJournal, durability ${durability},`, async () => {
    const folder = await temporaryFolder();
    return { store: sqliteJournal(join(folder.path, 'deep/runs.sqlite'), { durability }), ...folder };
  });
}

processContract('sqlite', (folder) => join(folder, 'runs.sqlite'));

test("who seemed dead and was not writes nothing more: the run is another's now", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const [store, other] = [sqliteJournal(path), sqliteJournal(path)];
  await interrupted(store, 'run');
  const { sink } = await taken(store, 'run');
  const dead = JSON.stringify({ ...newWriter(), start: '1' });
  new DatabaseSync(path).prepare('update progress set writer = ?').run(dead);
  const theirs = await taken(other, 'run');
  const note = { t: 'note', at: 1, note: {} } as const;
  await expect(Promise.resolve(sink.append([note]))).rejects.toMatchObject({ code: 'run-lost', runId: 'run' });
  await theirs.sink.append([note]);
  await theirs.sink.close();
  expect((await other.read?.('run'))?.lines.filter(({ t }) => t === 'note')).toHaveLength(1);
});

test('a database of a newer version is refused', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  new DatabaseSync(path).exec('pragma user_version = 2');
  await expect(sqliteJournal(path).list?.()).rejects.toMatchObject({ code: 'store-newer' });
});

test('a database is readable by its owner only, and holds no secret', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'run');
  store.secrets?.keep('a/b', { '«secret:1»': 'a-key' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(`${path}-secrets/a%2Fb.vault`).mode & 0o777).toBe(0o600);
  expect(statSync(`${path}-secrets`).mode & 0o777).toBe(0o700);
});

test('secrets of runs that are over are gone when the database is opened again', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'ended');
  await interrupted(store, 'a/b');
  const old = Date.now() / 1000 - 61;
  for (const runId of ['ended', 'none', 'a/b']) {
    store.secrets?.keep(runId, { '«secret:1»': 'a-key' });
    utimesSync(`${path}-secrets/${encodeURIComponent(runId)}.vault`, old, old);
  }
  await sqliteJournal(path).list?.();
  expect(readdirSync(`${path}-secrets`)).toEqual(['a%2Fb.vault']);
});

test('while another process has the database, beginning, taking and removing a run hold nobody up', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await interrupted(store, 'cut');
  await answered(store, 'old');
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const waiting = Promise.all([answered(store, 'new'), taken(store, 'cut'), store.remove?.('old')]);
  for (const until = Date.now() + 400; Date.now() < until;)
    // oxlint-disable-next-line no-await-in-loop -- the other process is busy for a while
    await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  other.exec('commit');
  const [begun, cut, removed] = await waiting;
  expect(begun.result.status).toBe('answered');
  expect(removed).toBe(true);
  await cut.sink.close();
  // Each try waits 25 ms within SQLite.
  expect(delay.percentile(50) / 1e6).toBeLessThan(50);
  expect(delay.max / 1e6).toBeLessThan(200);
});

test("durability must be 'process' or 'power'", () => {
  // @ts-expect-error -- as a program without types would
  expect(() => sqliteJournal('runs.sqlite', { durability: 'none' })).toThrow(/option durability/);
});
