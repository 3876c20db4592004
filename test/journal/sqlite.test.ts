import { readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { abandonedRun } from '../../src/journal/conformance/sample-run.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import type { RunQuery } from '../../src/journal/format/tally.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { isIntact, progressOf, unbegun } from '../../src/journal/stores/sqlite-rows.ts';
import { RunTables } from '../../src/journal/stores/sqlite-runs.ts';
import { newWriter } from '../../src/journal/stores/writer.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { poll } from '../support/beside.ts';
import { calls } from '../support/replies.ts';
import { storeContract } from './store-contract.ts';
import { processContract } from './store-processes.ts';
import { answered, interrupted, taken, waiting as waitingRun } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

for (const durability of ['process', 'power'] as const) {
  storeContract(`sqliteJournal, durability ${durability},`, async () => {
    const folder = await temporaryFolder();
    return { store: sqliteJournal(join(folder.path, 'deep/runs.sqlite'), { durability }), ...folder };
  });
}

processContract('sqlite', (folder) => join(folder, 'runs.sqlite'));

test('under the fake timers of a test runner, runs are written all the same', async () => {
  await using folder = await temporaryFolder();
  const journal = sqliteJournal(join(folder.path, 'runs.sqlite'));
  vi.useFakeTimers();
  try {
    const { status } = await createAgent({ model: scriptedModel(['Hi.']), journal, silent: true }).run('Hello');
    expect(status).toBe('answered');
  } finally {
    vi.useRealTimers();
  }
});

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

test('a run that another process takes has a sign of life from the beginning', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await interrupted(store, 'run');
  using database = new DatabaseSync(path);
  database.exec('update progress set beat = 0');
  const before = Date.now();
  await taken(store, 'run');
  expect(database.prepare('select beat from progress').get()?.['beat']).toBeGreaterThanOrEqual(before);
});

test('a database of a newer version is refused', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  new DatabaseSync(path).exec('pragma user_version = 6');
  await expect(sqliteJournal(path).list?.()).rejects.toMatchObject({ code: 'store-newer' });
});

test('a run begins under the id of one that a dead process had not begun', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await store.list();
  const dead = JSON.stringify({ ...newWriter(), pid: 2 ** 30 });
  const database = new DatabaseSync(path);
  new RunTables(database, path).begin({ runId: 'run', writer: dead }, unbegun('run'));
  database.close();
  await answered(store, 'run');
  expect(await store.list()).toMatchObject([{ runId: 'run', status: 'answered' }]);
  await store.close();
});

test('a file that is no database is named, kept as it is, and not held open', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'notes.txt');
  const text = 'Not a database, but notes. '.repeat(100);
  writeFileSync(path, text);
  const closed = vi.spyOn(DatabaseSync.prototype, 'close');
  await expect(sqliteJournal(path).list()).rejects.toMatchObject({
    code: 'store-unwritable',
    message: `${path} cannot be written (file is not a database). Use another place or another journal.`,
  });
  expect(closed).toHaveBeenCalledOnce();
  closed.mockRestore();
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('a database of the first or second version gets what it lacks, and shows what it showed', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'ended');
  await interrupted(store, 'open');
  const listed = ((await store.list?.()) ?? []).map(({ due: _none, ...run }) => run);
  const first = join(folder.path, 'first.sqlite');
  const database = new DatabaseSync(path);
  database.prepare('vacuum into ?').run(first);
  const old = new DatabaseSync(first);
  withoutConversations(old);
  old.exec('drop table histories; drop index runs_by_history; alter table runs drop column history');
  old.exec('alter table runs drop column head_sum; alter table progress drop column sum');
  old.exec('alter table progress drop column due; pragma user_version = 1');
  expect(await sqliteJournal(first).list?.()).toEqual(listed);
  const rows = old.prepare('select * from runs, progress where run = id').all();
  expect(rows.map((row) => isIntact(row))).toEqual([true, true]);
  const second = join(folder.path, 'second.sqlite');
  old.prepare('vacuum into ?').run(second);
  const older = new DatabaseSync(second);
  withoutConversations(older);
  older.exec('alter table progress drop column due; pragma user_version = 2');
  const later = sqliteJournal(second);
  expect(await later.list?.()).toEqual(listed);
  // When it may continue is not known: it is looked at.
  expect(await later.list?.({ due: '2000-01-01T00:00:00.000Z' })).toMatchObject([{ runId: 'open' }]);
});

test('a database of an older version is updated once where two processes open it at the same moment', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  await answered(sqliteJournal(path), 'ended', {}, { conversation: 'ada' });
  const copy = join(folder.path, 'old.sqlite');
  new DatabaseSync(path).prepare('vacuum into ?').run(copy);
  const old = new DatabaseSync(copy);
  withoutConversations(old);
  old.exec('alter table progress drop column due; pragma user_version = 2');
  const { exec } = DatabaseSync.prototype;
  let isFirst = true;
  // The other one is done with it after this one has seen how old it is.
  using _between = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function between(
    this: DatabaseSync,
    sql,
  ) {
    if (isFirst && sql === 'begin immediate') {
      isFirst = false;
      void sqliteJournal(copy).list?.();
    }
    exec.call(this, sql);
  });
  expect(await sqliteJournal(copy).list?.({ metadata: { conversation: 'ada' } })).toMatchObject([{ runId: 'ended' }]);
  expect(old.prepare('select id, runs from conversations').all()).toEqual([{ id: 'ada', runs: 1 }]);
});

/** Takes from a database what the third version did not have. */
function withoutConversations(database: DatabaseSync): void {
  for (const trigger of ['begun', 'named', 'left', 'changed']) database.exec(`drop trigger conversation_${trigger}`);
  database.exec('drop index progress_unended; drop table conversations; drop index runs_by_conversation');
  database.exec('alter table runs drop column conversation');
}

describe('the runs of one conversation among many', () => {
  /** Two conversations of two runs each, and a run that belongs to none. */
  async function talks(folder: string) {
    const path = join(folder, 'runs.sqlite');
    const store = sqliteJournal(path);
    for (const [runId, conversation] of Object.entries({ a: 'ada', b: 'bob', c: null, d: 'bob', e: 'ada' }))
      await answered(store, runId, {}, conversation === null ? {} : { conversation });
    return { path, store, database: new DatabaseSync(path) };
  }
  const idsOf = async (store: JournalStore, query: RunQuery): Promise<readonly string[]> =>
    ((await store.list?.(query)) ?? []).map(({ runId }) => runId);
  const bob = { metadata: { conversation: 'bob' } };

  test('are found without looking at the others', async () => {
    await using folder = await temporaryFolder();
    const { store, database } = await talks(folder.path);
    // Whoever reads this row warns of it.
    database.exec("update runs set agent = 'x' where run_id = 'a'; delete from lines");
    using warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    expect(await idsOf(store, bob)).toEqual(['d', 'b']);
    expect(await idsOf(store, { ...bob, limit: 1 })).toEqual(['d']);
    const [newest] = (await store.list?.({ ...bob, limit: 1 })) ?? [];
    expect(newest && (await idsOf(store, { ...bob, after: newest }))).toEqual(['b']);
    expect(await idsOf(store, { metadata: { conversation: 'nobody' } })).toEqual([]);
    expect(warned).not.toHaveBeenCalled();
    expect(await idsOf(store, {})).toEqual(['e', 'd', 'c', 'b']);
    expect(warned).toHaveBeenCalled();
  });

  test('the latest are found without reading those before them', async () => {
    await using folder = await temporaryFolder();
    const { store, database } = await talks(folder.path);
    // One of those before it, and the first that is read where all are.
    database.exec("update runs set agent = 'x' where run_id in ('b', 'e'); delete from lines");
    using warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    expect(await idsOf(store, { ...bob, limit: 1 })).toEqual(['d']);
    expect(warned).not.toHaveBeenCalled();
    expect(await idsOf(store, { ...bob, limit: 2 })).toEqual(['d']);
    expect(
      warned.mock.calls.map(([text]) =>
        String(text)
          .match(/^\w+(?= in )/gm)
          ?.toSorted(),
      ),
    ).toEqual([['b', 'e']]);
  });

  test('those that a query asks for may stand behind the latest', async () => {
    await using folder = await temporaryFolder();
    const { store } = await talks(folder.path);
    await answered(store, 'f', {}, { conversation: 'ada', ticket: 1 });
    await answered(store, 'g', {}, { conversation: 'ada', ticket: 2 });
    for (const limit of [1, 2, 5])
      expect(await idsOf(store, { metadata: { conversation: 'ada', ticket: 1 }, limit })).toEqual(['f']);
    expect(await idsOf(store, { metadata: { conversation: 'ada' }, limit: 3 })).toEqual(['g', 'f', 'e']);
  });

  test('are those that the rows name, whatever the index and the numbers of runs say', async () => {
    await using folder = await temporaryFolder();
    const { store, database } = await talks(folder.path);
    for (const damage of [
      "update runs set metadata = '{' where run_id = 'b'",
      "update conversations set runs = 1 where id = 'bob'",
      "delete from conversations where id = 'bob'",
      "update conversations set runs = 2 where id = 'bob'; drop trigger conversation_changed; update runs set conversation = 'ada' where run_id = 'b'",
      "update runs set conversation = 'bob' where run_id in ('a', 'b')",
    ]) {
      database.exec(damage);
      expect([await idsOf(store, bob), await idsOf(store, { metadata: { conversation: 'ada' } })], damage).toEqual([
        ['d', 'b'],
        ['e', 'a'],
      ]);
    }
  });

  test('are fewer when one is removed, and known in a database that was made before', async () => {
    await using folder = await temporaryFolder();
    const { path, store, database } = await talks(folder.path);
    await store.remove?.('d');
    expect(await idsOf(store, bob)).toEqual(['b']);
    await store.remove?.('b');
    expect(await idsOf(store, bob)).toEqual([]);
    expect(database.prepare('select id, runs from conversations').all()).toEqual([{ id: 'ada', runs: 2 }]);
    const third = `${path}.third`;
    database.prepare('vacuum into ?').run(third);
    const old = new DatabaseSync(third);
    withoutConversations(old);
    old.exec('pragma user_version = 3');
    expect(await idsOf(sqliteJournal(third), { metadata: { conversation: 'ada' } })).toEqual(['e', 'a']);
    expect(old.prepare('select id, runs from conversations').all()).toEqual([{ id: 'ada', runs: 2 }]);
  });

  test('include those of a process of an older version that goes on beside this one', async () => {
    await using folder = await temporaryFolder();
    const { path, database } = await talks(folder.path);
    const shared = `${path}.shared`;
    database.prepare('vacuum into ?').run(shared);
    const old = new DatabaseSync(shared);
    withoutConversations(old);
    old.exec("delete from runs where run_id in ('c', 'd'); pragma user_version = 3");
    const store = sqliteJournal(shared);
    expect(await idsOf(store, bob)).toEqual(['b']);
    old.prepare('attach ? as source').run(path);
    old.exec(`
      insert into runs (id, run_id, agent, at, input, metadata, head_sum, history)
        select id, run_id, agent, at, input, metadata, head_sum, history from source.runs where run_id in ('c', 'd');
      insert or replace into progress select * from source.progress;
      insert or replace into lines select * from source.lines`);
    expect(await idsOf(store, bob)).toEqual(['d', 'b']);
    expect(await idsOf(store, {})).toEqual(['e', 'd', 'c', 'b', 'a']);
    await store.remove?.('d');
    expect(await idsOf(store, bob)).toEqual(['b']);
  });
});

describe('the runs that have not ended, among many that have', () => {
  const LATER = '2999-01-01T00:00:00.000Z';
  const WAITING: RunQuery = { state: 'waiting' };
  const DUE: RunQuery = { due: LATER };

  /** Two runs that wait for a person, one whose answer was given, and four that have ended. */
  async function kept(folder: string) {
    const path = join(folder, 'runs.sqlite');
    const store = sqliteJournal(path);
    for (const runId of ['a', 'c', 'e', 'g']) await answered(store, runId);
    for (const runId of ['b', 'd', 'f']) await interrupted(store, runId);
    const { sink } = await taken(store, 'f');
    await sink.append([{ t: 'event', at: 1, to: 'agent', event: { type: 'approval.refused', reason: 'No.' } }]);
    await sink.close();
    const idsOf = async (query: RunQuery): Promise<readonly string[]> =>
      ((await store.list?.(query)) ?? []).map(({ runId }) => runId).toSorted();
    return { path, store, idsOf, database: new DatabaseSync(path) };
  }

  test('are found without looking at the others', async () => {
    await using folder = await temporaryFolder();
    const { idsOf, database } = await kept(folder.path);
    // Whoever reads one of these rows warns of it.
    database.exec("update runs set agent = 'x' where run_id in ('a', 'c', 'e', 'g'); delete from lines");
    using warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    expect(await idsOf(WAITING)).toEqual(['b', 'd']);
    expect(await idsOf(DUE)).toEqual(['f']);
    expect(await idsOf({ state: 'interrupted' })).toEqual(['f']);
    expect(await idsOf({ state: 'running' })).toEqual([]);
    // Those that only a person can continue are not looked at, either, when runs are woken.
    database.exec("update runs set agent = 'x' where run_id in ('b', 'd')");
    expect(await idsOf(DUE)).toEqual(['f']);
    expect(warned).not.toHaveBeenCalled();
    expect(await idsOf({ state: 'ended' })).toEqual([]);
    expect(warned).toHaveBeenCalled();
  });

  test('are found in a database of the fourth version, too', async () => {
    await using folder = await temporaryFolder();
    const { path, database } = await kept(folder.path);
    database.exec('drop index progress_unended; pragma user_version = 4');
    expect(await sqliteJournal(path).list?.(DUE)).toMatchObject([{ runId: 'f' }]);
    expect(database.prepare("select 1 from sqlite_schema where name = 'progress_unended'").all()).toHaveLength(1);
  });

  test('come newest first, some at a time', async () => {
    await using folder = await temporaryFolder();
    const { store } = await kept(folder.path);
    const [newest, ...none] = (await store.list?.({ ...WAITING, limit: 1 })) ?? [];
    expect([newest?.runId, none]).toEqual(['d', []]);
    expect(await store.list?.({ ...WAITING, after: newest })).toMatchObject([{ runId: 'b' }]);
  });

  test('are those that the rows name, whatever their index says', async () => {
    await using folder = await temporaryFolder();
    const { path, idsOf, database } = await kept(folder.path);
    const [b, f] = database.prepare("select id from runs where run_id in ('b', 'f') order by run_id").all();
    for (const made of [
      '(due, ended) where ended = 7',
      `(due, ended) where run <> ${String(b?.['id'])}`,
      // As many as there are, but others.
      `(case run when ${String(b?.['id'])} then 0 when ${String(f?.['id'])} then -1 else due end, ended) where ended = 0`,
    ]) {
      const damaged = new DatabaseSync(path);
      damaged.enableDefensive?.(false);
      damaged.exec(`drop index progress_unended; create index progress_unended on progress ${made}; pragma writable_schema = on;
        update sqlite_schema set sql = 'create index progress_unended on progress (due, ended) where ended = 0'
        where name = 'progress_unended'`);
      damaged.close();
      expect([await idsOf(WAITING), await idsOf(DUE)], made).toEqual([['b', 'd'], ['f']]);
    }
    // A row that says by damage that its run has ended, to which the index still leads.
    const edit = (sql: string): void => {
      const damaged = new DatabaseSync(path);
      damaged.enableDefensive?.(false);
      damaged.exec(`pragma writable_schema = on; ${sql}`);
      damaged.close();
    };
    const index = "from sqlite_schema where name = 'progress_unended'";
    edit(`create table kept as select * ${index}; delete ${index}`);
    edit(`update progress set ended = 1 where run = ${String(b?.['id'])}`);
    edit('insert into sqlite_schema select * from kept; drop table kept');
    expect(await idsOf(WAITING)).toEqual(['b', 'd']);
    // A row that is lost is read from its lines.
    database.exec(`reindex; delete from progress where run = ${String(b?.['id'])}`);
    expect(await idsOf(WAITING)).toEqual(['b', 'd']);
  });
});

test('texts that a database cannot hold as they are do not look damaged', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  const agent = createAgent({ name: 'odd \ud800', model: scriptedModel(['Yes.']), journal: store, silent: true });
  await agent.run('What is \ud800?', { runId: 'odd', metadata: { '\udfff': '\ud800' } });
  expect(isIntact(new DatabaseSync(path).prepare('select * from runs, progress').get() ?? {})).toBe(true);
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

test('a row that was damaged is not taken for that of a run which is over, or never began', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await interrupted(store, 'run');
  const before = await store.read?.('run');
  store.secrets?.keep('run', { '«secret:1»': 'a-key' });
  const old = Date.now() / 1000 - 61;
  utimesSync(`${path}-secrets/run.vault`, old, old);
  const database = new DatabaseSync(path);
  database.exec('update progress set ended = 1');
  await sqliteJournal(path).list?.();
  expect(readdirSync(`${path}-secrets`)).toEqual(['run.vault']);
  database.exec('update progress set ended = 0, records = 0');
  expect((await answered(store, 'run')).result.error).toMatchObject({ code: 'run-exists' });
  expect(await store.read?.('run')).toEqual(before);
});

test('numbers that no number of JavaScript holds, a run without its progress and one without its place in the index hide nothing', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  const { recording } = await answered(store, 'run');
  using database = new DatabaseSync(path);
  database.exec('update progress set steps = 9007199254740993, due = -9007199254740993');
  expect(await store.list?.()).toMatchObject([{ runId: 'run', steps: 2, status: 'answered' }]);
  expect(await store.read?.('run')).toMatchObject({ head: readRecording(recording).head });
  // As it is before the first record, and right by its checksum.
  const { sum = null } = progressOf(unbegun('run'));
  database.exec("update progress set ended = 0, status = null, reason = null, tools = '[]', steps = 0, records = 0");
  database.prepare('update progress set due = null, sum = ?').run(sum);
  await expect(store.read?.('run')).rejects.toThrow('of run is lost');
  database.enableDefensive?.(false);
  const index = "from sqlite_schema where name = 'runs_by_time'";
  database.exec(`pragma writable_schema = on; create table kept as select * ${index}; delete ${index}`);
  using beside = new DatabaseSync(path);
  beside.exec(
    "insert into runs (run_id, agent, at, input, metadata, head_sum) values ('another', '', '', '', '{}', '')",
  );
  database.exec('insert into sqlite_schema select * from kept; drop table kept');
  await expect(sqliteJournal(path).list?.()).rejects.toThrow('of a run is lost');
});

test('lines that have come to another run are not read as those of that run', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  await using store = sqliteJournal(path);
  for (const runId of ['one', 'two']) await answered(store, runId);
  using database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec('update lines set run = -run; update lines set run = 3 + run');
  for (const runId of ['one', 'two']) await expect(store.read(runId)).rejects.toThrow(`not of ${runId}`);
});

test('secrets stay of a run that is over but still has its writer, and of one whose row an index has lost', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const kept = async (runId: string): Promise<boolean> => {
    const journal = sqliteJournal(path);
    journal.secrets?.keep(runId, { '«secret:1»': 'a-key' });
    const old = Date.now() / 1000 - 61;
    utimesSync(`${path}-secrets/${runId}.vault`, old, old);
    await using store = sqliteJournal(path);
    await store.list().catch(() => []);
    return readdirSync(`${path}-secrets`).includes(`${runId}.vault`);
  };
  const store = sqliteJournal(path);
  await answered(store, 'the-run');
  using database = new DatabaseSync(path);
  const setWriter = database.prepare('update progress set writer = ?');
  setWriter.run(JSON.stringify(newWriter()));
  expect(await kept('the-run')).toBe(true);
  setWriter.run(null);
  database.close();
  await store.close();
  const bytes = readFileSync(path);
  const found = [];
  for (let at = bytes.indexOf('the-run'); at !== -1; at = bytes.indexOf('the-run', at + 1)) {
    writeFileSync(path, Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))));
    using look = new DatabaseSync(path, { readOnly: true });
    const isIn = (how: string): boolean =>
      look.prepare(`select 1 from runs ${how} where run_id = 'the-run'`).get() !== undefined;
    const isLost = isIn('not indexed') && !isIn('indexed by sqlite_autoindex_runs_1');
    look.close();
    if (isLost) found.push(await kept('the-run'));
  }
  expect(found).toEqual([true]);
});

test('secrets of runs that are over are gone when the database is opened again', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'ended');
  await abandonedRun(store, 'a/b');
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
  for (const until = Date.now() + 1000; Date.now() < until;) await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  other.exec('commit');
  const [begun, cut, removed] = await waiting;
  expect(begun.result.status).toBe('answered');
  expect(removed).toBe(true);
  await cut.sink.close();
  // Each try waits 25 ms within SQLite. Who waited for the other would be held up for all of the second.
  expect(delay.percentile(50) / 1e6).toBeLessThan(50);
  expect(delay.max / 1e6).toBeLessThan(900);
});

test('what is written while another process has the database is written when that process is done', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  await using store = sqliteJournal(path);
  await answered(store, 'run');
  using other = new DatabaseSync(path);
  other.exec('begin immediate');
  const first = store.claim('first');
  await new Promise((resolve) => setTimeout(resolve, 60));
  // The queue waits for the database by now.
  const second = store.claim('second');
  await new Promise((resolve) => setTimeout(resolve, 20));
  other.exec('rollback');
  expect(await Promise.all([first, second])).not.toContain(null);
}, 20_000);

test('a transaction that could not be committed is taken back, and hinders no later one', async () => {
  await using folder = await temporaryFolder();
  await using store = sqliteJournal(join(folder.path, 'runs.sqlite'));
  await answered(store, 'before');
  const { exec } = DatabaseSync.prototype;
  let isFirst = true;
  using _failing = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function failing(
    this: DatabaseSync,
    sql,
  ) {
    if (isFirst && sql === 'commit') {
      isFirst = false;
      throw new Error('The disk does not answer.');
    }
    exec.call(this, sql);
  });
  expect((await answered(store, 'failed')).result).toMatchObject({ status: 'failed' });
  expect((await answered(store, 'after')).result).toMatchObject({ status: 'answered' });
  expect((await store.list()).map(({ runId }) => runId)).toEqual(['after', 'before']);
});

test.each([
  ['process', 'normal'],
  ['power', 'full'],
] as const)("durability '%s' syncs as SQLite's '%s'", async (durability, synchronous) => {
  await using folder = await temporaryFolder();
  using executed = vi.spyOn(DatabaseSync.prototype, 'exec');
  await using store = sqliteJournal(join(folder.path, 'runs.sqlite'), { durability });
  await store.list();
  expect(executed.mock.calls.flat().filter((sql) => sql.includes('synchronous'))).toEqual([
    `pragma synchronous = ${synchronous}`,
  ]);
});

test('a list of very many runs lets others work meanwhile, and shows one state of the database', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'first');
  const database = new DatabaseSync(path);
  const runs = new RunTables(database, path);
  const [tallied] = (await store.list?.()) ?? [];
  if (tallied === undefined) throw new Error('there is no run');
  database.exec('begin');
  for (let index = 0; index < 8000; index++) {
    const one = { ...tallied, runId: `run-${index}`, ended: true, waiting: false, due: 0 };
    const own = runs.begin({ runId: one.runId, writer: 'writer' }, one);
    runs.append(own, { lines: [], from: 1, tallied: one, history: null });
    runs.release(own);
  }
  database.exec('commit');
  let over = false;
  const listing = Promise.resolve(store.list?.()).finally(() => void (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  await answered(store, 'later');
  expect(await listing).toHaveLength(8001);
  expect(await store.list?.()).toHaveLength(8002);
});

test("durability must be 'process' or 'power'", () => {
  // @ts-expect-error -- as a program without types would
  expect(() => sqliteJournal('runs.sqlite', { durability: 'none' })).toThrow(/option durability/);
});

test('where the runtime has no SQLite, a run says so and makes no file', async () => {
  await using folder = await temporaryFolder();
  const { getBuiltinModule } = process;
  const spied = vi
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation((name: string) => (name === 'node:sqlite' ? undefined : getBuiltinModule(name)));
  const agent = createAgent({
    model: scriptedModel([]),
    silent: true,
    journal: sqliteJournal(join(folder.path, 'a/runs.sqlite')),
  });
  const result = await agent.run('Hello');
  spied.mockRestore();
  expect(result).toMatchObject({ status: 'failed', error: { code: 'sqlite-missing' } });
  expect(readdirSync(folder.path)).toEqual([]);
});

test.each([
  ['cannot be written', "select raise(fail, 'the disk is full')", 'ended', { message: 'the disk is full' }],
  ['is lost meanwhile', "update progress set writer = 'another' where run = new.run", 'writer', { code: 'run-lost' }],
])('a run whose repair %s stays as it was, and is repaired later', async (_, sql, column, error) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const [store, other] = [sqliteJournal(path), sqliteJournal(path)];
  await answered(store, 'run');
  using database = new DatabaseSync(path);
  database.exec("update lines set line = 'damaged' where n = 3");
  const kept = () => database.prepare('select n, line from lines').all();
  const before = kept();
  const when = `update of ${column} on progress when new.writer is not null`;
  database.exec(`create trigger odd after ${when} begin ${sql}; end`);
  await expect(store.repair?.('run')).rejects.toMatchObject(error);
  expect(kept()).toEqual(before);
  database.exec("drop trigger odd; update progress set writer = null where writer = 'another'");
  expect(await other.repair?.('run')).toMatchObject({ kept: 2 });
});

test('what of a run cannot be written leaves nothing behind, and costs the runs beside it nothing', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  await using store = sqliteJournal(path);
  await store.list();
  using database = new DatabaseSync(path);
  database.exec(
    "create trigger full before insert on lines when new.line like '%too much%' begin select raise(fail, 'full'); end",
  );
  const agentOf = (result: string) =>
    createAgent({
      tools: [fakeTool('look', [result])],
      model: scriptedModel([calls(['look']), 'Done.']),
      journal: store,
      silent: true,
    });
  const run = (runId: string, result: string) => agentOf(result).run('Go', { runId });
  const ended = await Promise.all([run('a', 'some'), run('b', 'too much'), run('c', 'some')]);
  expect(ended.map(({ status }) => status)).toEqual(['answered', 'failed', 'answered']);
  expect((await store.read('b'))?.lines.filter(({ t }) => t === 'end')).toEqual([]);
  expect((await store.list()).map(({ runId, state }) => `${runId} ${state}`).toSorted()).toEqual([
    'a ended',
    'b interrupted',
    'c ended',
  ]);
  database.exec('drop trigger full');
  expect((await agentOf('some').resume('b')).status).toBe('answered');
});

test('runs give signs of life while they are written, also those after the first, and none when they have ended', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await using store = sqliteJournal(path);
  await store.list();
  const timers = vi.getTimerCount();
  using database = new DatabaseSync(path);
  const beatOf = (runId: string) =>
    database.prepare('select beat from runs join progress on run = id where run_id = ?').get(runId)?.['beat'];
  for (const runId of ['first', 'second']) {
    const { run } = await waitingRun(store, runId);
    for (let n = 0; n < 3; n += 1) {
      vi.advanceTimersByTime(10_000);
      await poll(() => beatOf(runId)).toBe(Date.now());
    }
    await run.cancel();
    await run;
    expect(vi.getTimerCount()).toBe(timers);
  }
  const { run } = await waitingRun(store, 'third');
  const live = vi.getTimerCount();
  await store.close();
  expect(vi.getTimerCount()).toBe(live - 1);
  await run.cancel().catch(() => undefined);
  await run;
  expect(vi.getTimerCount()).toBe(timers);
});
