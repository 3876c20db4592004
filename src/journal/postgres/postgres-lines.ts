/**
 * Owns: the statements that write lines of runs, with what goes with them: the row that sums a run up, large payloads and
 * histories. Each finds the run by the token of its writer, and does nothing where it is not there.
 */
import { hash } from 'node:crypto';
import { messageLine, type StoredPart } from '../format/histories.ts';
import type { Tallied } from '../format/tally.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import type { Held } from './postgres-lease.ts';
import { columnsOf } from './postgres-rows.ts';
import { sweep } from './postgres-runs.ts';

/** What is added to a run. */
export interface MoreLines {
  readonly token: string;
  readonly tallied: Tallied;
  /** The number of records before it: a server that has fewer has lost some. */
  readonly before: number;
  readonly lines: readonly string[];
  /** The number of the first of the lines, from 1 on: a run that has none before begins with them. */
  readonly from: number;
  /** Where the run's history goes. */
  readonly history: StoredPart | null;
  /** Called where that history was removed meanwhile: the first line with all of it. */
  readonly inline: () => string;
  /** The claim under which a run begins: it does not where another process has that by now. */
  readonly claim: Held | null;
  /** The token with which the run was written before: these are all of its lines from now on, and `token` is its own. */
  readonly replaces?: string;
}

/** Adds lines to runs in one statement, for a process; returns the tokens of the runs that were its own. */
export async function insertLines(
  database: PostgresDatabase,
  writer: string,
  batch: readonly MoreLines[],
): Promise<ReadonlySet<unknown>> {
  const histories = batch.flatMap(({ history }) => (history === null ? [] : [history]));
  const messages = histories.flatMap(({ part, added }) =>
    added.map((message, index) => {
      const n = part.to - added.length + index;
      return [part.$history, n, messageLine(message, n)] as const;
    }),
  );
  const columns = batch.map(({ tallied, token, from, history, before, claim }) => ({
    ...columnsOf(tallied),
    token,
    before,
    begins: from === 1,
    claimed: claim?.name ?? null,
    claim: claim?.token ?? null,
    history: history?.part.$history ?? null,
    stored: history === null ? 0 : history.part.to - history.added.length,
  }));
  const column = (name: keyof (typeof columns)[number]): readonly unknown[] => columns.map((row) => row[name]);
  const rows = await database.query('append', APPEND, [
    ...COLUMNS.map((name) => column(name)),
    writer,
    ...writtenOf(batch),
    messages.map(([history]) => history),
    messages.map(([, n]) => n),
    messages.map(([, , line]) => line),
    database.schema,
    column('due'),
    column('before'),
    column('stored'),
    column('claimed'),
    column('claim'),
  ]);
  return new Set(rows.map((row) => row['token']));
}

/** Puts lines in the place of all that a run has, in one statement; false where it is not its writer's own. */
export async function replaceLines(database: PostgresDatabase, more: MoreLines): Promise<boolean> {
  const { runId, ...columns } = columnsOf(more.tallied);
  const { token, replaces, lines } = more;
  const rows = await database.query(null, REPLACE, [
    runId,
    token,
    replaces,
    ...Object.values(columns),
    lines.length,
    ...writtenOf([more]),
    database.schema,
  ]);
  // The run is written: that a payload which nobody needs could not be removed makes it no failure.
  await sweep(database, rows).catch(() => undefined);
  return rows.length > 0;
}

/** Lines as parameters: their runs' tokens, numbers, texts and payloads' hashes; then hashes and texts of the payloads. */
function writtenOf(batch: readonly MoreLines[]): readonly (readonly unknown[])[] {
  const lines = batch.flatMap(({ token, lines: own, from }) =>
    own.map((line, index) => ({ token, n: from + index, ...split(line) })),
  );
  const blobs = [...new Map(lines.flatMap(({ hash: key, value }) => (key === null ? [] : ([[key, value]] as const))))]
    // In one order everywhere, so that two processes are not in each other's way.
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    lines.map(({ token }) => token),
    lines.map(({ n }) => n),
    lines.map(({ line }) => line),
    lines.map(({ hash: key }) => key),
    blobs.map(([key]) => key),
    blobs.map(([, value]) => value),
  ];
}

/** The parameters that have an item for each run, in their order. */
const COLUMNS = [
  'runId',
  'token',
  'begins',
  'at',
  'agent',
  'head',
  'metadata',
  'history',
  'ended',
  'waiting',
  'status',
  'reason',
  'errorCode',
  'tools',
  'steps',
  'records',
] as const;

const APPEND = `
  with given as (
    select * from unnest(
      $1::text[], $2::text[], $3::bool[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[], $10::bool[],
      $11::text[], $12::text[], $13::text[], $14::text[], $15::int[], $16::int[], $28::text[], $29::int[], $30::int[], $31::text[],
      $32::text[]
    ) g(run_id, token, begins, at, agent, head, metadata, history, ended, waiting, status, reason, error_code, tools, steps, records, due, before, stored,
      claimed, claim)
  ), begun as (
    insert into $s.runs as r (run_id, at, agent, head, metadata, history, ended, waiting, status, reason, error_code, tools, steps,
      records, due, token, writer)
    select run_id, at, agent, head, metadata::jsonb, history, ended, waiting, status, reason, error_code, tools::jsonb, steps,
      records, due::timestamptz, token, $17 from given where begins and (stored = 0
      or exists (select 1 from $s.messages m where m.history = given.history and n = stored - 1))
      and (claim is null or exists (select 1 from $s.names n where n.name = claimed and n.token = claim))
    on conflict (run_id) do update set token = excluded.token where r.token = excluded.token
    returning id, run_id, token, history
  ), kept_histories as (
    insert into $s.histories select h from unnest($24::text[], $25::int[]) m(h, n) join begun on history = h where n = 0 on conflict do nothing
  ), kept_messages as (
    insert into $s.messages select h, n, line from unnest($24::text[], $25::int[], $26::text[]) m(h, n, line) join begun on history = h on conflict do nothing
  ), continued as (
    update $s.runs r set ended = g.ended, waiting = g.waiting, status = g.status, reason = g.reason, error_code = g.error_code,
      tools = g.tools::jsonb, steps = g.steps, records = g.records, due = g.due::timestamptz,
      written_at = now()
    from given g where not g.begins and r.run_id = g.run_id and r.token = g.token and r.records between g.before and g.records
    returning r.id, r.run_id, r.token
  ), owned as (select id, run_id, token from begun union all select * from continued
  ), kept_blobs as (
    insert into $s.blobs select decode(b.hash, 'hex'), b.value from unnest($22::text[], $23::text[]) b(hash, value)
    on conflict do nothing
  ), added as (
    insert into $s.lines select o.id, l.n, l.line, decode(l.blob, 'hex')
    from unnest($18::text[], $19::int[], $20::text[], $21::text[]) l(token, n, line, blob) join owned o using (token)
    on conflict do nothing
  )
  select token, pg_notify('signalbox', $27 || ' ' || run_id) from owned`;

/**
 * The writer gets another token with it: sent again after more was written, it finds the old one no longer and takes nothing
 * back. Sent again before, it does the same as it did.
 */
const REPLACE = `
  with owned as (
    update $s.runs set token = $2, agent = $4, at = $5, head = $6, metadata = $7::jsonb, ended = $8, waiting = $9, status = $10,
      reason = $11, error_code = $12, tools = $13::jsonb, steps = $14, records = $15, due = $16::timestamptz, written_at = now()
    where run_id = $1 and (token = $3 or (token = $2 and records = $15)) returning id, run_id
  ), kept_blobs as (
    insert into $s.blobs select decode(b.hash, 'hex'), b.value from unnest($22::text[], $23::text[]) b(hash, value)
    on conflict do nothing
  ), removed as (delete from $s.lines using owned where run = owned.id and n > $17
  ), put as (
    insert into $s.lines select o.id, l.n, l.line, decode(l.blob, 'hex')
    from unnest($18::text[], $19::int[], $20::text[], $21::text[]) l(token, n, line, blob), owned o
    on conflict (run, n) do update set line = excluded.line, blob = excluded.blob
  )
  select pg_notify('signalbox', $24 || ' ' || run_id),
    array(select distinct encode(blob, 'hex') from $s.lines where run = owned.id and blob is not null) blobs
  from owned`;

const BLOB = '{"t":"blob"';
/** What comes after the payload in its line. */
const SUM = /,"sum":"\d+\.[0-9a-f]+"\}$/;

/** A line as it is stored: a large payload by its hash, and what comes after it. */
function split(line: string): { readonly line: string; readonly hash: string | null; readonly value: string } {
  const sum = line.startsWith(BLOB) ? SUM.exec(line)?.[0] : undefined;
  if (sum === undefined) return { line, hash: null, value: '' };
  const value = line.slice(0, -sum.length);
  return { line: sum, hash: hash('sha256', value, 'hex'), value };
}
