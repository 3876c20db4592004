/**
 * Owns: the statements on the tables of runs and their lines, and that one writer at a time has a run.
 *
 * I1 The writer has put itself into the row in a transaction; every write names it and fails if it is not there.
 * I2 The summary in the row and the lines are written in one transaction, so that they never disagree.
 */
import type { DatabaseSync } from 'node:sqlite';
import { JournalError, RecordingError } from '../format/journal-error.ts';
import { readRecording, type StoredLines, withoutGap } from '../format/recording.ts';
import { messageLine, type StoredPart, withHistory } from '../format/histories.ts';
import { conversationRows, unendedRows } from './sqlite-indexes.ts';
import {
  ALL,
  type Row,
  headOf,
  isBegun,
  isIntact,
  isWritten,
  progressOf,
  summaryOfRow,
  columnText,
} from './sqlite-rows.ts';
import { conversationIn, matches, runTally, selectRuns, summaryOf } from '../format/tally.ts';
import type { RunQuery, RunSummary, Tallied } from '../format/tally.ts';

/** The writer of a run, as stored in the row. */
export interface RunWriter {
  readonly runId: string;
  readonly writer: string;
}

/** A run that is written. */
export interface OwnedRun extends RunWriter {
  /** The number of its row. */
  readonly id: number;
}

/** What is added to a run. */
export interface MoreOfRun {
  readonly lines: readonly string[];
  readonly from: number;
  readonly tallied: Tallied;
  readonly history: StoredPart | null;
}

/** The runs of a database, which is at `path`; what changes them is called within a transaction. */
export class RunTables {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #sql: ReturnType<typeof statementsOf>;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
    this.#sql = statementsOf(database);
  }

  /** Puts a new run there. Throws a `JournalError`: `run-exists`, `run-locked`. */
  begin(by: RunWriter, tallied: Tallied): OwnedRun {
    const row = this.#freeRow(by.runId);
    if (row !== undefined && isBegun(row)) throw new JournalError('run-exists', by.runId, this.#path);
    this.#sql.drop.run(by.runId);
    const id = Number(this.#sql.insert.run(headOf(tallied)).lastInsertRowid);
    this.#sql.start.run({ ...progressOf({ ...tallied, records: 0 }), run: id, writer: by.writer, beat: Date.now() });
    return { ...by, id };
  }

  /** Assigns the writer to a run that no process writes, and returns its lines; null if there is none. */
  claim(by: RunWriter): { readonly run: OwnedRun; readonly stored: StoredLines } | null {
    const row = this.#begunRow(by.runId, this.#freeRow(by.runId));
    if (row === null) return null;
    const run = { ...by, id: Number(row['id']) };
    this.#sql.own.run(by.writer, Date.now(), run.id);
    return { run, stored: this.#linesOf(row) };
  }

  lines(runId: string): StoredLines | null {
    const row = this.#begunRow(runId, this.#sql.find.get(runId));
    return row === null ? null : this.#linesOf(row);
  }

  revision(runId: string): string | null {
    const { at, records } = this.#sql.find.get(runId) ?? {};
    return Number(records ?? 0) === 0 ? null : `${columnText(at)} ${String(records)}`;
  }

  /** Forgets the lines from a number on. Throws a `JournalError` (`run-lost`). */
  cut(run: OwnedRun, from: number, tallied: Tallied): void {
    this.#proceed(run, tallied);
    this.#sql.drain.run(run.id, from);
    this.#sql.repair.run(headOf(tallied));
  }

  /** Whether a run has ended, or does not exist, and no process writes it. */
  isOver(runId: string): boolean {
    const row = this.#sql.find.get(runId);
    if (row === undefined) return this.#begunRow(runId, row) === null;
    return Number(row['ended']) === 1 && isIntact(row) && !isWritten(row);
  }

  /**
   * The runs that a query asks for, newest first. What a damaged row no longer holds is read from the run's lines; if
   * those are damaged too, a warning is issued. Rejects with a `RecordingError` where runs are lost. Needs a connection
   * of its own: it reads in one transaction, and lets others work meanwhile.
   */
  async list(
    { limit = Number.MAX_SAFE_INTEGER, ...query }: RunQuery,
    warn: (what: string) => void,
  ): Promise<readonly RunSummary[]> {
    this.#database.exec('begin');
    try {
      const found = new Map<string, RunSummary>();
      let rested = performance.now();
      for (const row of this.#rowsFor(query, limit)) {
        const summary = this.#summaryIn(row, warn);
        if (summary !== null && matches(summary, query)) {
          if (found.has(summary.runId)) throw this.#lost('a run');
          found.set(summary.runId, summary);
          if (found.size >= limit) break;
        }
        if (performance.now() - rested < 20) continue; // ms
        // Lets others work.
        await new Promise((resolve) => setImmediate(resolve));
        rested = performance.now();
      }
      return selectRuns([...found.values()], { limit });
    } finally {
      this.#database.exec('rollback');
    }
  }

  /** Throws a `JournalError` (`run-locked`) while another process writes it. */
  remove(runId: string): boolean {
    const history = this.#freeRow(runId)?.['history'];
    if (history === undefined) return false;
    const { changes } = this.#sql.drop.run(runId);
    if (typeof history === 'string') this.#sql.forget.run({ id: history });
    return changes === 1;
  }

  /**
   * Adds lines, the first with number `from`, and new messages of the run's history; `isAnew`: in the place of all that is
   * there. Throws a `JournalError` (`run-lost`).
   */
  append(run: OwnedRun, { lines, from, tallied, history }: MoreOfRun, isAnew = false): void {
    if (isAnew) this.cut(run, from, tallied);
    else this.#proceed(run, tallied);
    const { add, say, name } = this.#sql;
    for (const [index, line] of lines.entries()) add.run(run.id, from + index, line);
    if (history === null) return;
    const { part, added } = history;
    const first = part.to - added.length;
    for (const [index, message] of added.entries())
      say.run(part.$history, first + index, messageLine(message, first + index));
    name.run(part.$history, run.id);
  }

  #proceed({ runId, id, writer }: OwnedRun, tallied: Tallied): void {
    const { changes } = this.#sql.update.run({ ...progressOf(tallied), run: id, writer, beat: Date.now() });
    if (changes !== 1) throw new JournalError('run-lost', runId, this.#path);
  }

  /** How many messages a history has. */
  lengthOf(history: string): number {
    return Number(this.#sql.last.get(history)?.['n'] ?? -1) + 1;
  }

  release({ id, writer }: OwnedRun): void {
    this.#sql.disown.run(id, writer);
  }

  /** Removes a run of which nothing is recorded, unless another has it. */
  drop({ id, writer }: OwnedRun): void {
    this.#sql.yield.run(id, writer);
  }

  /** A sign of life of a writer. */
  beat({ id, writer }: OwnedRun): void {
    this.#sql.sign.run(Date.now(), id, writer);
  }

  /** The row of a run that no process writes. */
  #freeRow(runId: string): Row | undefined {
    const row = this.#sql.find.get(runId);
    if (row !== undefined && isWritten(row)) throw new JournalError('run-locked', runId, this.#path);
    return row;
  }

  /** The row of a run of which something is recorded. A row counts as missing only if all lookups agree. */
  #begunRow(runId: string, row: Row | undefined): Row | null {
    const { inTable, inIndex, read } = this.#sql;
    if (row !== undefined && row['run'] === null) throw this.#lost(runId);
    if (row !== undefined && isBegun(row)) return row;
    const isKnown = row === undefined ? (inTable.get(runId) ?? inIndex.get(runId)) : read.get(Number(row['id']));
    if (isKnown === undefined) return null;
    throw this.#lost(runId);
  }

  #linesOf(row: Row): StoredLines {
    const found = this.#sql.read.all(Number(row['id']));
    const [head = '', ...rest] = withoutGap(found).map((line) => columnText(line['line']));
    const whole = withHistory(head, ({ $history, from, to }) =>
      this.#sql.said.all($history, from, to).map((line) => columnText(line['line'])),
    );
    return { lines: head === '' ? [] : [whole, ...rest], records: Number(row['records']) };
  }

  /** The rows among which a query finds its runs, newest first. Of a conversation the latest come before others are read. */
  *#rowsFor(query: RunQuery, limit: number): Iterable<Row> {
    const conversation = conversationIn(query.metadata ?? {});
    const latest = conversation === null ? null : this.#sql.ofConversation(conversation, limit);
    yield* latest ?? [];
    if (latest !== null && latest.length < limit) return;
    const had = new Set(latest?.map((row) => row['id']));
    const all = latest === null || conversation === null ? null : this.#sql.ofConversation(conversation);
    for (const row of all ?? this.#sql.unended(query, limit) ?? this.#allRows(query))
      if (!had.has(row['id'])) yield row;
  }

  #allRows({ after }: RunQuery): Iterable<Row> {
    const { newest, older, countOfTable, countOfIndex } = this.#sql;
    if (countOfTable.get()?.['n'] !== countOfIndex.get()?.['n']) throw this.#lost('a run');
    return after === undefined ? newest.iterate() : older.iterate(after.at, after.at, after.runId);
  }

  /** What a list shows of a row: its own columns if it is intact, else what its lines hold. Null: nothing was recorded. */
  #summaryIn(row: Row, warn: (what: string) => void): RunSummary | null {
    if (isIntact(row)) return Number(row['records']) === 0 ? null : summaryOfRow(row);
    try {
      const { head, lines } = readRecording(this.#linesOf(row).lines, { torn: false });
      return summaryOf(runTally(head, lines).read(), isWritten(row));
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      warn(`${columnText(row['run_id'])} in ${this.#path} is left out of the list of runs. ${error.message}`);
      return null;
    }
  }

  #lost(which: string): RecordingError {
    return new RecordingError(
      1,
      `of ${which} is lost in ${this.#path}, which knows that run. The database is damaged.`,
    );
  }
}

/** The statements on the tables, by what they do. */
function statementsOf(database: DatabaseSync) {
  const statements = {
    find: database.prepare(`${ALL} where run_id = ?`),
    insert: database.prepare(
      `insert into runs (run_id, agent, at, input, metadata, conversation, head_sum)
     values (:run_id, :agent, :at, :input, :metadata, :conversation, :head_sum)`,
    ),
    start: database.prepare(
      `insert into progress (run, ended, waiting, status, reason, error_code, tools, steps, records, due, writer, beat, sum)
     values (:run, :ended, :waiting, :status, :reason, :error_code, :tools, :steps, :records, :due, :writer, :beat, :sum)`,
    ),
    update: database.prepare(
      `update progress set ended = :ended, waiting = :waiting, status = :status, reason = :reason, error_code = :error_code,
       tools = :tools, steps = :steps, records = :records, due = :due, beat = :beat, sum = :sum where run = :run and writer = :writer`,
    ),
    repair: database.prepare(
      `update runs set agent = :agent, at = :at, input = :input, metadata = :metadata, conversation = :conversation, head_sum = :head_sum
       where run_id = :run_id`,
    ),
    inTable: database.prepare('select 1 from runs not indexed where run_id = ?'),
    inIndex: database.prepare('select 1 from runs indexed by sqlite_autoindex_runs_1 where run_id = ?'),
    drain: database.prepare('delete from lines where run = ? and n >= ?'),
    own: database.prepare('update progress set writer = ?, beat = ? where run = ?'),
    disown: database.prepare('update progress set writer = null where run = ? and writer = ?'),
    yield: database.prepare(
      'delete from runs where id = (select run from progress where run = ? and writer = ? and records = 0)',
    ),
    sign: database.prepare('update progress set beat = ? where run = ? and writer = ?'),
    drop: database.prepare('delete from runs where run_id = ?'),
    add: database.prepare('insert into lines (run, n, line) values (?, ?, ?)'),
    read: database.prepare('select n, line from lines where run = ? order by n'),
    name: database.prepare('update runs set history = ? where id = ?'),
    say: database.prepare('insert into histories (id, n, line) values (?, ?, ?)'),
    said: database.prepare('select line from histories where id = ? and n >= ? and n < ? order by n'),
    last: database.prepare('select max(n) as n from histories where id = ?'),
    forget: database.prepare(
      'delete from histories where id = :id and not exists (select 1 from runs where history = :id)',
    ),
    newest: database.prepare(`${ALL} order by at desc, run_id desc`),
    older: database.prepare(`${ALL} where at < ? or (at = ? and run_id < ?) order by at desc, run_id desc`),
    countOfTable: database.prepare('select count(*) as n from runs not indexed'),
    // Without the condition, which each row meets, SQLite counts in the index that is smallest.
    countOfIndex: database.prepare("select count(*) as n from runs indexed by runs_by_time where at >= ''"),
  };
  for (const name of ['find', 'read', 'newest', 'older'] as const) statements[name].setReadBigInts(true);
  return { ...statements, ofConversation: conversationRows(database), unended: unendedRows(database) };
}
