/**
 * Owns: requests to runs that other processes drive, as rows, and that both sides are woken by `NOTIFY`. A notification that was
 * lost costs a second: rows are looked for again in between.
 */
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { RunRequests } from '../run/run-requests.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** How often rows are looked for that no notification has named, and a lost connection is made again. */
const LOOK_MS = 1000;

/** How long the answer to a request may take that was taken. */
const ANSWER_MS = 10_000;

const CHANNEL = 'signalbox_requests';

type Answer = (request: JsonObject) => Promise<JsonObject>;

/** The requests of one store. */
export class PostgresRequests implements RunRequests {
  readonly #database: PostgresDatabase;
  readonly #served = new Map<string, Answer>();
  /** Called when something was said of a request, by its id. */
  readonly #asked = new Map<string, () => void>();
  /** Ends the connection that waits for notifications; null while there is none. */
  #disconnect: (() => void) | null = null;
  #connecting = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
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
        // oxlint-disable-next-line no-await-in-loop -- one look after the other
        const [row] = await this.#database.query(null, 'select answer from $s.requests where id = $1', [id]);
        const answer = jsonIn(row?.['answer']);
        if (answer !== null) return answer;
        const now = performance.now();
        if (until === Number.POSITIVE_INFINITY && now >= withdrawAt) {
          // oxlint-disable-next-line no-await-in-loop -- as above
          if (await this.#take(id, 'withdrawn')) return null;
          until = withdrawAt + ANSWER_MS;
        }
        if (now >= until) return null;
        const left = Math.min(LOOK_MS, (until === Number.POSITIVE_INFINITY ? withdrawAt : until) - now);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await Promise.race([said, new Promise((resolve) => setTimeout(resolve, Math.max(1, left)))]);
      }
    } finally {
      this.#asked.delete(id);
      this.#rest();
      await this.#database.query(null, 'delete from $s.requests where id = $1', [id]);
    }
  }

  serve(runId: string, answer: Answer): () => void {
    this.#served.set(runId, answer);
    this.#watch();
    return () => {
      if (this.#served.get(runId) === answer) this.#served.delete(runId);
      this.#rest();
    };
  }

  /** Ends the connection that waits for notifications. */
  close(): void {
    this.#served.clear();
    this.#asked.clear();
    this.#rest();
    this.#closed = true;
    this.#disconnect?.();
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#lookNow(), LOOK_MS).unref();
    if (this.#closed || this.#disconnect !== null || this.#connecting) return;
    this.#connecting = true;
    this.#connect()
      // Without notifications rows are looked for, and the connection is tried again.
      .catch(() => undefined)
      .finally(() => {
        this.#connecting = false;
      });
  }

  #rest(): void {
    if (this.#served.size + this.#asked.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    // The next run often follows at once; a pool that is ended waits for its connections.
    setTimeout(() => {
      if (this.#served.size + this.#asked.size === 0) this.#disconnect?.();
    }, LOOK_MS).unref();
  }

  async #connect(): Promise<void> {
    const client = await this.#database.client();
    if (client === null) return;
    let isOver = false;
    const over = (): void => {
      if (this.#disconnect === over) this.#disconnect = null;
      if (isOver) return;
      isOver = true;
      if (client.release !== undefined) client.release(true);
      else void client.end?.().catch(() => undefined);
    };
    client.on('error', over);
    client.on('end', over);
    client.on('notification', ({ payload = '' }) => this.#notified(payload));
    client.unref?.();
    await client.query(`listen ${CHANNEL}`);
    if (isOver) return;
    this.#disconnect = over;
    if (this.#closed) over();
    // What was said before it listened.
    this.#lookNow();
  }

  #notified(payload: string): void {
    const of = `${this.#database.schema} `;
    if (!payload.startsWith(of)) return;
    const name = payload.slice(of.length);
    this.#asked.get(name)?.();
    if (this.#served.has(name)) this.#lookNow();
  }

  #lookNow(): void {
    if (this.#disconnect === null) this.#watch();
    // Whoever asks tries again, and says that nobody answers.
    if (this.#served.size > 0) void this.#look().catch(() => undefined);
  }

  async #look(): Promise<void> {
    const waiting = await this.#database.query(
      null,
      'select id, run_id, request from $s.requests where taken_by is null',
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
