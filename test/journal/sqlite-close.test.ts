import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { type SqliteJournal, sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { answered, recordsOf, taken, waiting } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const files = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith('runs.sqlite'));

test('a database that is closed is one file, with all that was written; the next use opens it again', async () => {
  await using folder = await temporaryFolder();
  const store = sqliteJournal(join(folder.path, 'runs.sqlite'));
  const { recording } = await answered(store, 'first');
  expect(files(folder.path)).toContain('runs.sqlite-wal');
  await store.close();
  expect(files(folder.path)).toEqual(['runs.sqlite']);
  await answered(store, 'second');
  expect((await store.list()).map(({ runId, state }) => [runId, state])).toEqual([
    ['second', 'ended'],
    ['first', 'ended'],
  ]);
  expect(await recordsOf(store, 'first')).toHaveLength(recording.trimEnd().split('\n').length);
  await store.close();
  expect(files(folder.path)).toEqual(['runs.sqlite']);
});

test('closing what was never used, or twice, does nothing', async () => {
  await using folder = await temporaryFolder();
  const store = sqliteJournal(join(folder.path, 'runs.sqlite'));
  await store.close();
  expect(readdirSync(folder.path)).toEqual([]);
  await answered(store, 'run');
  void store.close();
  await store.close();
  expect(files(folder.path)).toEqual(['runs.sqlite']);
});

test('a store whose file was removed while it was closed begins a new one', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'run');
  await store.close();
  rmSync(path);
  expect(await store.list()).toEqual([]);
  expect((await answered(store, 'run')).result.status).toBe('answered');
  await store.close();
});

test('what was asked for before it is closed is written; what comes later is written to the database that is opened anew', async () => {
  await using folder = await temporaryFolder();
  const store = sqliteJournal(join(folder.path, 'runs.sqlite'));
  await answered(store, 'kept');
  await answered(store, 'removed');
  const removed = store.remove('removed');
  const closed = store.close();
  const later = answered(store, 'later');
  expect(await removed).toBe(true);
  await closed;
  expect((await later).result.status).toBe('answered');
  expect((await store.list()).map(({ runId }) => runId)).toEqual(['later', 'kept']);
  await store.close();
});

const CLOSED_DURING: Readonly<Record<string, (store: SqliteJournal, other: SqliteJournal) => Promise<unknown>>> = {
  take: async (store) => (await taken(store, 'run')).sink.close(),
  repair: async (store) => expect(await store.repair?.('run')).toMatchObject({ kept: 8, lost: 0, damage: null }),
  claim: async (store, other) => {
    const free = await store.claim('name');
    expect(await other.claim('name')).toBeNull();
    await free?.();
  },
  list: async (store) => expect(await store.list()).toMatchObject([{ runId: 'run', state: 'ended' }]),
};

test.each(Object.entries(CLOSED_DURING))('what is closed during a %s leaves nothing that is held', async (_, work) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const [store, other] = [sqliteJournal(path), sqliteJournal(path)];
  await answered(store, 'run');
  const working = work(store, other);
  await store.close();
  await working;
  await (await taken(other, 'run')).sink.close();
  const free = await other.claim('name');
  expect(free).not.toBeNull();
  await free?.();
  await Promise.all([store.close(), other.close()]);
  expect(files(folder.path)).toEqual(['runs.sqlite']);
});

/** The locks of this process on a file, where the system tells. */
function locksOn(path: string): readonly string[] {
  if (process.platform !== 'linux') return [];
  const mine = new RegExp(String.raw`\b${process.pid} \w+:\w+:${statSync(path).ino} `);
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter((line) => mine.test(line))
    .map((line) => line.replace(/^\d+: /, ''));
}

test('a second store of a path takes no lock away from the first, whose runs others see', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const module = new URL('../../src/journal/index.ts', import.meta.url).href;
  const code = `
    const { sqliteJournal } = await import(${JSON.stringify(module)});
    await using store = sqliteJournal(${JSON.stringify(path)});
    console.log((await store.list()).map(({ runId }) => runId).join());`;
  const options = ['--conditions=@signalbox/source', '--input-type=module', '-e', code];
  const seenByOthers = (): string => execFileSync(process.execPath, options, { encoding: 'utf8' }).trim();
  await using store = sqliteJournal(path);
  await answered(store, 'first');
  const locks = locksOn(path);
  {
    await using second = sqliteJournal(path);
    expect(await second.list()).toHaveLength(1);
    expect(locksOn(path)).toEqual(locks);
  }
  expect(locksOn(path)).toEqual(locks);
  // Whoever closes the file last removes what is not in it yet: it must not take itself for the last.
  expect(seenByOthers()).toBe('first');
  await answered(store, 'second');
  expect(seenByOthers()).toBe('second,first');
});

test('a conversation is free once its agent and its store are closed', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  for (const said of ['One.', 'Two.', 'Three.']) {
    const journal = sqliteJournal(path);
    const agent = createAgent({ model: scriptedModel([said]), journal, silent: true });
    expect((await agent.conversation('ada').run('Go on')).result).toBe(said);
    await agent.close();
    await journal.close();
  }
  {
    await using store = sqliteJournal(path);
    expect(await store.list()).toHaveLength(3);
  }
  expect(files(folder.path)).toEqual(['runs.sqlite']);
});

test('a run that is live then ends as failed, and can be resumed at once, here and by others', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const [store, other] = [sqliteJournal(path), sqliteJournal(path)];
  const { run } = await waiting(store, 'run');
  await store.close();
  const { callId = '' } = run.pending[0] ?? {};
  await run.approve(callId).catch(() => false);
  expect(await run).toMatchObject({ status: 'failed', error: { code: 'store-unreachable' } });
  expect(await other.list()).toMatchObject([{ runId: 'run', state: 'waiting' }]);
  const early = await other.take('run');
  expect(early?.recording.lines.some((line) => line.t === 'event')).toBe(false);
  await early?.sink.close();
  const again = await store.take('run');
  expect(again?.recording).toEqual(early?.recording);
  await again?.sink.close();
  await Promise.all([store.close(), other.close()]);
});

test('a process opens and closes as many as it likes: nothing is left that it would do at its end', async () => {
  await using folder = await temporaryFolder();
  const before = process.listenerCount('exit');
  for (let n = 0; n < 12; n += 1) {
    const store = sqliteJournal(join(folder.path, `${n}.sqlite`));
    await store.list();
    await store.close();
  }
  expect(process.listenerCount('exit')).toBe(before);
});

test('at the end of a process those are closed that are open, and no others', async () => {
  await using folder = await temporaryFolder();
  const module = new URL('../../src/journal/index.ts', import.meta.url).href;
  const code = `
    const { sqliteJournal } = await import(${JSON.stringify(module)});
    const stores = ['one', 'two', 'three'].map((name) => sqliteJournal(name + '.sqlite'));
    for (const store of stores) await store.list();
    await stores[1].close();
    process.exitCode = 7;`;
  const options = ['--conditions=@signalbox/source', '--input-type=module', '-e', code];
  const run = (): string =>
    execFileSync(process.execPath, options, { cwd: folder.path, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  expect(run).toThrow(expect.objectContaining({ status: 7, stderr: '' }));
  expect(readdirSync(folder.path)).toEqual(['one.sqlite', 'three.sqlite', 'two.sqlite']);
});
