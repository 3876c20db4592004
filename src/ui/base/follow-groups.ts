/**
 * Owns: the groups of a run for any number of readers of this process: its records are read and played once. Does not own: what
 * is made of them.
 *
 * I1 What is cached here is what the journal holds: a reader receives nothing before the journal was read for it.
 * I2 What a batch says of the run is true after its last group, however late it is read.
 * I3 A long run is played in parts: the process has time for others between them, and readers receive each part.
 * I4 Without a reader, nothing is fetched; the replayed part of the latest runs is kept for returning readers.
 */
import { aborted } from '../../agent/kept-conversation.ts';
import { type FollowOptions, type Followed, type NumberedLine, followRun } from '../../journal/run/follow-run.ts';
import { type EventGroup, GroupPlayer, type GroupStanding } from './event-groups.ts';

/** Groups that came together, and how the run stands behind them. */
export interface GroupBatch {
  readonly groups: readonly EventGroup[];
  readonly run: GroupStanding;
  /** All that was recorded when the journal was read is played. */
  readonly isWhole: boolean;
}

/** How many runs without a reader are kept per journal. */
const KEPT_RUNS = 32;

/** Runs are played for so many milliseconds at a time. */
export const PART_MS = 10;

/** Resolves after so many milliseconds, when others have had their turn. */
export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const played = new WeakMap<Followed, Map<string, PlayedRun>>();

/**
 * The groups of a run as they are recorded, in whatever process: first all existing ones, then batch by batch. Ends after
 * the run's end, if another version recorded it, when the signal aborts, and at once if there is no such run.
 */
export function followGroups(store: Followed, runId: string, options: FollowOptions): AsyncGenerator<GroupBatch> {
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
  readonly #store: Followed;
  readonly #runId: string;
  #player = new GroupPlayer();
  #groups: EventGroup[] = [];
  #readers = 0;
  #reading: AbortController | null = null;
  /** The journal's state of the run when it was last replayed to its end. */
  #seen: string | null = null;
  /** The journal has no more. */
  #isRead = false;
  /** More is known of the run than was played. */
  #isBehind = false;
  #taken: Promise<void> = Promise.resolve();
  #next = Promise.withResolvers<void>();

  constructor(store: Followed, runId: string) {
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
          const isWhole = !this.#isBehind;
          const run = { ...player.standing, isWaiting: player.isWaiting && isWhole };
          yield { groups, run, isWhole };
          if (run.isOver || run.problem !== null) return;
        } else if (this.#isRead) return;
        else await Promise.race([next, gone]);
      }
    } finally {
      this.#leave();
    }
  }

  /** Looks at the journal once; what comes later is read along from then on. */
  async #look(everyMs: number | undefined): Promise<void> {
    // If it is unchanged, all of it was replayed.
    const isPlayed = this.#seen !== null && (await this.#store.revision?.(this.#runId)) === this.#seen;
    if (this.#reading === null || this.#isRead) {
      const reading = new AbortController();
      this.#reading = reading;
      this.#isRead = false;
      const looked = this.#next.promise;
      void this.#read(reading, everyMs);
      return isPlayed ? undefined : looked;
    }
    if (isPlayed) return undefined;
    const { position } = this.#player;
    const once = await followRun(this.#store, this.#runId, { signal: new AbortController().signal }).next();
    if (once.done !== true) await this.#take(once.value, position);
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    this.#reading?.abort();
    this.#reading = null;
  }

  async #read(reading: AbortController, everyMs: number | undefined): Promise<void> {
    const { signal } = reading;
    const { position } = this.#player;
    let revision: string | null = null;
    const onLook = (latest: string | null): void => {
      revision = latest;
    };
    try {
      const options = { signal, seen: this.#seen, onLook, ...(everyMs === undefined ? {} : { everyMs }) };
      for await (const lines of followRun(this.#store, this.#runId, options)) {
        if (signal.aborted) return;
        await this.#take(lines, position);
        this.#seen = revision;
      }
    } catch {
      // A run that cannot be read has no groups; its driver reports what is wrong with its journal.
    }
    if (this.#reading !== reading) return;
    this.#isRead = true;
    this.#looked();
  }

  /** Plays what is new of these lines, behind what is being played. `since`: the position when the journal was asked. */
  #take(lines: readonly NumberedLine[], since: number): Promise<void> {
    this.#taken = this.#taken.then(() => this.#play(lines, since));
    return this.#taken;
  }

  async #play(lines: readonly NumberedLine[], since: number): Promise<void> {
    const [first] = lines;
    const isOther = first?.line.t === 'run' && this.#player.head !== null && first.line.at !== this.#player.head.at;
    // Fewer lines than were played by now may only be an older look at the journal.
    if (isOther || (first?.number === 1 && (lines.at(-1)?.number ?? 0) < since)) {
      this.#player = new GroupPlayer();
      this.#groups = [];
    }
    const fresh = lines.filter(({ number }) => number > this.#player.position);
    let until = performance.now() + PART_MS;
    for (const [index, line] of fresh.entries()) {
      const group = this.#player.feed(line);
      if (group !== null) this.#groups.push(group);
      this.#isBehind = index < fresh.length - 1;
      if (!this.#isBehind || performance.now() < until) continue;
      this.#looked();
      await sleep(0);
      until = performance.now() + PART_MS;
    }
    this.#looked();
  }

  #looked(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }
}
