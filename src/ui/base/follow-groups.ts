/**
 * Owns: the groups of a run for any number of readers of this process: its records are read and played once. Does not own: what
 * is made of them.
 *
 * I1 What is kept here is what the journal says: a reader receives nothing before the journal has been looked at for it.
 * I2 While nobody reads, nothing is fetched; what was played of the latest runs is kept for those who come back.
 */
import { type FollowOptions, type NumberedLine, followRun } from '../../journal/run/follow-run.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type EventGroup, GroupPlayer } from './event-groups.ts';

type Store = Pick<JournalStore, 'read'>;

/** Groups that came together, and how the run stands behind them. */
export interface GroupBatch {
  readonly groups: readonly EventGroup[];
  readonly run: Pick<GroupPlayer, 'head' | 'position' | 'path' | 'isOver' | 'isWaiting' | 'problem'>;
}

/** So many runs that nobody reads are kept for each journal. */
const KEPT_RUNS = 32;

const played = new WeakMap<Store, Map<string, PlayedRun>>();

/**
 * The groups of a run as they are recorded, in whatever process: first all that are there, then batch by batch. Ends behind the
 * run's end, where another version recorded it, when the signal aborts, and at once where there is no such run.
 */
export function followGroups(store: Store, runId: string, options: FollowOptions): AsyncGenerator<GroupBatch> {
  const runs = played.get(store) ?? new Map<string, PlayedRun>();
  played.set(store, runs);
  const run = runs.get(runId) ?? new PlayedRun(store, runId);
  // The latest is the last.
  runs.delete(runId);
  runs.set(runId, run);
  for (const [id, old] of runs) if (runs.size > KEPT_RUNS && old.isIdle) runs.delete(id);
  return run.follow(options);
}

/** One run, played as far as it was read. */
class PlayedRun {
  readonly #store: Store;
  readonly #runId: string;
  #player = new GroupPlayer();
  #groups: EventGroup[] = [];
  #readers = 0;
  #reading: AbortController | null = null;
  /** The journal has no more. */
  #isRead = false;
  #next = Promise.withResolvers<void>();

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  get isIdle(): boolean {
    return this.#readers === 0;
  }

  async *follow({ signal, everyMs }: FollowOptions): AsyncGenerator<GroupBatch> {
    const gone = aborted(signal);
    this.#readers += 1;
    let player = this.#player;
    let given = 0;
    let position = 0;
    try {
      await Promise.race([this.#look(everyMs), gone]);
      while (!signal.aborted) {
        const next = this.#next.promise;
        if (player !== this.#player) {
          // It was replaced by another run of this id.
          player = this.#player;
          given = 0;
          position = 0;
        }
        if (player.position > position) {
          const groups = this.#groups.slice(given);
          given = this.#groups.length;
          position = player.position;
          yield { groups, run: player };
          if (player.isOver || player.problem !== null) return;
        } else if (this.#isRead) return;
        // oxlint-disable-next-line no-await-in-loop -- batch by batch
        else await Promise.race([next, gone]);
      }
    } finally {
      this.#leave();
    }
  }

  /** Looks at the journal once; what comes later is read along from then on. */
  async #look(everyMs: number | undefined): Promise<void> {
    if (this.#reading === null || this.#isRead) {
      const reading = new AbortController();
      this.#reading = reading;
      this.#isRead = false;
      const looked = this.#next.promise;
      void this.#read(reading, everyMs);
      return looked;
    }
    const once = await followRun(this.#store, this.#runId, { signal: new AbortController().signal }).next();
    if (once.done !== true) this.#take(once.value);
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    this.#reading?.abort();
    this.#reading = null;
  }

  async #read(reading: AbortController, everyMs: number | undefined): Promise<void> {
    const { signal } = reading;
    try {
      const options = { signal, ...(everyMs === undefined ? {} : { everyMs }) };
      for await (const lines of followRun(this.#store, this.#runId, options)) {
        if (signal.aborted) return;
        this.#take(lines);
      }
    } catch {
      // What cannot be read has no groups; whoever drives the run says what is wrong with its journal.
    }
    if (this.#reading !== reading) return;
    this.#isRead = true;
    this.#looked();
  }

  #take(lines: readonly NumberedLine[]): void {
    const [first] = lines;
    const isOther = first?.line.t === 'run' && this.#player.head !== null && first.line.at !== this.#player.head.at;
    if (isOther || (first?.number === 1 && (lines.at(-1)?.number ?? 0) < this.#player.position)) {
      this.#player = new GroupPlayer();
      this.#groups = [];
    }
    const from = this.#player.position;
    for (const line of lines) {
      const group = line.number > from ? this.#player.feed(line) : null;
      if (group !== null) this.#groups.push(group);
    }
    this.#looked();
  }

  #looked(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
