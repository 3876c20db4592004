/**
 * Owns: one connection of a store for notifications, while there is a listener. It is not from a pool: ending a pool waits for
 * no connection of ours, and a pool of one connection is enough. Without it there are no notifications, and all listeners poll.
 */
import type { PostgresClient, PostgresDatabase } from './postgres-database.ts';

/** How often a lost connection is reopened, and how long an unused one is kept: the next run often follows at once. */
const AGAIN_MS = 1000;

/** Called for each notification with its payload, and with null if some may have been missed. */
type Heard = (payload: string | null) => void;

/** What is notified on the channels of a database. */
export class PostgresNotices {
  readonly #database: PostgresDatabase;
  readonly #wanted = new Map<string, Set<Heard>>();
  /** What the connection listens to. */
  readonly #listened = new Set<string>();
  #client: PostgresClient | null = null;
  #connecting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Calls `heard` until the function that it returns is called. A process may end meanwhile. */
  hear(channel: string, heard: Heard): () => void {
    const all = this.#wanted.get(channel) ?? new Set();
    this.#wanted.set(channel, all.add(heard));
    this.#timer ??= setInterval(() => this.#look(), AGAIN_MS).unref();
    this.#look();
    return () => {
      all.delete(heard);
      if (all.size === 0 && this.#wanted.get(channel) === all) this.#wanted.delete(channel);
    };
  }

  /** Ends the connection, until something is wanted again. */
  close(): void {
    this.#wanted.clear();
    this.#rest();
  }

  /** Has a connection that listens to what is wanted, and none where nothing is. */
  #look(): void {
    if (this.#wanted.size === 0) this.#rest();
    else if (this.#client !== null) this.#listen(this.#client);
    else if (!this.#connecting) {
      this.#connecting = true;
      this.#connect()
        // It is tried again.
        .catch(() => undefined)
        .finally(() => {
          this.#connecting = false;
        });
    }
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#client !== null) this.#drop(this.#client);
  }

  async #connect(): Promise<void> {
    const client = await this.#database.client();
    if (client === null) return;
    for (const lost of ['error', 'end'] as const) client.on(lost, () => this.#drop(client));
    client.on('notification', ({ channel, payload = '' }) => {
      for (const heard of this.#wanted.get(channel) ?? []) heard(payload);
    });
    client.unref?.();
    this.#client = client;
    // All listeners may have left while it was opened.
    if (this.#wanted.size === 0) this.#rest();
    else this.#listen(client);
  }

  #listen(client: PostgresClient): void {
    for (const channel of this.#wanted.keys()) {
      if (this.#listened.has(channel)) continue;
      this.#listened.add(channel);
      client.query(`listen ${channel}`).then(
        () => {
          // What was sent before it listened.
          for (const heard of this.#wanted.get(channel) ?? []) heard(null);
        },
        () => this.#drop(client),
      );
    }
    for (const channel of this.#listened)
      if (!this.#wanted.has(channel)) {
        this.#listened.delete(channel);
        client.query(`unlisten ${channel}`).catch(() => this.#drop(client));
      }
  }

  #drop(client: PostgresClient): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#listened.clear();
    client.end().catch(() => undefined);
  }
}
