/**
 * Owns: requests to runs that other processes drive, as rows, and that both sides are woken by `NOTIFY`. A notification that was
 * lost costs a second: rows are looked for again in between.
 */
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { RequestAnswerer, RunRequests } from '../run/run-requests.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import type { PostgresNotices } from './postgres-notices.ts';

/** How often rows are looked for that no notification has named. */
const LOOK_MS = 1000;

/** How long the answer to a request may take that was taken. */
const ANSWER_MS = 10_000;

const CHANNEL = 'signalbox_requests';

/** The requests of one store. */
export class PostgresRequests implements RunRequests {
  readonly #database: PostgresDatabase;
  readonly #writer: string;
  readonly #served = new Map<string, RequestAnswerer>();
  /** Called when a request has news, by its id. */
  readonly #asked = new Map<string, () => void>();
  readonly #notices: PostgresNotices;
  /** Ends the notifications; null while there is no server and no request. */
  #deaf: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase, writer: string, notices: PostgresNotices) {
    this.#database = database;
    this.#writer = writer;
    this.#notices = notices;
  }

  async ask(runId: string, request: JsonObject, waitMs: number): Promise<JsonObject | null> {
    const id = crypto.randomUUID();
    const withdrawAt = performance.now() + waitMs;
    let until = Number.POSITIVE_INFINITY;
    await this.#database.query(
      null,
      `with old as (delete from $s.requests where at < now() - interval '1 hour'),
       put as (insert into $s.requests (id, run_id, request) values ($1, $2, $3) on conflict do nothing)
       select pg_notify('${CHANNEL}', $4 || ' ' || $2)`,
      [id, runId, JSON.stringify(request), this.#database.schema],
    );
    try {
      for (;;) {
        const said = new Promise<void>((resolve) => this.#asked.set(id, resolve));
        this.#watch();
        const [row] = await this.#database.query(null, 'select answer from $s.requests where id = $1', [id]);
        const answer = jsonIn(row?.['answer']);
        if (answer !== null) return answer;
        const now = performance.now();
        if (until === Number.POSITIVE_INFINITY && now >= withdrawAt) {
          if (await this.#take(id, 'withdrawn')) return null;
          until = withdrawAt + ANSWER_MS;
        }
        if (now >= until) return null;
        const left = Math.min(LOOK_MS, (until === Number.POSITIVE_INFINITY ? withdrawAt : until) - now);
        await Promise.race([said, new Promise((resolve) => setTimeout(resolve, Math.max(1, left)))]);
      }
    } finally {
      this.#asked.delete(id);
      this.#rest();
      // What is left of it goes with a later one.
      await this.#database.attempt('asked', 'delete from $s.requests where id = $1', [id]);
    }
  }

  serve(runId: string, answer: RequestAnswerer): () => void {
    this.#served.set(runId, answer);
    this.#watch();
    return () => {
      if (this.#served.get(runId) === answer) this.#served.delete(runId);
      this.#rest();
    };
  }

  /** Stops answering. */
  close(): void {
    this.#served.clear();
    this.#asked.clear();
    this.#rest();
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#lookNow(), LOOK_MS).unref();
    this.#deaf ??= this.#notices.hear(CHANNEL, (said) => this.#notified(said));
  }

  #rest(): void {
    if (this.#served.size + this.#asked.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#deaf?.();
    this.#deaf = null;
  }

  /** Null where notifications may have been missed. */
  #notified(said: string | null): void {
    const of = `${this.#database.schema} `;
    if (said === null) {
      for (const look of this.#asked.values()) look();
      return this.#lookNow();
    }
    if (!said.startsWith(of)) return;
    const name = said.slice(of.length);
    this.#asked.get(name)?.();
    if (this.#served.has(name)) this.#lookNow();
  }

  #lookNow(): void {
    // The caller tries again, and reports that there is no answer.
    if (this.#served.size > 0) void this.#look().catch(() => undefined);
  }

  async #look(): Promise<void> {
    // Behind a request that was not taken for so long, no process stands any more. What others write by now is asked of them.
    const waiting = await this.#database.query(
      null,
      `select id, run_id, request from $s.requests q where taken_by is null and at > now() - interval '1 minute'
       and not exists (select 1 from $s.runs r where r.run_id = q.run_id and r.writer <> $1)`,
      [this.#writer],
    );
    await Promise.all(
      waiting.map(async ({ id, run_id: runId, request }) => {
        const answer = this.#served.get(String(runId));
        const asked = jsonIn(request);
        if (answer === undefined || asked === null || !(await this.#take(String(id), crypto.randomUUID()))) return;
        await this.#database.query(
          null,
          `with said as (update $s.requests set answer = $2 where id = $1)
           select pg_notify('${CHANNEL}', $3 || ' ' || $1)`,
          [id, JSON.stringify(await answer(asked)), this.#database.schema],
        );
      }),
    );
  }

  async #take(id: string, by: string): Promise<boolean> {
    const taken = await this.#database.query(
      null,
      'update $s.requests set taken_by = $2 where id = $1 and (taken_by is null or taken_by = $2) returning id',
      [id, by],
    );
    return taken.length > 0;
  }
}

function jsonIn(text: unknown): JsonObject | null {
  const json: unknown = typeof text === 'string' ? JSON.parse(text) : null;
  return isJsonObject(json) ? json : null;
}
