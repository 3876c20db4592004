import { openDatabase, remainsAt, type SqliteQueue, sqliteQueue } from './sqlite-database.ts';
import { type OwnedRun, RunTables } from './sqlite-runs.ts';
import { BEAT_MS } from './writer.ts';

/**
 * Owns: an open database of runs, and the signs of life of the runs that are written over it.
 *
 * I1 What is written after it was closed fails with `store-unreachable`.
 */
export class SqliteConnection {
  readonly runs: RunTables;
  /** Writes in the next transaction, together with the writes of other runs; what is owed, in a later one if that fails. */
  readonly write: SqliteQueue['write'];
  readonly #queue: SqliteQueue;
  readonly #live = new Set<() => OwnedRun>();
  #beats: NodeJS.Timeout | undefined;

  constructor(path: string, durability: 'process' | 'power') {
    const database = openDatabase(path, durability);
    this.runs = new RunTables(database, path);
    this.#queue = sqliteQueue(database, remainsAt(path, database));
    this.write = this.#queue.write;
  }

  /** Gives signs of life of a run until it is left. */
  join(owned: () => OwnedRun): void {
    const beat = (): void => {
      // A sign of life that could not be given is given the next time.
      void this.write(() => this.#live.forEach((run) => this.runs.beat(run()))).catch(() => undefined);
    };
    this.#live.add(owned);
    this.#beats ??= setInterval(beat, BEAT_MS).unref();
  }

  /** False for a run that was left before. */
  leave(owned: () => OwnedRun): boolean {
    if (!this.#live.delete(owned)) return false;
    if (this.#live.size === 0) {
      clearInterval(this.#beats);
      this.#beats = undefined;
    }
    return true;
  }

  /** Gives a run back; one that could not begin has no row. */
  async release(owned: () => OwnedRun): Promise<void> {
    await this.write(() => {
      let run: OwnedRun;
      try {
        run = owned();
      } catch {
        return;
      }
      this.runs.release(run);
    }, true);
  }

  /** Closes it behind what was to be written before. What is live is given back: this process can write no more of it. */
  async close(): Promise<void> {
    for (const owned of this.#live) {
      this.leave(owned);
      void this.release(owned).catch(() => undefined);
    }
    await this.#queue.close();
  }
}
