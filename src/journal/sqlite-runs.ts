/**
 * Owns: the statements on the tables of runs and their lines, and that one writer at a time has a run.
 *
 * I1 Whoever writes has put itself into the row in a transaction; every write names it and fails when it is not there.
 * I2 The summary in the row and the lines are written in one transaction, so that they never disagree.
 */
import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from './journal-error.ts';
import { RecordingError } from './recording.ts';
import { type Row, conditionOf, isWritten, progressOf, summaryOfRow, textOf } from './sqlite-rows.ts';
import type { RunQuery, RunSummary } from './run-journal.ts';
import { type Tallied, hasMetadata } from './tally.ts';

/** Who wants to write a run, as it stands in the row. */
export interface RunWriter {
  readonly runId: string;
  readonly writer: string;
}

/** A run that is written. */
export interface OwnedRun extends RunWriter {
  /** The number of its row. */
  readonly id: number;
}

/** The lines of a run, and how many records its row says that they are. */
export interface StoredLines {
  readonly lines: readonly string[];
  readonly records: number;
}

/** What can be done with the runs of a database. */
export interface SqliteRuns {
  /** Within a transaction: puts a new run there. Throws a `JournalError`: `run-exists`, `run-locked`. */
  begin(by: RunWriter, tallied: Tallied): OwnedRun;
  /** Within a transaction: makes the writer that of a run which nobody writes, and gives its lines; null when there is none. */
  claim(by: RunWriter): { readonly run: OwnedRun; readonly stored: StoredLines } | null;
  lines(runId: string): StoredLines | null;
  /** Within a transaction: forgets the lines from a number on. */
  cut(run: OwnedRun, from: number, tallied: Tallied): void;
  /** Whether a run has ended, or is not there, and nobody writes it. */
  isOver(runId: string): boolean;
  list(query: RunQuery): readonly RunSummary[];
  /** Within a transaction. Throws a `JournalError` (`run-locked`) while somebody writes it. */
  remove(runId: string): boolean;
  /** Within a transaction: adds lines, the first of which has the number `from`. Throws a `JournalError` (`run-lost`). */
  append(run: OwnedRun, lines: readonly string[], from: number, tallied: Tallied): void;
  /** Within a transaction. */
  release(run: OwnedRun): void;
  /** Within a transaction: a sign of life of a writer. */
  beat(run: OwnedRun): void;
}

/** The runs of a database, which is at `path`. */
export function sqliteRuns(database: DatabaseSync, path: string): SqliteRuns {
  const find = database.prepare(`${ALL} where run_id = ?`);
  const insert = database.prepare('insert into runs (run_id, agent, at, input, metadata) values (?, ?, ?, ?, ?)');
  const start = database.prepare(
    `insert into progress (run, ended, waiting, status, reason, error_code, tools, steps, records, writer, beat)
     values (:run, :ended, :waiting, :status, :reason, :error_code, :tools, :steps, :records, :writer, :beat)`,
  );
  const update = database.prepare(
    `update progress set ended = :ended, waiting = :waiting, status = :status, reason = :reason, error_code = :error_code,
       tools = :tools, steps = :steps, records = :records, beat = :beat where run = :run and writer = :writer`,
  );
  const inTable = database.prepare('select 1 from runs not indexed where run_id = ?');
  const inIndex = database.prepare('select 1 from runs indexed by sqlite_autoindex_runs_1 where run_id = ?');
  const drain = database.prepare('delete from lines where run = ? and n >= ?');
  const own = database.prepare('update progress set writer = ?, beat = ? where run = ?');
  const disown = database.prepare('update progress set writer = null where run = ? and writer = ?');
  const sign = database.prepare('update progress set beat = ? where run = ? and writer = ?');
  const drop = database.prepare('delete from runs where run_id = ?');
  const add = database.prepare('insert into lines (run, n, line) values (?, ?, ?)');
  const read = database.prepare('select n, line from lines where run = ? order by n');

  /** The row of a run that nobody writes. */
  const freeRow = (runId: string): Row | undefined => {
    const row = find.get(runId);
    if (row !== undefined && isWritten(row)) throw new JournalError('run-locked', runId, path);
    return row;
  };
  /** The row of a run of which something is recorded. That one is not there is believed when all places agree on it. */
  const begunRow = (runId: string, row: Row | undefined): Row | null => {
    if (row !== undefined && row['records'] !== 0) return row;
    const isKnown = row === undefined ? (inTable.get(runId) ?? inIndex.get(runId)) : read.get(Number(row['id']));
    if (isKnown === undefined) return null;
    throw new RecordingError(1, `of ${runId} is lost in ${path}, which knows that run. The database is damaged.`);
  };
  const linesOf = (row: Row): StoredLines => {
    const found = read.all(Number(row['id']));
    const gap = found.findIndex(({ n }, index) => n !== index + 1);
    // What is behind a gap is worth nothing, and its absence is noticed by the number of records.
    const lines = found.slice(0, gap === -1 ? found.length : gap).map((line) => textOf(line['line']));
    return { lines, records: Number(row['records']) };
  };

  return {
    begin: (by, tallied) => {
      const { runId, writer } = by;
      const row = freeRow(runId);
      // A row without a record is what a crash leaves of a run that had not begun.
      if (row !== undefined && row['records'] !== 0) throw new JournalError('run-exists', runId, path);
      drop.run(runId);
      const { agent, at, input, metadata } = tallied;
      const id = Number(insert.run(runId, agent, at, input, JSON.stringify(metadata)).lastInsertRowid);
      start.run({ ...progressOf(tallied), run: id, writer, beat: Date.now(), records: 0 });
      return { ...by, id };
    },
    claim: (by) => {
      const row = begunRow(by.runId, freeRow(by.runId));
      if (row === null) return null;
      const id = Number(row['id']);
      own.run(by.writer, Date.now(), id);
      return { run: { ...by, id }, stored: linesOf(row) };
    },
    lines: (runId) => {
      const row = begunRow(runId, find.get(runId));
      return row === null ? null : linesOf(row);
    },
    cut: ({ id, writer }, from, tallied) => {
      drain.run(id, from);
      update.run({ ...progressOf(tallied), run: id, writer, beat: Date.now() });
    },
    isOver: (runId) => {
      const row = find.get(runId);
      return row === undefined || (row['ended'] === 1 && !isWritten(row));
    },
    list: (query) => listed(database, query),
    remove: (runId) => freeRow(runId) !== undefined && drop.run(runId).changes === 1,
    append: ({ runId, id, writer }, more, from, tallied) => {
      const { changes } = update.run({ ...progressOf(tallied), run: id, writer, beat: Date.now() });
      if (changes !== 1) throw new JournalError('run-lost', runId, path);
      for (const [index, line] of more.entries()) add.run(id, from + index, line);
    },
    release: ({ id, writer }) => void disown.run(id, writer),
    beat: ({ id, writer }) => void sign.run(Date.now(), id, writer),
  };
}

const ALL = 'select * from runs join progress on progress.run = runs.id';

function listed(database: DatabaseSync, query: RunQuery): readonly RunSummary[] {
  const { where, values } = conditionOf(query);
  const rows = database.prepare(`${ALL} where ${where} order by at desc, run_id desc`);
  const found: RunSummary[] = [];
  for (const row of rows.iterate(...values)) {
    if (query.limit !== undefined && found.length >= query.limit) break;
    const summary = summaryOfRow(row);
    if ((query.state === undefined || summary.state === query.state) && hasMetadata(summary, query))
      found.push(summary);
  }
  return found;
}
