/**
 * Owns: that a process is known to live. Whatever it writes or has claimed is its own while its row in `writers` is not overdue,
 * by the server's clock; then others may take it.
 */
import { hash } from 'node:crypto';
import type { PostgresDatabase } from './postgres-database.ts';
import { PostgresRuns } from './postgres-runs.ts';

/** A claimed name, or the id of a run, and the token of its holder. `begins`: with this token. */
export interface Held {
  readonly name: string;
  readonly token: string;
  readonly begins?: boolean;
}

/** How long a statement may be on its way that was sent again, in milliseconds. */
const LATE_MS = 120_000;

/** An index holds no long texts, and Postgres no text with a NUL. */
function keptName(whole: string): string {
  return whole.length > 500 || whole.includes('\0') ? hash('sha256', whole, 'hex') : whole;
}

/** The lease of one store in one process. */
export class PostgresLease {
  /** What the process is known by. */
  readonly id = crypto.randomUUID();
  readonly #database: PostgresDatabase;
  readonly #leaseMs: number;
  /** The tokens of what this process writes and has claimed, and what to call when others may have taken it. */
  readonly #held = new Map<string, () => void>();
  /** The tokens of the names that this process has claimed. */
  readonly #claims = new Map<string, string>();
  /** Runs and names by tokens that could not be given back: no other process may wait for this one to end. */
  readonly #abandoned = new Map<string, Held>();
  /** What was given back, and may be taken again by a statement that comes late, until then. */
  #late: readonly (Held & { readonly until: number })[] = [];
  #signedAt = Number.NEGATIVE_INFINITY;
  /** When others may take what is held, by a clock that goes on while this machine sleeps. */
  #until = Number.POSITIVE_INFINITY;
  #signing: Promise<void> | null = null;
  #beats: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  /** Resolves when the lease holds for a while. */
  async alive(): Promise<void> {
    if (performance.now() - this.#signedAt < this.#leaseMs / 3 && this.#abandoned.size === 0) return;
    this.#signing ??= this.#sign().finally(() => {
      this.#signing = null;
    });
    await this.#signing;
  }

  /** Gives signs of life from now on, until all that was joined has left. */
  join(token: string, doubted: () => void = () => undefined): void {
    this.#held.set(token, doubted);
    // A sign of life that could not be given is given the next time.
    const beat = (): void => void this.alive().catch(() => undefined);
    this.#beats ??= setInterval(beat, Math.max(10, this.#leaseMs / 6)).unref();
  }

  /** False for what was given back before. */
  leave(token: string): boolean {
    if (!this.#held.delete(token)) return false;
    if (this.#held.size === 0) this.#stop();
    return true;
  }

  /** Releases runs, and names. */
  async release(held: readonly Held[]): Promise<void> {
    await this.#letGo(held);
    const until = this.#database.doubtedAt + LATE_MS;
    if (until < performance.now()) return;
    this.#late = [...this.#late, ...held.map((one) => ({ ...one, until }))];
    this.join('late');
  }

  /** A run or a name could not be given back: that is done with the next sign of life. */
  abandon(held: Held): void {
    this.#abandoned.set(held.token, held);
    this.join(held.token);
  }

  /** The name as it is kept, and the token of this process's claim; null without one. Another process may have taken it over. */
  claimOf(whole: string): Held | null {
    const name = keptName(whole);
    const token = this.#claims.get(name);
    return token === undefined ? null : { name, token };
  }

  /** Makes the caller the only holder of a name, until the returned function is called; null while another has it. */
  async claim(whole: string): Promise<(() => Promise<void>) | null> {
    const name = keptName(whole);
    const token = crypto.randomUUID();
    await this.alive();
    // It may be held, or still be, although no answer has said so.
    const owing = (error: unknown): never => {
      this.abandon({ name, token });
      throw error;
    };
    if (!(await this.#hold(name, token).catch(owing))) return null;
    this.join(token);
    this.#claims.set(name, token);
    return async () => {
      if (!this.leave(token)) return;
      this.#claims.delete(name);
      await this.release([{ name, token }]).catch(owing);
    };
  }

  /** Lets all that the process has go. */
  async end(): Promise<void> {
    this.#stop();
    if (this.#signedAt === Number.NEGATIVE_INFINITY) return;
    this.#signedAt = Number.NEGATIVE_INFINITY;
    await this.#database.attempt('leave', 'delete from $s.writers where id = $1', [this.id]);
  }

  /** Returns the tokens with which runs were still held. */
  async #letGo(held: readonly Held[]): Promise<ReadonlySet<unknown>> {
    const rows = await this.#database.query(
      'release',
      `with g as (select * from unnest($1::text[], $2::text[]) g(name, token)),
       freed as (delete from $s.names n using g where n.name = g.name and n.token = g.token)
       update $s.runs r set token = null, writer = null from g where r.run_id = g.name and r.token = g.token returning g.token`,
      [held.map(({ name }) => name), held.map(({ token }) => token)],
    );
    return new Set(rows.map((row) => row['token']));
  }

  async #hold(name: string, token: string): Promise<boolean> {
    const [found] = await this.#database.query(
      null,
      'insert into $s.names values ($1, $2, $3) on conflict (name) do update set name = excluded.name returning token, writer',
      [name, token, this.id],
    );
    if (found?.['token'] === token) return true;
    const taken = await this.#database.query(
      null,
      `update $s.names set token = $2, writer = $3 where name = $1 and token in ($2, $4)
       and (token = $2 or not exists (select 1 from $s.writers w where w.id = $5 and w.until > now())) returning 1`,
      [name, token, this.id, found?.['token'], found?.['writer']],
    );
    return taken.length > 0;
  }

  async #sign(): Promise<void> {
    // Before the sign of life: after it, what is owed would be that of a living process again.
    await this.#giveBack();
    const [at, began] = [performance.now(), Date.now()];
    await this.#database.query(
      'sign',
      `with old as (delete from $s.writers where until < now() - interval '1 day')
       insert into $s.writers values ($1, now() + $2 * interval '1 millisecond')
       on conflict (id) do update set until = excluded.until`,
      [this.id, this.#leaseMs],
    );
    this.#signedAt = at;
    const isLate = Date.now() > this.#until;
    this.#until = began + this.#leaseMs;
    if (isLate) for (const doubted of this.#held.values()) doubted();
    // What has come to be owed while the server could not be reached.
    await this.#giveBack();
    if (this.#late.length > 0) void this.#giveBackAgain().catch(() => undefined);
  }

  async #giveBack(): Promise<void> {
    const owed = [...this.#abandoned.values()];
    if (owed.length > 0) await this.release(owed);
    for (const { token } of owed) {
      this.#abandoned.delete(token);
      this.leave(token);
    }
  }

  async #giveBackAgain(): Promise<void> {
    const taken = await this.#letGo(this.#late);
    // They were over, and removed, before their beginnings came once more.
    const begun = this.#late.filter(({ begins, token }) => begins === true && taken.has(token));
    if (begun.length > 0) await new PostgresRuns(this.#database).remove(begun.map(({ name }) => name));
    this.#late = this.#late.filter(({ until }) => until > performance.now());
    if (this.#late.length === 0) this.leave('late');
  }

  #stop(): void {
    clearInterval(this.#beats);
    this.#beats = undefined;
    this.#until = Number.POSITIVE_INFINITY;
  }
}
