import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { checksum } from '../../json/digest.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { type Tallied, conversationIn, summaryOf, type RunSummary, textOrNull } from '../format/tally.ts';
import { isGone, readWriter } from './writer.ts';

/** A row of both tables as the database gives it, its integers as bigints: a damaged one may be too large for a number. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A row's columns about its run, in the order in which its checksum covers them. */
const HEAD = ['run_id', 'agent', 'at', 'input', 'metadata'] as const;
const COUNTED = [
  'run_id',
  'ended',
  'waiting',
  'status',
  'reason',
  'error_code',
  'tools',
  'steps',
  'records',
  'due',
] as const;

/** The columns that stay as they are, as parameters of a statement. */
export function headOf({ runId, agent, at, input, metadata }: Tallied): Record<string, SQLInputValue> {
  const columns = { run_id: runId, agent, at, input, metadata: JSON.stringify(metadata) };
  return { ...columns, conversation: conversationIn(metadata), head_sum: sumOf(columns, HEAD) };
}

/** The columns that change with the records of a run, as parameters of a statement. */
export function progressOf(tallied: Tallied): Record<string, SQLInputValue> {
  const { ended, waiting, status, reason, errorCode, toolsUsed, steps, records, due } = tallied;
  const columns = {
    ended: ended ? 1 : 0,
    waiting: waiting ? 1 : 0,
    status,
    reason,
    error_code: errorCode,
    tools: JSON.stringify(toolsUsed),
    steps,
    records,
    // Below zero: when someone answers.
    due: due === null ? -1 : (due ?? null),
  };
  return { ...columns, sum: sumOf({ ...columns, run_id: tallied.runId }, COUNTED) };
}

/** Whether a row is as it was written; what changes without a record, who writes it and since when, is not checked. */
export function isIntact(row: Row): boolean {
  return row['head_sum'] === sumOf(row, HEAD) && row['sum'] === sumOf(row, COUNTED);
}

/** A row without a record is what a crash leaves of a run that had not begun; a damaged one is not such a row. */
export const isBegun = (row: Row): boolean => Number(row['records']) !== 0 || !isIntact(row);

function sumOf(row: Row | Record<string, SQLInputValue>, names: readonly string[]): string {
  // A column that was added later is left out where it has no value.
  const covered = names.filter((name) => name !== 'due' || plain(row[name]) !== null);
  return checksum(JSON.stringify(covered.map((name) => plain(row[name]))));
}

function plain(value: SQLInputValue | undefined): string | number | null {
  // As SQLite stores it.
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : null;
}

/** Gives the rows of a database of the first version their checksums. */
export function addSums(database: DatabaseSync): void {
  database.exec("alter table runs add column head_sum text not null default ''");
  database.exec("alter table progress add column sum text not null default ''");
  database.exec('alter table runs add column history text');
  const head = database.prepare('update runs set head_sum = ? where id = ?');
  const progress = database.prepare('update progress set sum = ? where run = ?');
  for (const row of database.prepare(ALL).all()) {
    head.run(sumOf(row, HEAD), Number(row['id']));
    progress.run(sumOf(row, COUNTED), Number(row['id']));
  }
}

/** Every run with how far it is. A run that has lost its progress is there, too. */
export const ALL = 'select * from runs left join progress on progress.run = runs.id';

/** What a list shows of a run. */
export function summaryOfRow(row: Row): RunSummary {
  const tools: unknown = JSON.parse(columnText(row['tools']));
  const tallied: Tallied = {
    runId: columnText(row['run_id']),
    agent: columnText(row['agent']),
    at: columnText(row['at']),
    input: columnText(row['input']),
    metadata: metadataIn(row['metadata']),
    ended: Number(row['ended']) === 1,
    waiting: Number(row['waiting']) === 1,
    status: textOrNull(row['status']),
    reason: textOrNull(row['reason']),
    errorCode: textOrNull(row['error_code']),
    toolsUsed: Array.isArray(tools) ? tools.filter((name) => typeof name === 'string') : [],
    steps: Number(row['steps']),
    records: Number(row['records']),
    due: dueIn(row['due']),
  };
  return summaryOf(tallied, isWritten(row));
}

function dueIn(value: SQLOutputValue | undefined): number | null | undefined {
  if (typeof value !== 'bigint' && typeof value !== 'number') return undefined;
  return value < 0 ? null : Number(value);
}

/** Whether a living process writes the run of this row. */
export function isWritten(row: Row): boolean {
  const writer = row['writer'];
  return typeof writer === 'string' && !isGone(readWriter(writer), Date.now() - Number(row['beat']));
}

/** The text of a column that is never null. */
export function columnText(value: SQLOutputValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function metadataIn(value: SQLOutputValue | undefined): JsonObject {
  const parsed: unknown = JSON.parse(columnText(value));
  return isJsonObject(parsed) ? parsed : {};
}

/** The row of a run of which nothing is recorded. */
export function unbegun(runId: string): Tallied {
  const ending = { status: null, reason: null, errorCode: null, ended: false, waiting: false, due: undefined };
  return { runId, agent: '', at: '', input: '', metadata: {}, toolsUsed: [], steps: 0, records: 0, ...ending };
}
