/**
 * Owns: that what many runs write at the same time is one statement, and that only the owner of a run writes it.
 *
 * I1 The writer of a run has put a token into its row; the statement that adds lines finds the row by that token, and
 *    adds nothing if it is not there. Another process that took the run has put its own there.
 * I2 Every statement may be sent twice: a connection that breaks does not say whether it was done. A line that already
 *    exists is the same one, since no other process could write it, and a run never returns to fewer records.
 * I3 Secrets are written before the lines that were asked for after them.
 */
import { JournalError } from '../format/journal-error.ts';
import { searchable, sqlStateOf, type PostgresDatabase } from './postgres-database.ts';
import type { Held, PostgresLease } from './postgres-lease.ts';
import { insertLines, type MoreLines, replaceLines } from './postgres-lines.ts';
import { PostgresRuns } from './postgres-runs.ts';

// As for SQLite: the platform's own, whatever a test does to the timers.
const { setImmediate } = globalThis;

interface Settled {
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

type Waiting = MoreLines & Settled;

/** More characters than these are not sent in one statement, unless it is one run's. */
const MOST_AT_ONCE = 4_000_000;

/** Collects what the runs of a process write. */
export class PostgresWriter {
  readonly #database: PostgresDatabase;
  readonly #lease: PostgresLease;
  #waiting: Waiting[] = [];
  #released: (Settled & Held)[] = [];
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

  release(held: Held): Promise<void> {
    return new Promise((done, failed) => {
      this.#released.push({ ...held, done, failed });
      this.#start();
    });
  }

  keepSecrets(runId: string, secrets: Readonly<Record<string, string>>): void {
    // One that the database cannot hold ends with the process, and stands in the way of nothing that is written beside it.
    const held = Object.entries(secrets).filter(([, value]) => searchable(value) === value);
    this.#secrets.push(...held.map(([mark, value]) => [runId, mark, value] as const));
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
      for (const { failed, ...held } of released) {
        this.#lease.abandon(held);
        failed(error);
      }
      for (const { failed } of batch) failed(error);
      // Runs that have not failed go on: their secrets are written before their next lines.
      const failing = new Set(batch.map(({ tallied }) => tallied.runId));
      if (error instanceof JournalError) this.#secrets.unshift(...secrets.filter(([runId]) => !failing.has(runId)));
    }
    this.#busy = false;
    if (this.#waiting.length + this.#released.length > 0) this.#start();
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

  async #write(batch: readonly Waiting[], tries = 0): Promise<void> {
    try {
      const written = await this.#insert(batch);
      for (const one of batch) {
        const { token, from, replaces, tallied, history, claim, done, failed } = one;
        if (written.has(token)) done();
        // The run exists, or a server that took over has not all of its history.
        else if (history !== null) await this.#write([whole(one)]);
        else {
          const begins = from === 1 && replaces === undefined;
          const isLost = begins && claim !== null && !(await new PostgresRuns(this.#database).isThere(tallied.runId));
          const code = isLost ? 'run-locked' : begins ? 'run-exists' : 'run-lost';
          failed(new JournalError(code, tallied.runId, this.#database.place));
        }
      }
    } catch (error) {
      // A history or a payload that was there was removed with the last run that needed it.
      if (sqlStateOf(error) === '23503' && tries < 5) return this.#write(batch.map(whole), tries + 1);
      const [only, ...more] = batch;
      if (error instanceof JournalError || only === undefined) throw error;
      if (more.length === 0) return only.failed(error);
      // What cannot be written fails alone.
      for (const one of batch) await this.#write([one]);
    }
  }

  /** Writes all of it, and returns the tokens of the runs that were this process's own. */
  async #insert(batch: readonly MoreLines[]): Promise<ReadonlySet<unknown>> {
    const added = batch.filter(({ replaces }) => replaces === undefined);
    const written = added.length === 0 ? [] : await insertLines(this.#database, this.#lease.id, added);
    const own = new Set(written);
    for (const one of batch) {
      if (one.replaces === undefined) continue;
      // There is hardly ever more than one.
      if (await replaceLines(this.#database, one)) own.add(one.token);
    }
    return own;
  }

  async #writeSecrets(secrets: readonly (readonly [string, string, string])[]): Promise<void> {
    const latest = new Map(secrets.map((one) => [`${one[0]} ${one[1]}`, one]));
    const rows = [...latest.values()];
    await this.#database.query(
      'secrets',
      // Those of a run that has ended were forgotten: what is sent again may come late.
      `insert into $s.secrets select * from unnest($1::text[], $2::text[], $3::text[]) g(run_id, mark, value)
       where not exists (select 1 from $s.runs r where r.run_id = g.run_id and r.ended and r.token is null)
       on conflict (run_id, mark) do update set value = excluded.value`,
      [0, 1, 2].map((index) => rows.map((row) => row[index])),
    );
  }
}

function whole(one: Waiting): Waiting {
  if (one.history === null) return one;
  return { ...one, history: null, lines: [one.inline(), ...one.lines.slice(1)] };
}
