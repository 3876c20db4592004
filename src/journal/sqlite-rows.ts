import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { type JsonObject, isJsonObject } from '../parsing/json.ts';
import type { RunQuery, RunSummary } from './run-journal.ts';
import { type Tallied, summaryOf } from './tally.ts';
import { isGone, readWriter } from './writer.ts';

/** A row as the database gives it. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** The columns that change with the records of a run, as parameters of a statement. */
export function progressOf(tallied: Tallied): Record<string, SQLInputValue> {
  const { ended, waiting, status, reason, errorCode, toolsUsed, steps, records } = tallied;
  return {
    ended: ended ? 1 : 0,
    waiting: waiting ? 1 : 0,
    status,
    reason,
    error_code: errorCode,
    tools: JSON.stringify(toolsUsed),
    steps,
    records,
  };
}

/** What a list shows of a run. */
export function summaryOfRow(row: Row): RunSummary {
  const tools: unknown = JSON.parse(textOf(row['tools']));
  const tallied: Tallied = {
    runId: textOf(row['run_id']),
    agent: textOf(row['agent']),
    at: textOf(row['at']),
    input: textOf(row['input']),
    metadata: metadataOf(row['metadata']),
    ended: row['ended'] === 1,
    waiting: row['waiting'] === 1,
    status: textOrNull(row['status']),
    reason: textOrNull(row['reason']),
    errorCode: textOrNull(row['error_code']),
    toolsUsed: Array.isArray(tools) ? tools.filter((name) => typeof name === 'string') : [],
    steps: Number(row['steps']),
    records: Number(row['records']),
  };
  return summaryOf(tallied, isWritten(row));
}

/** Whether a living process writes the run of this row. */
export function isWritten(row: Row): boolean {
  const writer = row['writer'];
  return typeof writer === 'string' && !isGone(readWriter(writer), Date.now() - Number(row['beat']));
}

/** The condition of a query, and its parameters. Who writes a run must be looked at row by row. */
export function conditionOf(query: RunQuery): { readonly where: string; readonly values: readonly string[] } {
  const { agent, state, status, reason, tool, errorCode, after } = query;
  const parts: string[] = ['records > 0'];
  const values: string[] = [];
  const must = (value: string | undefined, part: string): void => {
    if (value === undefined) return;
    parts.push(part);
    values.push(value);
  };
  must(agent, 'agent = ?');
  must(status, 'status = ?');
  must(reason, 'reason = ?');
  must(errorCode, 'error_code = ?');
  must(tool, 'exists (select 1 from json_each(tools) where value = ?)');
  if (after !== undefined) {
    parts.push('(at < ? or (at = ? and run_id < ?))');
    values.push(after.at, after.at, after.runId);
  }
  if (state !== undefined) parts.push(state === 'ended' ? 'ended = 1' : 'ended = 0');
  return { where: parts.join(' and '), values };
}

/** The text of a column that is never null. */
export function textOf(value: SQLOutputValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: SQLOutputValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function metadataOf(value: SQLOutputValue | undefined): JsonObject {
  const parsed: unknown = JSON.parse(textOf(value));
  return isJsonObject(parsed) ? parsed : {};
}
