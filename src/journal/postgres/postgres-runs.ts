/** Owns: the statements on runs other than adding to them: finding, taking, listing and removing. Each may be sent twice. */
import { JournalError, RecordingError } from '../format/journal-error.ts';
import { checkQuery, LeftOut, matches, runTally, summaryOf } from '../format/tally.ts';
import type { RunQuery, RunSummary, Tallied } from '../format/tally.ts';
import { readStored } from '../format/recording.ts';
import { searchable, sqlStateOf, type PostgresDatabase, type PostgresRow } from './postgres-database.ts';
import { columnsOf, linesOf, searchableJson, summaryOfRun, textOfColumn, WRITTEN } from './postgres-rows.ts';

/** How many rows are read at a time. */
const PAGE = 500;

/** The runs of a schema. */
export class PostgresRuns {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Makes a writer that of a run, by its token; false when there is no such run. Throws a `JournalError` (`run-locked`). */
  async take(runId: string, token: string, writer: string): Promise<boolean> {
    // One that is given back at the same moment is another row than a moment ago, and is free when it is asked for again.
    for (let tries = 0; tries < 2; tries++) {
      const [row] = await this.#database.query(null, 'select xmin::text as state from $s.runs where run_id = $1', [
        runId,
      ]);
      if (row === undefined) return false;
      if (await this.#takeFree([runId, token, writer, row['state']])) return true;
    }
    throw new JournalError('run-locked', runId, this.#database.place);
  }

  async isThere(runId: string): Promise<boolean> {
    return (await this.#database.query(null, 'select 1 from $s.runs where run_id = $1', [runId])).length > 0;
  }

  async #takeFree(values: readonly unknown[]): Promise<boolean> {
    // The row must be as it was seen: of two that look at once, one finds another there, and so does a statement that was sent
    // again meanwhile and comes when the run was written and given back.
    const taken = await this.#database.query(
      'take',
      `update $s.runs r set token = $2, writer = $3
       where run_id = $1 and (token = $2 or (r.xmin::text = $4 and not ${WRITTEN})) returning id`,
      values,
    );
    return taken.length > 0;
  }

  /** Forgets the lines from a number on, of a run that has this token. Throws a `JournalError` (`run-lost`). */
  async cut(tallied: Tallied, token: string, from: number): Promise<void> {
    const { ended, waiting, status, reason, errorCode, tools, steps, records, runId, due } = columnsOf(tallied);
    const rows = await this.#database.query(
      null,
      `with own as (
         update $s.runs set ended = $3, waiting = $4, status = $5, reason = $6, error_code = $7, tools = $8::jsonb, steps = $9,
           records = $10, due = $12::timestamptz where run_id = $1 and token = $2 returning id
       ), gone as (delete from $s.lines using own where run = own.id and n >= $11 returning blob)
       select array(select distinct encode(blob, 'hex') from gone where blob is not null) blobs from own`,
      [runId, token, ended, waiting, status, reason, errorCode, tools, steps, records, from, due],
    );
    if (rows.length === 0) throw new JournalError('run-lost', runId, this.#database.place);
    await sweep(this.#database, rows);
  }

  /** The runs that a query asks for, newest first. What a damaged row no longer holds is read from the run's lines. */
  async list(query: RunQuery): Promise<readonly RunSummary[]> {
    checkQuery(query);
    const { limit = Number.POSITIVE_INFINITY, ...asked } = query;
    const found: RunSummary[] = [];
    using left = new LeftOut();
    let { after } = asked;
    while (found.length < limit) {
      const count = Math.min(PAGE, limit - found.length);
      const rows = await this.#page({ ...asked, after }, count);
      for (const row of rows) {
        const run = summaryOfRun(row) ?? (await this.#summaryOfLines(row, left));
        if (run !== null && matches(run, query)) found.push(run);
        after = placeOf(row);
      }
      if (rows.length < count) break;
    }
    return found;
  }

  /** What the lines of a run say of it. Null, with a warning, where they are damaged too. */
  async #summaryOfLines(row: PostgresRow, left: LeftOut): Promise<RunSummary | null> {
    const { runId, at } = placeOf(row);
    try {
      const stored = await linesOf(this.#database, runId);
      if (stored === null) return null;
      const { head, lines } = readStored(stored, runId);
      return { ...summaryOf(runTally(head, lines).read(), row['written'] === true), at };
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      left.add(`${runId} in ${this.#database.place} is left out of the list of runs. ${error.message}`);
      return null;
    }
  }

  /** Removes runs that no process writes; returns those that existed. */
  async remove(runIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#database.query(
      null,
      `with seen as (select id, token from $s.runs r where run_id = any($1::text[]) and not ${WRITTEN}),
       gone as (
         delete from $s.runs r using seen where r.id = seen.id and r.token is not distinct from seen.token
         returning r.id, r.run_id, r.history
       ), lines as (delete from $s.lines using gone where run = gone.id returning run, blob),
       secrets as (delete from $s.secrets s using gone where s.run_id = gone.run_id)
       select run_id, history, array(select distinct encode(blob, 'hex') from lines where run = gone.id and blob is not null) blobs
       from gone`,
      [runIds.map(searchable)],
    );
    await sweep(this.#database, rows);
    return rows.map((row) => String(row['run_id']));
  }

  /** Ids of runs to forget, some at a time: beyond the newest `maxRuns` that have ended, and those not written since a time. */
  async prunable(maxRuns: number | undefined, maxAgeDays: number | undefined): Promise<readonly string[]> {
    const ids = async (text: string, value: number): Promise<readonly string[]> =>
      (await this.#database.query(null, text, [value])).map((row) => String(row['run_id']));
    const over =
      maxRuns === undefined
        ? []
        : await ids(
            `select run_id from (select * from $s.runs where ended order by at desc, run_id desc offset $1) r
             where not ${WRITTEN} limit ${PAGE}`,
            maxRuns,
          );
    if (over.length > 0 || maxAgeDays === undefined) return over;
    return ids(
      `select run_id from $s.runs r where written_at < now() - least($1, 1e6) * interval '1 day' and not ${WRITTEN}
       order by at, run_id limit ${PAGE}`,
      maxAgeDays,
    );
  }

  async #page(query: RunQuery, count: number): Promise<readonly PostgresRow[]> {
    const values: unknown[] = [];
    const conditions: string[] = [];
    const where = (condition: (parameter: string) => string, value: unknown): void => {
      if (value === undefined) return;
      values.push(value);
      conditions.push(condition(`$${values.length}`));
    };
    const { agent, state, status, reason, tool, errorCode, metadata, after, due } = query;
    where((p) => `agent = ${p}`, agent);
    where((p) => `status = ${p}`, status);
    where((p) => `reason = ${p}`, reason);
    where((p) => `error_code = ${p}`, errorCode);
    where((p) => `tools ? ${p}::text`, tool);
    where((p) => `(due is null or due <= ${p}::timestamptz) and not ended and not ${WRITTEN}`, due);
    if (after !== undefined) {
      values.push(after.at, after.runId);
      conditions.push(`(at, run_id) < ($${values.length - 1}, $${values.length})`);
    }
    if (state !== undefined) conditions.push(STATES[state]);
    // Found by their index first: many runs are newer than those of one conversation.
    const hasMetadata = metadata !== undefined && Object.keys(metadata).length > 0;
    if (hasMetadata) values.push(JSON.stringify(searchableJson(metadata)));
    const among = hasMetadata
      ? `(select * from $s.runs where metadata @> $${values.length}::jsonb offset 0)`
      : '$s.runs';
    const all = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
    return this.#database.query(
      null,
      `select run_id, at, head, ended, waiting, status, reason, error_code, tools, steps, records, extract(epoch from due) * 1000 as due_ms,
         ${WRITTEN} as written
       from ${among} r ${all} order by at desc, run_id desc limit ${count}`,
      values,
    );
  }
}

function placeOf(row: PostgresRow): NonNullable<RunQuery['after']> {
  return { at: textOfColumn(row['at']), runId: textOfColumn(row['run_id']) };
}

const STATES = {
  ended: 'ended',
  running: `not ended and ${WRITTEN}`,
  waiting: `not ended and waiting and not ${WRITTEN}`,
  interrupted: `not ended and not waiting and not ${WRITTEN}`,
} as const;

/** Removes what was kept for runs or lines that are gone (`blobs` by their hashes, `history`), and is needed by no other. */
export async function sweep(database: PostgresDatabase, gone: readonly PostgresRow[]): Promise<void> {
  const blobs = new Set(gone.flatMap(({ blobs: own }) => (Array.isArray(own) ? own : [])));
  const histories = new Set(gone.flatMap(({ history }) => (typeof history === 'string' ? [history] : [])));
  const sweeping: readonly (readonly [text: string, keys: ReadonlySet<unknown>])[] = [
    [
      `delete from $s.blobs b where hash in (select decode(h, 'hex') from unnest($1::text[]) h)
       and not exists (select 1 from $s.lines l where l.blob = b.hash)`,
      blobs,
    ],
    [
      'delete from $s.histories h where id = any($1::text[]) and not exists (select 1 from $s.runs r where r.history = h.id)',
      histories,
    ],
  ];
  for (const [text, keys] of sweeping) {
    if (keys.size === 0) continue;
    await database.query(null, text, [[...keys]]).catch((error: unknown) => {
      // One of them is needed again: it is swept with its last user.
      if (sqlStateOf(error) !== '23503') throw error;
    });
  }
}
