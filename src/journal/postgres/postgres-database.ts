/**
 * Owns: the connections to one schema of a database, that its tables are those of this version, and that a statement is tried
 * again while the server cannot be reached. Every statement that goes through it may happen twice.
 */
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { JournalError } from '../format/journal-error.ts';
import { emptySchema, migration, POSTGRES_VERSION } from './postgres-schema.ts';
import { isError } from '../../json/to-json.ts';

/** A statement with its parameters. */
interface Statement {
  readonly text: string;
  readonly values?: unknown[];
  /** Statements with a name are prepared once per connection. */
  readonly name?: string;
  readonly query_timeout?: number;
  readonly types?: { readonly getTypeParser: (oid: number) => (text: string) => unknown };
}

/** A connection of the package `pg` that waits for notifications. */
export interface PostgresClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  on(event: 'error' | 'end', listener: () => void): unknown;
  end(): Promise<void>;
  unref?(): void;
}

/** What is needed of a `Pool` of the package `pg`. */
export interface PostgresPool {
  /**
   * How it makes connections. One more, besides the pool, waits for requests to runs. Without it, they are polled every second.
   */
  readonly options?: object;
  /** What makes its connections; default that of `pg`. */
  readonly Client?: new (options: object) => PostgresClient;
  query(statement: Statement): Promise<{ readonly rows: readonly unknown[] }>;
}

/** A row as the database gives it. */
export type PostgresRow = Readonly<Record<string, unknown>>;

interface OwnPool extends PostgresPool {
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

/** How a database is used. */
export interface DatabaseOptions {
  readonly schema: string;
  readonly migrate: boolean;
  readonly patienceMs: number;
  /** The time after which an unanswered short statement is sent again on another connection, in milliseconds. */
  readonly silentMs: number;
}

/** How the columns of our statements are read, by their types, whatever the program has set for all of its own; others are text. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  // boolean, integer, jsonb
  [16, (text) => text === 't'],
  [23, Number],
  [3802, (text) => JSON.parse(text)],
  // text[], which are hashes here
  [1009, (text) => text.slice(1, -1).split(',').filter(Boolean)],
]);
const TYPES = { getTypeParser: (oid: number) => PARSERS.get(oid) ?? String };

/** How long a connection may take, in milliseconds. */
const CONNECT_MS = 10_000;

/** Statements that take no longer where there is more in the database. */
const SHORT: ReadonlySet<string> = new Set(['append', 'asked', 'leave', 'release', 'secrets', 'sign', 'take']);

/** A connection that brings this many characters in a millisecond is slow, and not silent. */
const SLOW = 50;

/** How long a server may take to close connections, in milliseconds. */
const CLOSE_MS = 1000;

/**
 * What the server refuses now, and not for good: it starts, stops or is not the primary, has no connection or time left, or two
 * were in each other's way.
 */
const PASSING = /^(?:08|25006|25P0[34]|53|57014|57P|40001|40P01|55006|55P03)/;

/** One schema of a Postgres database. Connects when it is first used. */
export class PostgresDatabase {
  readonly schema: string;
  readonly place: string;
  readonly #at: PostgresPool | string;
  readonly #options: DatabaseOptions;
  #isNaming = true;
  #own: OwnPool | null = null;
  #pool: Promise<PostgresPool> | null = null;
  #ready: Promise<void> | null = null;
  /** When a statement was last sent of which it is not known whether it was done, or may be yet. */
  doubtedAt = Number.NEGATIVE_INFINITY;
  /** How often it was closed: what is tried again then is given up. */
  #closings = 0;

  constructor(at: PostgresPool | string, options: DatabaseOptions) {
    this.schema = `"${options.schema}"`;
    this.place = `the schema ${options.schema} of the database`;
    this.#at = at;
    this.#options = options;
  }

  /** Does one statement in the schema: `$s` in it is replaced by the schema's name. */
  async query(name: string | null, text: string, values: readonly unknown[] = []): Promise<readonly PostgresRow[]> {
    this.#ready ??= this.#prepared();
    try {
      await this.#ready;
    } catch (error) {
      this.#ready = null;
      throw error;
    }
    return this.#patiently(
      name,
      text,
      values.map((value) => (typeof value === 'string' ? searchable(value) : value)),
    );
  }

  /** Creates or updates the tables. Any number of processes may do so at once. Returns the versions before and after. */
  async migrate(): Promise<{ readonly from: number; readonly to: number }> {
    const from = await this.#version();
    if (from > POSTGRES_VERSION) throw new JournalError('store-newer', null, this.place);
    // Two that create the same schema at once: one of them fails because it exists.
    if (from === 0)
      await this.#patiently(null, emptySchema(this.schema)).catch((error: unknown) =>
        refuseUnless(error, /^(?:23505|42P0[67])$/),
      );
    if (from < POSTGRES_VERSION)
      await this.#patiently(null, migration(this.schema, from)).catch(async (error: unknown) => {
        if ((await this.#version()) < POSTGRES_VERSION) throw error;
      });
    return { from, to: POSTGRES_VERSION };
  }

  /** A connection of the caller's own, to be ended by it; null where there is none to be had. */
  async client(): Promise<PostgresClient | null> {
    const at = this.#at;
    const options = typeof at === 'string' ? connectionTo(at) : at.options;
    if (options === undefined) return null;
    const Client = (typeof at === 'string' ? undefined : at.Client) ?? (await loadPg()).Client;
    const client: PostgresClient = new Client(options);
    // A connection that is lost before there is a listener must not end the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Does one statement if the server answers now, and not otherwise: nobody waits for one that is away. */
  async attempt(name: string, text: string, values: readonly unknown[]): Promise<void> {
    await this.#once(name, text, values).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closings += 1;
    await this.#pool?.catch(() => undefined);
    // A server that does not answer closes no connection either.
    const late = new AbortController();
    await Promise.race([this.#own?.end(), wait(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    [this.#own, this.#pool, this.#ready] = [null, null, null];
  }

  async #prepared(): Promise<void> {
    if (this.#options.migrate) {
      await this.migrate();
      return;
    }
    const version = await this.#version();
    if (version > POSTGRES_VERSION) throw new JournalError('store-newer', null, this.place);
    if (version < POSTGRES_VERSION) throw new JournalError('store-not-migrated', null, this.place);
  }

  async #version(): Promise<number> {
    const rows = await this.#patiently(null, 'select version from $s.version').catch((error: unknown) => {
      refuseUnless(error, /^(?:42P01|3F000)$/);
      return [];
    });
    return Number(rows[0]?.['version'] ?? 0);
  }

  async #patiently(
    name: string | null,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly PostgresRow[]> {
    const until = performance.now() + this.#options.patienceMs;
    const closings = this.#closings;
    for (let pause = 20; ; pause = Math.min(pause * 2, 1000)) {
      const isNaming = this.#isNaming;
      try {
        return await this.#once(name, text, values);
      } catch (error) {
        // A pooler, or whoever resets connections between statements, forgets what was prepared.
        const isForgotten = isNaming && /^(?:26000|42P05)$/.test(sqlStateOf(error));
        if (isForgotten) this.#isNaming = false;
        else if (!isPassing(error)) throw error;
        else this.doubtedAt = performance.now();
        const isLate = performance.now() + pause > until;
        if (!isLate) await wait(pause);
        if (isLate || closings !== this.#closings) throw new JournalError('store-unreachable', null, this.place, error);
      }
    }
  }

  async #once(name: string | null, text: string, values: readonly unknown[]): Promise<readonly PostgresRow[]> {
    this.#pool ??= this.#connected();
    const pool = await this.#pool;
    const own = text.replaceAll('$s.', `${this.schema}.`);
    // At most 63 characters, and another one for each text: other schemas, and other versions, may share the connection.
    const named = { name: `signalbox ${name} ${hash('sha256', own, 'hex').slice(0, 32)}` };
    const result: object = await pool.query({
      text: own,
      types: TYPES,
      ...(name === null || !this.#isNaming ? {} : named),
      ...(values.length === 0 ? {} : { values: [...values] }),
      ...(name !== null && SHORT.has(name) ? { query_timeout: this.#options.silentMs + lengthOf(values) / SLOW } : {}),
    });
    // Of several statements at once there is a list of results.
    const rows: unknown = Reflect.get(result, 'rows');
    return Array.isArray(rows) ? rows.map((row) => Object(row)) : [];
  }

  async #connected(): Promise<PostgresPool> {
    if (typeof this.#at !== 'string') return this.#at;
    const pg = await loadPg();
    const own: OwnPool = new pg.Pool({ ...connectionTo(this.#at), allowExitOnIdle: true });
    // A connection that is lost while idle is replaced when one is needed.
    own.on('error', () => undefined);
    this.#own = own;
    return own;
  }
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.reduce((sum: number, one) => sum + lengthOf(one), 0) : 0;
}

/** How the store connects to a URL by itself. */
function connectionTo(url: string) {
  return { connectionString: url, connectionTimeoutMillis: CONNECT_MS, keepAlive: true, application_name: 'signalbox' };
}

async function loadPg() {
  try {
    return (await import('pg')).default;
  } catch (error) {
    const message = 'postgresJournal needs the package pg: npm install pg';
    throw Object.assign(new Error(message, { cause: error }), { code: 'package-missing' });
  }
}

/** Whether the same may succeed later. What has no code of the server's is the connection's. */
function isPassing(error: unknown): boolean {
  if (error instanceof JournalError || error instanceof TypeError) return false;
  const code = sqlStateOf(error);
  if (code === 'package-missing') return false;
  return !/^[0-9A-Z]{5}$/.test(code) || PASSING.test(code) || !('severity' in Object(error));
}

/** A text without the characters that Postgres cannot store. */
export function searchable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed();
}

/** The code that the server gave an error, or else that of the system; empty without one. */
export function sqlStateOf(error: unknown): string {
  const code: unknown = isError(error) ? Reflect.get(error, 'code') : '';
  return typeof code === 'string' ? code : '';
}

function refuseUnless(error: unknown, codes: RegExp): void {
  if (!codes.test(sqlStateOf(error))) throw error;
}
