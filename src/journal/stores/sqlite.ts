import { optionsOf } from '../../json/known-options.ts';
import { type LineWriter, lineWriter } from '../format/blobs.ts';
import { wholePart } from '../format/cut-recording.ts';
import { createHistories, type StoredPart } from '../format/histories.ts';
import type { RunRecord } from '../format/record.ts';
import { checkQuery, runTally, type Tallied, type Tally } from '../format/tally.ts';
import { liveJournal } from '../run/live-journal.ts';
import type { JournalStore, Sink } from '../run/run-journal.ts';
import { secretFiles } from './secret-files.ts';
import { inTransaction, openDatabase, openToRead, patientlyLater } from './sqlite-database.ts';
import { readStored, tallyOf, tooShort } from './sqlite-rows.ts';
import { type OwnedRun, type RunWriter, type SqliteRuns, sqliteRuns } from './sqlite-runs.ts';
import { BEAT_MS, newWriter } from './writer.ts';
import type { DatabaseSync } from 'node:sqlite';

/** How durably {@link sqliteJournal} writes. */
export interface SqliteJournalOptions {
  /** `process` (default): what is written survives a crash of the process. `power`: also one of the machine. */
  readonly durability?: 'process' | 'power';
}

interface Connection {
  readonly runs: SqliteRuns;
  /** Writes in the next transaction, together with what other runs want to write. */
  readonly write: (work: () => void) => Promise<void>;
}

/** How far a run is that is written. */
interface Begun {
  readonly tally: Tally;
  readonly write: LineWriter;
  readonly written: number;
  /** Where the run's history goes, once the first line was written. */
  readonly placed: () => StoredPart | null;
}

const checkOptions = optionsOf<SqliteJournalOptions>('sqliteJournal', 'docs/recording.md', { durability: true });

/**
 * Keeps many runs in one SQLite database: made to be listed and searched, and written by several processes at once. What
 * the runs of a process write at the same time is committed together. The file is made, and `node:sqlite` loaded, when it
 * is first used. Secrets of runs that go on are kept beside it, in the folder `<path>-secrets`.
 *
 * @example createAgent({ journal: sqliteJournal('.signalbox/runs.sqlite') })
 */
export function sqliteJournal(path: string, options: SqliteJournalOptions = {}): JournalStore {
  checkOptions(options);
  const { durability = 'process' } = options;
  if (durability !== 'process' && durability !== 'power')
    throw new TypeError("sqliteJournal: the option durability must be 'process' or 'power'.");
  const vaults = secretFiles(`${path}-secrets`);
  const nameOf = encodeURIComponent;
  const histories = createHistories();
  const live = new Set<() => OwnedRun>();
  let opened: Connection | null = null;
  let beats: NodeJS.Timeout | undefined;

  const connect = (): Connection => {
    if (opened !== null) return opened;
    const database = openDatabase(path, durability);
    const runs = sqliteRuns(database, path);
    opened = { runs, write: sqliteQueue(database) };
    vaults.sweep((name) => runs.isOver(decodeURIComponent(name)));
    return opened;
  };
  const beat = ({ runs, write }: Connection): void => {
    // A sign of life that could not be given is given the next time.
    void write(() => live.forEach((owned) => runs.beat(owned()))).catch(() => undefined);
  };
  /** Does something in the next transaction, and gives what came of it. */
  const done = async <T>(work: (runs: SqliteRuns) => T): Promise<T> => {
    const { runs, write } = connect();
    const results: T[] = [];
    await write(() => void results.splice(0, 1, work(runs)));
    const [result] = results;
    if (result === undefined) throw new Error('The database gave no result.');
    return result;
  };
  /** Begins a run in the transaction that writes its first lines, or the one before: opening one waits for nobody. */
  const beginning = (by: RunWriter, tallied: Tallied): (() => OwnedRun) => {
    const { runs, write } = connect();
    let begun = (): OwnedRun => {
      throw new Error(`Run ${by.runId} has not begun.`);
    };
    const begin = (): void => {
      try {
        const run = runs.begin(by, tallied);
        begun = () => run;
      } catch (error) {
        begun = () => {
          throw error;
        };
        throw error;
      }
    };
    // Whoever writes the first line is told why it could not.
    void write(begin).catch(() => undefined);
    return () => begun();
  };
  const sinkOf = (owned: () => OwnedRun, runId: string, { tally, write, written, placed }: Begun): Sink => {
    const connection = connect();
    let next = written + 1;
    live.add(owned);
    beats ??= setInterval(() => beat(connection), BEAT_MS).unref();
    let ended = false;

    const close = async (): Promise<void> => {
      if (!live.delete(owned)) return;
      if (live.size === 0) {
        clearInterval(beats);
        beats = undefined;
      }
      if (ended) vaults.remove(nameOf(runId));
      await connection.write(() => connection.runs.release(owned()));
    };
    return {
      append: async (records) => {
        const lines = records.flatMap((record) => write(record).trimEnd().split('\n'));
        for (const record of records) tally.add(record);
        const more = { lines, from: next, tallied: tally.read(), history: next === 1 ? placed() : null };
        next += lines.length;
        try {
          await connection.write(() => connection.runs.append(owned(), more));
        } catch (error) {
          if (more.history !== null) histories.forget(more.history.part.$history);
          await close().catch(() => undefined);
          throw error;
        }
        ended ||= more.tallied.ended;
      },
      close,
    };
  };
  const orRelease = async <T>(run: OwnedRun, read: () => T): Promise<T> => {
    try {
      return read();
    } catch (error) {
      const { runs, write } = connect();
      await write(() => runs.release(run));
      throw error;
    }
  };
  /** Finds a place for the history of a new run; what another process has removed is not gone on with. */
  const placing = () => {
    let stored: StoredPart | null = null;
    const headAs = (head: RunRecord): object => {
      stored = histories.place(head.runId, head.history);
      if (stored === null) return head;
      const { part, added } = stored;
      if (connect().runs.lengthOf(part.$history) === part.to - added.length) return { ...head, history: part };
      histories.forget(part.$history);
      return headAs(head);
    };
    return { headAs, placed: () => stored };
  };
  const writerOf = (runId: string): RunWriter => ({ runId, writer: JSON.stringify(newWriter()) });

  return {
    open: (head) => {
      const tally = runTally(head.head);
      const { runId } = head.head;
      const owned = beginning(writerOf(runId), tally.read());
      const { headAs, placed } = placing();
      const write = lineWriter(undefined, 0, headAs);
      return liveJournal(head, sinkOf(owned, runId, { tally, write, written: 0, placed }));
    },
    take: async (runId) => {
      const claimed = await done((runs) => runs.claim(writerOf(runId)));
      if (claimed === null) return null;
      const { run, stored } = claimed;
      const { lines } = stored;
      const recording = await orRelease(run, () => readStored(stored, runId));
      const tally = tallyOf(recording);
      const write = lineWriter(recording.payloads, recording.sums ?? null);
      return { recording, sink: sinkOf(() => run, runId, { tally, write, written: lines.length, placed: () => null }) };
    },
    read: async (runId) => {
      const stored = connect().runs.lines(runId);
      return stored === null ? null : readStored(stored, runId);
    },
    repair: async (runId) => {
      const { runs, write } = connect();
      const claimed = await done(() => runs.claim(writerOf(runId)));
      if (claimed === null) return null;
      const { run, stored } = claimed;
      const { recording, repaired } = await orRelease(run, () => wholePart(stored.lines));
      const isWhole = recording.sums === undefined || recording.sums >= stored.records;
      await write(() => {
        runs.cut(run, repaired.kept + 1, tallyOf(recording).read());
        runs.release(run);
      });
      return isWhole ? repaired : { ...repaired, damage: repaired.damage ?? tooShort(stored).message };
    },
    list: async (query = {}) => {
      checkQuery(query);
      connect();
      using reading = openToRead(path);
      return await sqliteRuns(reading, path).list(query, (what) => process.emitWarning(what));
    },
    remove: async (runId) => {
      const removed = await done((runs) => runs.remove(runId));
      if (removed) vaults.remove(nameOf(runId));
      return removed;
    },
    secrets: {
      keep: (runId, secrets) => vaults.keep(nameOf(runId), secrets),
      read: (runId) => vaults.read(nameOf(runId)),
    },
  };
}

/** What is to be done in the next transaction; throws when it cannot be. */
type Work = () => void;

interface Waiting {
  readonly work: Work;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Collects what all runs want to write and writes it in one transaction: everything that was asked for in one turn of the
 * event loop, or while the one before was committed. Resolves when it is committed. Work that throws fails alone.
 */
export function sqliteQueue(database: DatabaseSync): (work: Work) => Promise<void> {
  let waiting: Waiting[] = [];
  let scheduled = false;

  const commit = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    const failures = new Map<Waiting, unknown>();
    try {
      await patientlyLater(() => {
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
    if (waiting.length > 0) setImmediate(start);
    else scheduled = false;
  };
  const start = (): void => void commit();

  return (work) =>
    new Promise((done, failed) => {
      waiting.push({ work, done, failed });
      if (scheduled) return;
      scheduled = true;
      setImmediate(start);
    });

  /** What a failed piece of work has done already is taken back; the others' stays. */
  function attempt(one: Waiting, failures: Map<Waiting, unknown>): void {
    database.exec('savepoint one');
    try {
      one.work();
    } catch (error) {
      failures.set(one, error);
      database.exec('rollback to one');
    }
    database.exec('release one');
  }
}
