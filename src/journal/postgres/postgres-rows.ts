import { isJsonObject, type Json, parsedText } from '../../json/json.ts';
import { historyIdOf, withHistory } from '../format/histories.ts';
import { type StoredLines, withoutGap } from '../format/recording.ts';
import { type RunSummary, type Tallied, summaryOf, textOrNull } from '../format/tally.ts';
import { type PostgresDatabase, type PostgresRow, searchable } from './postgres-database.ts';

/** Whether a living process writes the run `r`. */
export const WRITTEN =
  '(r.token is not null and exists (select 1 from $s.writers w where w.id = r.writer and w.until > now()))';

/** The columns of a run's row, in the order of the parameters. Those to search by hold what Postgres can; `head` holds all of it. */
export function columnsOf(tallied: Tallied) {
  const { runId, agent, at, input, metadata, ended, waiting, status, reason, errorCode, toolsUsed, steps, records } =
    tallied;
  const { due } = tallied;
  return {
    runId,
    agent: searchable(agent),
    at: searchable(at),
    head: JSON.stringify({ runId, agent, at, input, metadata }),
    metadata: JSON.stringify(searchableJson(metadata)),
    ended,
    waiting,
    status: status === null ? null : searchable(status),
    reason: reason === null ? null : searchable(reason),
    errorCode: errorCode === null ? null : searchable(errorCode),
    tools: JSON.stringify(toolsUsed.map(searchable)),
    steps,
    records,
    due: due === null ? 'infinity' : dueAt(tallied),
  };
}

/** A time that the database can hold. */
function dueAt({ at, due }: Tallied): string | null {
  const time = Date.parse(at) + (due ?? 0);
  return Number.isNaN(time) ? null : new Date(Math.min(time, LATEST)).toISOString();
}

/** 9999-12-31. */
const LATEST = 253_402_214_400_000;

/** The same of all texts of a value. */
export function searchableJson(value: Json): Json {
  if (typeof value === 'string') return searchable(value);
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [searchable(name), searchableJson(member)]),
    );
  return Array.isArray(value) ? value.map((item: Json) => searchableJson(item)) : value;
}

/**
 * What a list shows of a row; null where its `head` is damaged. Where it stands among the others, its own columns say: the
 * next page begins there.
 */
export function summaryOfRun(row: PostgresRow): RunSummary | null {
  const head = parsedText(textOfColumn(row['head']));
  if (!isJsonObject(head)) return null;
  const { tools } = row;
  const at = textOfColumn(row['at']);
  const tallied: Tallied = {
    runId: textOfColumn(row['run_id']),
    agent: textOfColumn(head.agent),
    at,
    input: textOfColumn(head.input),
    metadata: isJsonObject(head.metadata) ? head.metadata : {},
    ended: row['ended'] === true,
    waiting: row['waiting'] === true,
    status: textOrNull(row['status']),
    reason: textOrNull(row['reason']),
    errorCode: textOrNull(row['error_code']),
    toolsUsed: Array.isArray(tools) ? tools.filter((name) => typeof name === 'string') : [],
    steps: Number(row['steps']),
    records: Number(row['records']),
    due: dueIn(row['due_ms'], at),
  };
  return summaryOf(tallied, row['written'] === true);
}

/** Milliseconds after the beginning of a run. Undefined for one that was written before this field existed. */
function dueIn(epoch: unknown, at: string): number | null | undefined {
  if (epoch === null || epoch === undefined) return undefined;
  const ms = Number(epoch);
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms - Date.parse(at))) : null;
}

/** A column's text; empty where it has none. */
export const textOfColumn = (value: unknown): string => textOrNull(value) ?? '';

/** The lines of a run as they were written; null when there is no such run. */
export async function linesOf(database: PostgresDatabase, runId: string): Promise<StoredLines | null> {
  const rows = await database.query(
    'read',
    `select r.records, l.n, l.line, b.value from $s.runs r left join $s.lines l on l.run = r.id
     left join $s.blobs b on b.hash = l.blob where r.run_id = $1 order by l.n`,
    [runId],
  );
  const [first] = rows;
  if (first === undefined) return null;
  const [head = '', ...rest] = withoutGap(rows).map(({ value, line }) => `${textOfColumn(value)}${textOfColumn(line)}`);
  const said = await messagesOf(database, historyIdOf(head));
  const whole = withHistory(head, ({ from, to }) => said.slice(from, to));
  return { lines: head === '' ? [] : [whole, ...rest], records: Number(first['records']) };
}

async function messagesOf(database: PostgresDatabase, history: string | null): Promise<readonly string[]> {
  if (history === null) return [];
  const rows = await database.query('messages', 'select line from $s.messages where history = $1 order by n', [
    history,
  ]);
  return rows.map(({ line }) => textOfColumn(line));
}
