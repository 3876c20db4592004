/**
 * Owns: the statements on the tables of runs and their lines, and that one writer at a time has a run.
 *
 * I1 Whoever writes has put itself into the row in a transaction; every write names it and fails when it is not there.
 * I2 The summary in the row and the lines are written in one transaction, so that they never disagree.
 */
import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from './journal-error.ts';
import { type Row, columnsOf, conditionOf, isWritten, summaryOfRow, textOf } from './sqlite-rows.ts';
import type { RunQuery, RunSummary } from './run-journal.ts';
import { inTransaction, patiently } from './sqlite-database.ts';
import type { Tallied } from './tally.ts';

/** A run that somebody writes. */
export interface OwnedRun {
  readonly runId: string;
  /** Who, as it stands in the row. */
  readonly writer: string;
}

/** What can be done with the runs of a database. */
export interface SqliteRuns {
  /** Puts a new run there. Throws a `JournalError`: `run-exists`, `run-locked`. */
  begin(run: OwnedRun, tallied: Tallied): void;
  /** Makes the writer that of a run which nobody writes, and gives its lines; null when there is none. */
  claim(run: OwnedRun): readonly string[] | null;
  lines(runId: string): readonly string[];
  list(query: RunQuery): readonly RunSummary[];
  /** Throws a `JournalError` (`run-locked`) while somebody writes it. */
  remove(runId: string): boolean;
  /** Within a transaction: adds lines. Throws a `JournalError` (`run-lost`). */
  append(run: OwnedRun, lines: readonly string[], tallied: Tallied): void;
  /** Within a transaction. */
  release(run: OwnedRun): void;
  /** Within a transaction: a sign of life of a writer. */
  beat(run: OwnedRun): void;
}

/** The runs of a database, which is at `path`. */
export function sqliteRuns(database: DatabaseSync, path: string): SqliteRuns {
  const find = database.prepare('select * from runs where run_id = ?');
  const insert = database.prepare(
    `insert into runs (run_id, agent, at, input, metadata, ended, waiting, status, reason, error_code, tools, steps, records, writer, beat)
     values (:run_id, :agent, :at, :input, :metadata, :ended, :waiting, :status, :reason, :error_code, :tools, :steps, :records, :writer, :beat)`,
  );
  const update = database.prepare(
    `update runs set agent = :agent, at = :at, input = :input, metadata = :metadata, ended = :ended, waiting = :waiting,
       status = :status, reason = :reason, error_code = :error_code, tools = :tools, steps = :steps, records = :records, beat = :beat
     where run_id = :run_id and writer = :writer returning id`,
  );
  const own = database.prepare('update runs set writer = :writer, beat = :beat where run_id = :run_id');
  const disown = database.prepare('update runs set writer = null where run_id = ? and writer = ?');
  const sign = database.prepare('update runs set beat = ? where run_id = ? and writer = ?');
  const drop = database.prepare('delete from runs where run_id = ?');
  const add = database.prepare(
    'insert into lines (run, n, line) values (?, (select coalesce(max(n), 0) + 1 from lines where run = ?), ?)',
  );
  const read = database.prepare('select line from lines join runs on runs.id = run where run_id = ? order by n');

  /** The row of a run that nobody writes. */
  const freeRow = (runId: string): Row | undefined => {
    const row = find.get(runId);
    if (row !== undefined && isWritten(row)) throw new JournalError('run-locked', runId, path);
    return row;
  };
  const within = <T>(work: () => T): T => patiently(() => inTransaction(database, work));
  const lines = (runId: string): readonly string[] => read.all(runId).map((row) => textOf(row['line']));

  return {
    begin: ({ runId, writer }, tallied) =>
      within(() => {
        const row = freeRow(runId);
        // A row without a record is what a crash leaves of a run that had not begun.
        if (row !== undefined && row['records'] !== 0) throw new JournalError('run-exists', runId, path);
        drop.run(runId);
        insert.run({ ...columnsOf(tallied), run_id: runId, writer, beat: Date.now(), records: 0 });
      }),
    claim: ({ runId, writer }) =>
      within(() => {
        const row = freeRow(runId);
        if (row === undefined || row['records'] === 0) return null;
        own.run({ run_id: runId, writer, beat: Date.now() });
        return lines(runId);
      }),
    lines,
    list: (query) => listed(database, query),
    remove: (runId) => within(() => freeRow(runId) !== undefined && drop.run(runId).changes === 1),
    append: ({ runId, writer }, more, tallied) => {
      const row = update.get({ ...columnsOf(tallied), run_id: runId, writer, beat: Date.now() });
      const id = row?.['id'];
      if (typeof id !== 'number') throw new JournalError('run-lost', runId, path);
      for (const line of more) add.run(id, id, line);
    },
    release: ({ runId, writer }) => void disown.run(runId, writer),
    beat: ({ runId, writer }) => void sign.run(Date.now(), runId, writer),
  };
}

function listed(database: DatabaseSync, query: RunQuery): readonly RunSummary[] {
  const { where, values } = conditionOf(query);
  const rows = database.prepare(`select * from runs where ${where} order by at desc, run_id desc`);
  const found: RunSummary[] = [];
  for (const row of rows.iterate(...values)) {
    if (query.limit !== undefined && found.length >= query.limit) break;
    const summary = summaryOfRow(row);
    if (query.state === undefined || summary.state === query.state) found.push(summary);
  }
  return found;
}
