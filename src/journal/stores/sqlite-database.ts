import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { dirname } from 'node:path';
import { checkPlace, wrongOption } from '../../json/known-options.ts';
import { makeFolder } from '../../security/folders.ts';
import { JournalError } from '../format/journal-error.ts';
import { CONVERSATION_TABLES, UNENDED_INDEX, addConversations, countConversations } from './sqlite-indexes.ts';
import { isFile, opened } from './run-files.ts';
import { addSums } from './sqlite-rows.ts';
import { isError } from '../../json/to-json.ts';

// The platform's own: under the fake timers of a test runner, runs are written all the same.
const { setImmediate } = globalThis;

/** The version of the tables. A newer one is refused. */
const VERSION = 5;

/** What changes with every record is apart from what may be long: SQLite writes whole rows. */
const TABLES = `
  create table if not exists runs (
    id integer primary key,
    run_id text not null unique,
    agent text not null,
    at text not null,
    input text not null,
    metadata text not null,
    conversation text,
    head_sum text not null,
    history text
  ) strict;
  create index if not exists runs_by_time on runs (at desc, run_id desc);
  create table if not exists progress (
    run integer primary key references runs (id) on delete cascade,
    ended integer not null,
    waiting integer not null,
    status text,
    reason text,
    error_code text,
    tools text not null,
    steps integer not null,
    records integer not null,
    due integer,
    writer text,
    beat integer not null,
    sum text not null
  ) strict;
  create table if not exists lines (
    run integer not null references runs (id) on delete cascade,
    n integer not null,
    line text not null,
    primary key (run, n)
  ) strict;
  create index if not exists runs_by_history on runs (history) where history is not null;
  create table if not exists histories (
    id text not null,
    n integer not null,
    line text not null,
    primary key (id, n)
  ) strict, without rowid;
  ${UNENDED_INDEX};
  ${CONVERSATION_TABLES}
  pragma user_version = ${VERSION};
`;

/** SQLite itself waits this long for another process; callers that may wait longer try again. */
const BUSY_MS = 25;

/** How long to keep trying, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Refuses what SQLite does not take for the path of a file: each connection would have a database of its own. */
export function checkDatabasePath(path: string): void {
  const must = 'sqliteJournal: the path must be that of a file';
  checkPlace(must, path);
  if (/^(?:file:|:memory:)/.test(path))
    throw wrongOption(`${must}, and is '${path}'. memoryJournal() keeps runs in memory.`);
}

/** Opens the database at `path`, which is made when it is not there, readable by its owner only. */
export function openDatabase(path: string, durability: 'process' | 'power'): DatabaseSync {
  const Database = databaseClass(path);
  opened(path, null, () => {
    makeFolder(dirname(path));
    // A file that is closed loses all locks of this process on it, also those of another connection.
    if (isFile(path)) accessSync(path, constants.W_OK);
    else closeSync(openSync(path, 'a', 0o600));
  });
  const database = new Database(path, { timeout: BUSY_MS });
  try {
    patiently(database, () => {
      database.exec('pragma journal_mode = wal');
      database.exec(`pragma synchronous = ${durability === 'power' ? 'full' : 'normal'}`);
      const versionOf = () => Number(database.prepare('pragma user_version').get()?.['user_version']);
      if (versionOf() > VERSION) throw new JournalError('store-newer', null, path);
      if (versionOf() < VERSION)
        inTransaction(database, () => {
          // Another process may have done it meanwhile.
          const version = versionOf();
          if (version >= VERSION) return;
          if (version === 1 || version === 2) database.exec('alter table progress add column due integer');
          if (version === 1) addSums(database);
          if (version > 0 && version < 4) addConversations(database);
          database.exec(TABLES);
          if (version > 0 && version < 4) countConversations(database);
        });
    });
  } catch (error) {
    database.close();
    // What SQLite says, such as that it is not a database, does not name the file.
    throw error instanceof JournalError ? error : new JournalError('store-unwritable', null, path, error);
  }
  closeAtExit(database);
  return database;
}

/**
 * A check that throws once a database was closed, or its file removed or replaced: SQLite writes on, and all of it is lost.
 */
export function remainsAt(path: string, database: DatabaseSync): () => void {
  const { ino } = statSync(path);
  return () => {
    if (!database.isOpen) throw new JournalError('store-unreachable', null, path, new Error('it was closed'));
    if (statSync(path, { throwIfNoEntry: false })?.ino !== ino) throw new JournalError('run-lost', null, path);
  };
}

/** Loaded here and not imported: programs without a database should not pay for one. */
function databaseClass(path: string): typeof DatabaseSync {
  const sqlite: { readonly DatabaseSync: typeof DatabaseSync } | undefined = process.getBuiltinModule('node:sqlite');
  if (sqlite === undefined) throw new JournalError('sqlite-missing', null, path);
  return sqlite.DatabaseSync;
}

/** Another connection to a database that is there, to read in while others write. Close it soon. */
export function openToRead(path: string): DatabaseSync {
  const Database = databaseClass(path);
  return new Database(path, { timeout: BUSY_MS, readOnly: true });
}

/** Does something in one transaction: all of it, or, when it throws, nothing. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('begin immediate');
  try {
    const result = work();
    database.exec('commit');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Tries again while another process has the database. It blocks the thread: for what cannot wait otherwise. */
export function patiently<T>(database: DatabaseSync, work: () => T): T {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      throwUnlessBusy(error, until, database);
    }
  }
}

/** What is to be done in the next transaction; throws when it cannot be. */
type Work = () => void;

interface Waiting {
  readonly work: Work;
  readonly isOwed: boolean;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** What is owed is tried again after this time at the latest, in milliseconds. */
const OWED_MS = 5_000;

/** What writes to a database, until it is closed. */
export interface SqliteQueue {
  write(work: Work, isOwed?: boolean): Promise<void>;
  /** Closes the database behind what was requested before; what comes later fails. */
  close(): Promise<void>;
}

/**
 * Collects the writes of all runs into one transaction: everything that was requested in one turn of the event loop, or
 * while the previous one was committed. Resolves when it is committed. Work that throws fails alone. What is owed is
 * done again with each later transaction until it is committed; that it failed is reported once. `check` throws where
 * nothing may be written.
 */
export function sqliteQueue(database: DatabaseSync, check: () => void): SqliteQueue {
  let waiting: Waiting[] = [];
  let owed: readonly Waiting[] = [];
  let scheduled = false;
  let again: NodeJS.Timeout | undefined;

  const commit = async (): Promise<void> => {
    const batch = [...owed, ...waiting];
    waiting = [];
    const failures = new Map<Waiting, unknown>();
    try {
      await patientlyLater(database, () => {
        check();
        failures.clear();
        inTransaction(database, () => {
          for (const one of batch) attempt(one, failures);
        });
      });
    } catch (error) {
      for (const one of batch) failures.set(one, error);
    }
    for (const one of batch) {
      if (failures.has(one)) one.failed(failures.get(one));
      else one.done();
    }
    owed = batch.filter((one) => one.isOwed && failures.has(one));
    if (owed.length > 0) again ??= setTimeout(retry, OWED_MS).unref();
    if (waiting.length > 0) setImmediate(start);
    else scheduled = false;
  };
  const start = (): void => void commit();
  const begin = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(start);
  };
  const retry = (): void => {
    again = undefined;
    if (owed.length > 0) begin();
  };

  const write = (work: Work, isOwed = false): Promise<void> =>
    new Promise((done, failed) => {
      waiting.push({ work, isOwed, done, failed });
      begin();
    });
  const close = async (): Promise<void> => {
    await write(() => undefined).catch(() => undefined);
    clearTimeout(again);
    owed = [];
    closeNow(database);
  };
  return { write, close };

  /** What a failed piece of work has done already is taken back; the others' stays. */
  function attempt(one: Waiting, failures: Map<Waiting, unknown>): void {
    database.exec('savepoint one');
    try {
      one.work();
    } catch (error) {
      // Without room on the disk, SQLite itself takes back all of the transaction.
      if (!database.isTransaction) throw error;
      failures.set(one, error);
      database.exec('rollback to one');
    }
    database.exec('release one');
  }
}

/** Tries again while another process has the database, and lets others work in between. */
async function patientlyLater<T>(database: DatabaseSync, work: () => T): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      throwUnlessBusy(error, until, database);
    }
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4));
  }
}

/** What may be tried again, SQLITE_BUSY with its extended codes, is not thrown. A database that others keep is not a broken one. */
function throwUnlessBusy(error: unknown, until: number, database: DatabaseSync): void {
  const code: unknown = isError(error) ? Reflect.get(error, 'errcode') : undefined;
  if (typeof code !== 'number' || (code & 0xff) !== 5) throw error;
  if (performance.now() > until) throw new JournalError('store-unreachable', null, database.location() ?? '', error);
}

const open = new Set<DatabaseSync>();

function closeAll(): void {
  for (const database of open) database.close();
}

/** A database that is closed leaves one file; one that is not, two more with what is not in the first yet. */
function closeAtExit(database: DatabaseSync): void {
  if (open.size === 0) process.once('exit', closeAll);
  open.add(database);
}

function closeNow(database: DatabaseSync): void {
  database.close();
  open.delete(database);
  if (open.size === 0) process.off('exit', closeAll);
}
