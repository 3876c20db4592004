import { JournalError } from '../format/journal-error.ts';
import { optionsOf, wrongOption } from '../../json/known-options.ts';
import { type LineWriter, lineWriter } from '../format/blobs.ts';
import { type RepairedRun, wholePart } from '../format/cut-recording.ts';
import { createHistories, type StoredPart } from '../format/histories.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import { type Recording, readStored, tooShort } from '../format/recording.ts';
import { checkQuery, LeftOut, runTally } from '../format/tally.ts';
import type { RunQuery, RunSummary, Tallied, Tally } from '../format/tally.ts';
import { liveJournal } from '../run/live-journal.ts';
import type { RunHead, RunJournal, RunSecrets, Sink, TakenRun, WholeStore } from '../run/run-journal.ts';
import { FileRequests } from './request-files.ts';
import { type SecretFiles, secretFiles } from './secret-files.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { checkDatabasePath, openToRead } from './sqlite-database.ts';
import { unbegun } from './sqlite-rows.ts';
import { type OwnedRun, type RunWriter, RunTables } from './sqlite-runs.ts';
import { newWriter } from './writer.ts';

/** How durably {@link sqliteJournal} writes. */
export interface SqliteJournalOptions {
  /** `process` (default): what is written survives a crash of the process. `power`: also one of the machine. */
  readonly durability?: 'process' | 'power' | undefined;
}

/** A store of runs in SQLite. */
export interface SqliteJournal extends WholeStore {
  /**
   * Closes the database, once all that was to be written has been; the next use opens it again. Live runs must have ended
   * before: `await agent.close()`. Without it, the database stays open until the process ends.
   */
  close(): Promise<void>;
  /** The same, at the end of the block of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
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
 * Keeps many runs in one SQLite database: made to be listed and searched, and written by several processes at once. What the runs
 * of a process write at the same time is committed together. The file is made, and `node:sqlite` loaded, when it is first used.
 * Secrets of live runs are kept beside it, in the folder `<path>-secrets`, requests of other processes in `<path>-requests`.
 *
 * @example createAgent({ journal: sqliteJournal('.signalbox/runs.sqlite') })
 */
export function sqliteJournal(path: string, options: SqliteJournalOptions = {}): SqliteJournal {
  checkOptions(options);
  checkDatabasePath(path);
  const { durability = 'process' } = options;
  if (durability !== 'process' && durability !== 'power')
    throw wrongOption("sqliteJournal: the option durability must be 'process' or 'power'.");
  const store = new SqliteStore(path, durability);
  // Own properties, for callers that spread the store or detach its methods.
  return {
    open: (run) => store.open(run),
    take: (runId) => store.take(runId),
    read: (runId) => store.read(runId),
    repair: (runId) => store.repair(runId),
    revision: (runId) => store.revision(runId),
    list: (query) => store.list(query),
    remove: (runId) => store.remove(runId),
    claim: (name) => store.claim(name),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    secrets: store.secrets,
    requests: new FileRequests(`${path}-requests`),
  };
}

class SqliteStore {
  readonly secrets: RunSecrets;
  readonly #path: string;
  readonly #durability: 'process' | 'power';
  readonly #vaults: SecretFiles;
  readonly #histories = createHistories();
  #opened: SqliteConnection | null = null;
  #closed: Promise<void> | undefined;

  constructor(path: string, durability: 'process' | 'power') {
    this.#path = path;
    this.#durability = durability;
    this.#vaults = secretFiles(`${path}-secrets`);
    this.secrets = this.#vaults;
  }

  open(run: RunHead): RunJournal {
    const { head } = run;
    const tally = runTally(head);
    const owned = this.#beginning(writerOf(head.runId), tally.read());
    const { headAs, placed } = this.#placing();
    const write = lineWriter(undefined, 0, headAs);
    return liveJournal(run, this.#sinkOf(owned, head.runId, { tally, write, written: 0, placed }));
  }

  async take(runId: string): Promise<TakenRun | null> {
    const claimed = await this.#done((runs) => runs.claim(writerOf(runId)));
    if (claimed === null) return null;
    const { run, stored } = claimed;
    const recording = await this.#orRelease(run, () => readStored(stored, runId, Infinity));
    const begun: Begun = {
      tally: runTally(recording.head, recording.lines),
      write: lineWriter(recording.payloads, recording.sums ?? null),
      written: stored.lines.length,
      placed: () => null,
    };
    return { recording, sink: this.#sinkOf(() => run, runId, begun) };
  }

  async read(runId: string): Promise<Recording | null> {
    const stored = this.#connect().runs.lines(runId);
    return stored === null ? null : readStored(stored, runId, Infinity);
  }

  async revision(runId: string): Promise<string | null> {
    return this.#connect().runs.revision(runId);
  }

  async repair(runId: string): Promise<RepairedRun | null> {
    const claimed = await this.#done((runs) => runs.claim(writerOf(runId)));
    if (claimed === null) return null;
    const { run, stored } = claimed;
    return this.#orRelease(run, async () => {
      const { recording, repaired } = wholePart(stored.lines);
      const isWhole = recording.sums === undefined || recording.sums >= stored.records;
      await this.#done((runs) => {
        runs.cut(run, repaired.kept + 1, runTally(recording.head, recording.lines).read());
        return runs.release(run);
      });
      return isWhole ? repaired : { ...repaired, damage: repaired.damage ?? tooShort(stored).message };
    });
  }

  async list(query: RunQuery = {}): Promise<readonly RunSummary[]> {
    checkQuery(query);
    this.#connect();
    using reading = openToRead(this.#path);
    using left = new LeftOut();
    return await new RunTables(reading, this.#path).list(query, (what) => left.add(what));
  }

  async remove(runId: string): Promise<boolean> {
    const removed = await this.#done((runs) => runs.remove(runId));
    if (removed) this.#vaults.remove(runId);
    return removed;
  }

  /** A name is the row of a run that has not begun: no list shows it, and its writer gives signs of life like any other. */
  async claim(name: string): Promise<(() => Promise<void>) | null> {
    try {
      const run = await this.#done((runs) => runs.begin(writerOf(`${name} (claimed)`), unbegun(`${name} (claimed)`)));
      const owned = (): OwnedRun => run;
      // Not that from before: the store may have been closed since.
      const connection = this.#connect();
      connection.join(owned);
      return async () => {
        if (connection.leave(owned)) await connection.write(() => connection.runs.drop(run), true);
      };
    } catch (error) {
      if (error instanceof JournalError && error.code === 'run-locked') return null;
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    // Whoever closes it again meanwhile waits, too.
    if (opened !== null) this.#closed = opened.close();
    await this.#closed;
  }

  #connect(): SqliteConnection {
    if (this.#opened !== null) return this.#opened;
    const { runs } = (this.#opened = new SqliteConnection(this.#path, this.#durability));
    this.#vaults.sweep((name) => runs.isOver(name));
    return this.#opened;
  }

  /** Begins a run in the transaction that writes its first lines, or the one before: opening one does not wait. */
  #beginning(by: RunWriter, tallied: Tallied): () => OwnedRun {
    const { runs, write } = this.#connect();
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
    // The writer of the first line gets the reason.
    void write(begin).catch(() => undefined);
    return () => begun();
  }

  /** Finds a place for the history of a new run; one that another process has removed is left alone. */
  #placing() {
    let stored: StoredPart | null = null;
    const headAs = (head: RunRecord): object => {
      stored = this.#histories.place(head.runId, head.history);
      if (stored === null) return head;
      const { part, added } = stored;
      if (this.#connect().runs.lengthOf(part.$history) === part.to - added.length) return { ...head, history: part };
      this.#histories.forget(part.$history);
      return headAs(head);
    };
    return { headAs, placed: () => stored };
  }

  #sinkOf(owned: () => OwnedRun, runId: string, { written, placed, ...begun }: Begun): Sink {
    const connection = this.#connect();
    connection.join(owned);
    let { tally, write } = begun;
    let next = written + 1;
    let ended = false;
    const close = async (): Promise<void> => {
      if (!connection.leave(owned)) return;
      if (ended) this.#vaults.remove(runId);
      await connection.release(owned);
    };
    const append = async (records: readonly RecordLine[], isAnew = false): Promise<void> => {
      const lines = records.flatMap((record) => write(record).trimEnd().split('\n'));
      for (const record of records) tally.add(record);
      const more = { lines, from: next, tallied: tally.read(), history: next === 1 ? placed() : null };
      next += lines.length;
      try {
        await connection.write(() => connection.runs.append(owned(), more, isAnew));
      } catch (error) {
        await close().catch(() => undefined);
        throw error;
      }
      ended ||= more.tallied.ended;
    };
    const replace = (records: readonly RecordLine[]): Promise<void> => {
      const [head] = records;
      if (head?.t !== 'run') throw new TypeError('A recording begins with a run record.');
      [tally, write, next] = [runTally(head), lineWriter(undefined, 0), 1];
      return append(records, true);
    };
    return { append: (records) => append(records), replace, close };
  }

  /** Does something in the next transaction, and gives its result. */
  async #done<T>(work: (runs: RunTables) => T): Promise<T> {
    const { runs, write } = this.#connect();
    let done: { readonly result: T } | undefined;
    await write(() => (done = { result: work(runs) }));
    if (done === undefined) throw new Error('The database gave no result.');
    return done.result;
  }

  async #orRelease<T>(run: OwnedRun, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { runs, write } = this.#connect();
      await write(() => runs.release(run), true).catch(() => undefined);
      throw error;
    }
  }
}

const writerOf = (runId: string): RunWriter => ({ runId, writer: JSON.stringify(newWriter()) });
