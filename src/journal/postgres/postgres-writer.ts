/**
 * Owns: that what many runs write at the same time is one statement, and that only the owner of a run writes it.
 *
 * I1 The writer of a run has put a token into its row; the statement that adds lines finds the row by that token, and
 *    adds nothing if it is not there. Another process that took the run has put its own there.
 * I2 Every statement may be sent twice: a connection that breaks does not say whether it was done. A line that already
 *    exists is the same one, since no other process could write it, and a run never returns to fewer records.
 * I3 Secrets are written before the lines that were asked for after them.
 */
import { hash } from 'node:crypto';
import { JournalError } from '../format/journal-error.ts';
import { messageLine, type StoredPart } from '../format/histories.ts';
import type { Tallied } from '../format/tally.ts';
import { sqlStateOf, type PostgresDatabase } from './postgres-database.ts';
import type { PostgresLease } from './postgres-lease.ts';
import { columnsOf } from './postgres-rows.ts';

/** What is added to a run. */
export interface MoreLines {
  readonly token: string;
  readonly tallied: Tallied;
  readonly lines: readonly string[];
  /** The number of the first of the lines, from 1 on: a run that has none before begins with them. */
  readonly from: number;
  /** Where the run's history goes. */
  readonly history: StoredPart | null;
  /** Called where that history was removed meanwhile: the first line with all of it. */
  readonly inline: () => string;
}

interface Waiting extends MoreLines {
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** More characters than these are not sent in one statement, unless it is one run's. */
const MOST_AT_ONCE = 4_000_000;

const BLOB = '{"t":"blob"';
/** What comes after the payload in its line. */
const SUM = /,"sum":"\d+\.[0-9a-f]+"\}$/;

/** Collects what the runs of a process write. */
export class PostgresWriter {
  readonly #database: PostgresDatabase;
  readonly #lease: PostgresLease;
  #waiting: Waiting[] = [];
  #released: {
    readonly runId: string;
    readonly token: string;
    readonly done: () => void;
    readonly failed: (error: unknown) => void;
  }[] = [];
  #secrets: (readonly [runId: string, mark: string, value: string])[] = [];
  #busy = false;

  constructor(database: PostgresDatabase, lease: PostgresLease) {
    this.#database = database;
    this.#lease = lease;
  }

  /** Resolves when it is durable; rejects with a `JournalError`: `run-exists` for a run that begins, else `run-lost`. */
  append(more: MoreLines): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ ...more, done, failed });
      this.#start();
    });
  }

  release(runId: string, token: string): Promise<void> {
    return new Promise((done, failed) => {
      this.#released.push({ runId, token, done, failed });
      this.#start();
    });
  }

  keepSecrets(runId: string, secrets: Readonly<Record<string, string>>): void {
    this.#secrets.push(...Object.entries(secrets).map(([mark, value]) => [runId, mark, value] as const));
    this.#start();
  }

  #start(): void {
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const [secrets, released] = [this.#secrets.splice(0), this.#released.splice(0)];
    const batch = this.#nextBatch();
    try {
      await this.#lease.alive();
      if (secrets.length > 0) await this.#writeSecrets(secrets);
      if (batch.length > 0) await this.#write(batch);
      if (released.length > 0) await this.#lease.release(released);
      for (const { done } of released) done();
    } catch (error) {
      for (const { runId, token, failed } of released) {
        this.#lease.abandon(runId, token);
        failed(error);
      }
      for (const { failed } of batch) failed(error);
    }
    this.#busy = false;
    if (this.#waiting.length + this.#released.length + this.#secrets.length > 0) this.#start();
  }

  /** One piece of each run, up to a size. */
  #nextBatch(): readonly Waiting[] {
    const batch = new Map<string, Waiting>();
    const left: Waiting[] = [];
    let size = 0;
    for (const one of this.#waiting) {
      const more = one.lines.reduce((sum, line) => sum + line.length, 0);
      if (batch.has(one.token) || (batch.size > 0 && size + more > MOST_AT_ONCE)) left.push(one);
      else {
        batch.set(one.token, one);
        size += more;
      }
    }
    this.#waiting = left;
    return [...batch.values()];
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.#insert(batch);
      for (const { token, from, tallied, done, failed } of batch) {
        if (written.has(token)) done();
        else failed(new JournalError(from === 1 ? 'run-exists' : 'run-lost', tallied.runId, this.#database.place));
      }
    } catch (error) {
      // A history or a payload that was there was removed with the last run that needed it.
      if (sqlStateOf(error) === '23503') return this.#write(batch.map((one) => whole(one)));
      const [only, ...more] = batch;
      if (error instanceof JournalError || only === undefined) throw error;
      if (more.length === 0) return only.failed(error);
      // What cannot be written fails alone.
      for (const one of batch)
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await this.#write([one]);
    }
  }

  async #insert(batch: readonly Waiting[]): Promise<ReadonlySet<unknown>> {
    const histories = batch.flatMap(({ history }) => (history === null ? [] : [history]));
    const messages = histories.flatMap(({ part, added }) =>
      added.map((message, index) => {
        const n = part.to - added.length + index;
        return [part.$history, n, messageLine(message, n)] as const;
      }),
    );
    const lines = batch.flatMap(({ token, lines: own, from }) =>
      own.map((line, index) => ({ token, n: from + index, ...split(line) })),
    );
    const blobs = [...new Map(lines.flatMap(({ hash: key, value }) => (key === null ? [] : ([[key, value]] as const))))]
      // In one order everywhere, so that two processes are not in each other's way.
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const columns = batch.map(({ tallied, token, from, history }) => ({
      ...columnsOf(tallied),
      token,
      begins: from === 1,
      history: history?.part.$history ?? null,
    }));
    const column = (name: keyof (typeof columns)[number]): readonly unknown[] => columns.map((row) => row[name]);
    const rows = await this.#database.query('append', APPEND, [
      ...COLUMNS.map((name) => column(name)),
      this.#lease.id,
      lines.map(({ token }) => token),
      lines.map(({ n }) => n),
      lines.map(({ line }) => line),
      lines.map(({ hash: key }) => key),
      blobs.map(([key]) => key),
      blobs.map(([, value]) => value),
      messages.map(([history]) => history),
      messages.map(([, n]) => n),
      messages.map(([, , line]) => line),
      this.#database.schema,
      column('due'),
    ]);
    return new Set(rows.map((row) => row['token']));
  }

  async #writeSecrets(secrets: readonly (readonly [string, string, string])[]): Promise<void> {
    const latest = new Map(secrets.map((one) => [`${one[0]} ${one[1]}`, one]));
    const rows = [...latest.values()];
    await this.#database.query(
      null,
      `insert into $s.secrets select * from unnest($1::text[], $2::text[], $3::text[])
       on conflict (run_id, mark) do update set value = excluded.value`,
      [0, 1, 2].map((index) => rows.map((row) => row[index])),
    );
  }
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
      $11::text[], $12::text[], $13::text[], $14::text[], $15::int[], $16::int[], $28::text[]
    ) g(run_id, token, begins, at, agent, head, metadata, history, ended, waiting, status, reason, error_code, tools, steps, records, due)
  ), kept_histories as (
    insert into $s.histories select distinct h from unnest($24::text[]) h on conflict do nothing
  ), kept_messages as (
    insert into $s.messages select * from unnest($24::text[], $25::int[], $26::text[]) on conflict do nothing
  ), begun as (
    insert into $s.runs as r (run_id, at, agent, head, metadata, history, ended, waiting, status, reason, error_code, tools, steps,
      records, due, token, writer)
    select run_id, at, agent, head, metadata::jsonb, history, ended, waiting, status, reason, error_code, tools::jsonb, steps,
      records, due::timestamptz, token, $17 from given where begins
    on conflict (run_id) do update set token = excluded.token where r.token = excluded.token
    returning id, run_id, token
  ), continued as (
    update $s.runs r set ended = g.ended, waiting = g.waiting, status = g.status, reason = g.reason, error_code = g.error_code,
      tools = g.tools::jsonb, steps = g.steps, records = g.records, due = g.due::timestamptz,
      written_at = now()
    from given g where not g.begins and r.run_id = g.run_id and r.token = g.token and r.records <= g.records
    returning r.id, r.run_id, r.token
  ), owned as (select * from begun union all select * from continued
  ), kept_blobs as (
    insert into $s.blobs select decode(b.hash, 'hex'), b.value from unnest($22::text[], $23::text[]) b(hash, value)
    on conflict do nothing
  ), added as (
    insert into $s.lines select o.id, l.n, l.line, decode(l.blob, 'hex')
    from unnest($18::text[], $19::int[], $20::text[], $21::text[]) l(token, n, line, blob) join owned o using (token)
    on conflict do nothing
  )
  select token, pg_notify('signalbox', $27 || ' ' || run_id) from owned`;

/** A line as it is stored: a large payload by its hash, and what comes after it. */
function split(line: string): { readonly line: string; readonly hash: string | null; readonly value: string } {
  const sum = line.startsWith(BLOB) ? SUM.exec(line)?.[0] : undefined;
  if (sum === undefined) return { line, hash: null, value: '' };
  const value = line.slice(0, -sum.length);
  return { line: sum, hash: hash('sha256', value, 'hex'), value };
}

function whole(one: Waiting): Waiting {
  if (one.history === null) return one;
  return { ...one, history: null, lines: [one.inline(), ...one.lines.slice(1)] };
}
