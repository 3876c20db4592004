import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { migratePostgres, postgresJournal } from '../../src/journal/postgres/index.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { besideEachOther, poll } from '../support/beside.ts';
import { interrupted, recordsOf, waiting } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

besideEachOther();

const sendMail = { content: '', toolCalls: [{ name: 'send_mail', arguments: {} }] };
const FULL = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });

function mailer(journal: JournalStore, more: AgentOptions = {}) {
  const tools = [fakeTool('send_mail', ['sent'], { policy: 'confirm' })];
  return createAgent({
    name: 'mailer',
    tools,
    model: scriptedModel([]),
    confirm: 'wait',
    silent: true,
    journal,
    ...more,
  });
}

/** A store whose disk is full for whoever takes up a run. */
function fullFor(store: JournalStore): JournalStore {
  return {
    ...store,
    take: async (runId) => {
      const taken = (await store.take?.(runId)) ?? null;
      if (taken === null) return null;
      const append = (): never => {
        throw FULL;
      };
      return { ...taken, sink: { append, close: () => taken.sink.close() } };
    },
  };
}

test.each([
  ['fileJournal: the folder must be a path, and is undefined.', () => Reflect.apply(fileJournal, undefined, [])],
  ['fileJournal: the folder must be a path, and is empty.', () => fileJournal('')],
  [
    'sqliteJournal: the path must be that of a file, and is undefined.',
    () => Reflect.apply(sqliteJournal, undefined, []),
  ],
  ["sqliteJournal: the path must be that of a file, and is ':memory:'.", () => sqliteJournal(':memory:')],
  ["sqliteJournal: the path must be that of a file, and is 'file:runs'.", () => sqliteJournal('file:runs')],
  ['must be a URL or a pool of the package pg, and is undefined.', () => Reflect.apply(postgresJournal, undefined, [])],
  [
    'must be a URL or a pool of the package pg, and is an object.',
    () => Reflect.apply(postgresJournal, undefined, [{}]),
  ],
  ['must be a URL or a pool of the package pg, and is empty.', () => postgresJournal('')],
])('a store without a place is refused when it is made: %s', (message, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'wrong-option', message: expect.stringContaining(message) }));
});

test('a URL of a database that cannot be read is refused when the store is made, and its password not shown', () => {
  for (const url of [
    'postgres://ann:s3c#ret@db/runs',
    'postgres://ann:s3c/ret@db/runs',
    'postgres://ann:s3cret@db:port/runs',
  ]) {
    const make = () => postgresJournal(url);
    expect(make).toThrow(expect.objectContaining({ code: 'wrong-option' }));
    expect(make).toThrow(/the URL cannot be read(?!.*s3c)/);
  }
  // What pg reads.
  for (const url of [
    'postgres://ann:a%23b@db:5432/runs',
    'postgresql://db/runs',
    'postgres:///runs',
    'postgres://ann@/runs?host=/tmp',
    'postgres://ann:a b@db/runs',
    '/var/run/postgresql runs',
    'runs',
  ])
    expect(() => postgresJournal(url)).not.toThrow();
});

test('a migration without a place is refused', async () => {
  await expect(Reflect.apply(migratePostgres, undefined, [])).rejects.toThrow('must be a URL or a pool');
});

test.each(['cancel', 'approve', 'reject'] as const)(
  '%s rejects with the cause when the file cannot be written, and the run ends as failed but stays to be taken up',
  async (act) => {
    await using folder = await temporaryFolder();
    const store = fileJournal(folder.path);
    const { run } = await waiting(store, 'run');
    // Somebody else writes to the file: this writer must not go on.
    appendFileSync(join(folder.path, 'run.jsonl'), '\n');
    const callId = run.pending[0]?.callId ?? '';
    await expect(act === 'cancel' ? run.cancel() : run[act](callId)).rejects.toMatchObject({ code: 'run-lost' });
    expect(await run).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
    expect(await run.cancel()).toBe(false);
    expect(await store.list?.()).toMatchObject([{ runId: 'run', state: 'waiting' }]);
  },
);

test('an answer that nobody waits for, and that cannot be written, ends no process', async () => {
  await using folder = await temporaryFolder();
  const { run } = await waiting(fileJournal(folder.path), 'run');
  appendFileSync(join(folder.path, 'run.jsonl'), '\n');
  void run.approve(run.pending[0]?.callId ?? '');
  void run.cancel();
  expect(await run).toMatchObject({ status: 'failed' });
});

test('cancel rejects with the cause when the database cannot be written', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const { run } = await waiting(sqliteJournal(path), 'run');
  new DatabaseSync(path).exec('drop table lines');
  await expect(run.cancel()).rejects.toThrow(/no such table/);
  expect(await run).toMatchObject({ status: 'failed' });
});

test('what is said to a run that is taken up, and cannot be written, is refused with the cause', async () => {
  const store = memoryJournal();
  await interrupted(store, 'run');
  const before = await recordsOf(store, 'run');
  const agent = mailer(fullFor(store));
  const run = agent.resume('run');
  await expect(run.cancel('enough')).rejects.toBe(FULL);
  expect(await run).toMatchObject({ status: 'failed', error: { code: 'ENOSPC' } });
  const again = agent.resume('run');
  for await (const event of again) if (event.type === 'approval.requested') break;
  await expect(again.approve('c1')).rejects.toBe(FULL);
  expect(await again).toMatchObject({ error: { code: 'ENOSPC' } });
  await expect(agent.approve('run', 'c1')).rejects.toBe(FULL);
  expect(await recordsOf(store, 'run')).toEqual(before);
  expect(await mailer(store).approve('run', 'c1')).toBe(true);
});

test('an answer to a run that leaves its recording while it is taken up is told that it did not count', async () => {
  const store = memoryJournal();
  await interrupted(store, 'run');
  const migrate: NonNullable<Parameters<ReturnType<typeof mailer>['resume']>[1]>['migrate'] = (past) => past;
  const changed: JournalStore = {
    ...store,
    take: async (runId) => {
      const taken = (await store.take?.(runId)) ?? null;
      if (taken === null) return null;
      const { head, lines } = taken.recording;
      return {
        ...taken,
        recording: { head, lines: lines.map((line) => (line.t === 'start' ? { ...line, digest: 'x' } : line)) },
      };
    },
  };
  const run = mailer(changed).resume('run', { migrate });
  const approved = run.approve('c1');
  const cancelled: Promise<boolean>[] = [];
  const read = (async () => {
    for await (const { replayed } of run) if (replayed) cancelled.push(run.cancel());
  })();
  await expect(read).rejects.toMatchObject({ name: 'ReplayDivergenceError' });
  await expect(run).rejects.toMatchObject({ name: 'ReplayDivergenceError' });
  expect(await approved).toBe(false);
  expect((await Promise.all(cancelled)).every((taken) => !taken)).toBe(true);
  expect(await run.cancel()).toBe(false);
});

test('an agent whose journal cannot write is closed all the same', async () => {
  await using folder = await temporaryFolder();
  const agent = mailer(fileJournal(folder.path), {
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'send_mail', arguments: {} }] }]),
  });
  const run = agent.run('Mail Ada', { runId: 'run' });
  for await (const event of run) if (event.type === 'approval.requested') break;
  appendFileSync(join(folder.path, 'run.jsonl'), '\n');
  await agent.close();
  expect(await run).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
});

test.concurrent('a run and a conversation of a database that could not be written for a while are free again, also for another process', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const refuse = (when: string): string =>
    `create trigger full_${when} before ${when} on progress begin select raise(fail, 'the disk is full'); end`;
  const full = { update: refuse('update'), delete: refuse('delete') };
  using database = new DatabaseSync(path);
  const store = sqliteJournal(path);
  const agent = mailer(store, { model: scriptedModel([sendMail]) });
  const run = agent.conversation('c').run('Mail Ada.', { runId: 'run' });
  for await (const { type } of run) if (type === 'approval.requested') break;
  for (const sql of Object.values(full)) database.exec(sql);
  await expect(run.reject('c1')).rejects.toThrow('the disk is full');
  expect(await run).toMatchObject({ status: 'failed', error: { message: 'the disk is full' } });
  for (const when of Object.keys(full)) database.exec(`drop trigger full_${when}`);

  const other = mailer(sqliteJournal(path), { model: scriptedModel(['Not sent.']) });
  await poll(() => other.reject('run', 'c1').catch(() => 'locked'), { timeout: 20_000 }).toBe(true);
  expect(await other.conversation('c').resume()).toMatchObject({ result: 'Not sent.' });
});

test.concurrent('a run that was written to its end is answered, though its folder is away when it is given back; then it is free', async () => {
  await using folder = await temporaryFolder();
  const runs = join(folder.path, 'runs');
  const away = join(folder.path, 'away');
  const lock = join(runs, 'run.lock');
  const store = fileJournal(runs);
  await interrupted(store, 'run');
  const leaving: JournalStore = {
    ...store,
    take: async (runId) => {
      const taken = (await store.take?.(runId)) ?? null;
      if (taken === null) return null;
      const close = (): void | Promise<void> => {
        renameSync(runs, away);
        writeFileSync(runs, 'Another disk.');
        return taken.sink.close();
      };
      return { ...taken, sink: { ...taken.sink, close } };
    },
  };
  const run = mailer(leaving, { model: scriptedModel(['Not sent.']) }).resume('run');
  await expect(run.reject('c1')).resolves.toBe(true);
  expect(await run).toMatchObject({ status: 'answered', result: 'Not sent.' });
  rmSync(runs);
  renameSync(away, runs);
  expect(existsSync(lock)).toBe(true);
  await poll(() => existsSync(lock), { timeout: 20_000 }).toBe(false);
  expect(await store.list?.()).toMatchObject([{ runId: 'run', state: 'ended', status: 'answered' }]);
});

test('a database that another process keeps, and one without room, fail a run with codes of their own; both go on later', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const { exec } = DatabaseSync.prototype;
  const other = new DatabaseSync(path);
  const trouble = {
    'store-unreachable': () => {
      other.exec('begin immediate');
      // Each look at the clock is seconds later.
      let now = performance.now();
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 4000));
      return () => (clock.mockRestore(), other.exec('rollback'));
    },
    ERR_SQLITE_ERROR: () => {
      const room = (pages: number) =>
        vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function full(this: DatabaseSync, sql) {
          exec.call(this, `pragma max_page_count = ${pages}`);
          exec.call(this, sql);
        });
      const full = room(1);
      return () => (full.mockRestore(), void room(1e9));
    },
  };
  for (const [code, begin] of Object.entries(trouble)) {
    let end = (): unknown => undefined;
    const tools = [
      fakeTool('send_mail', [() => ((end = begin()), 'x'.repeat(1_000_000)), 'sent'], { effects: 'none' }),
    ];
    const model = scriptedModel([sendMail, 'Done.']);
    const agent = createAgent({ model, tools, silent: true, journal: sqliteJournal(path) });
    const { runId, error } = await agent.run('Mail').finally(() => end());
    expect(error?.code).toBe(code);
    expect(error?.message).toContain(code === 'store-unreachable' ? path : 'full');
    expect(await agent.resume(runId)).toMatchObject({ result: 'Done.' });
    vi.restoreAllMocks();
  }
});
