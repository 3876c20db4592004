/**
 * Owns: which smaller run is tried next when a failure is shrunk, and when it is small enough.
 * Does not own: whether a run fails for the same reason (the search's), what is left out of a run (the draws').
 *
 * I1 What is kept fails for the same reason, and has no more records than the run that was found.
 * I2 What failed only for what was drawn does so still: without it what is kept does not fail.
 * I3 How much is tried follows from the runs, not from how fast they are.
 */
import type { Draws } from './draws.ts';

/** A run that was tried. */
export interface SmallerRun {
  readonly only: ReadonlySet<string>;
  readonly draws: Draws;
  readonly records: number;
  /** Whether it fails for the reason for which the first one failed. */
  readonly isSame: boolean;
}

/** Does a run; one that becomes larger than `most` records fails for another reason. */
export type Tries<Run> = (only: ReadonlySet<string>, most: number) => Promise<Run>;

/** What is left of a run. */
interface Left {
  /** The draws, by their place among those of the run that was found. */
  readonly draws: readonly number[];
  /** The requests of the model. */
  readonly requests: readonly number[];
  /** The calls that were left out of replies. */
  readonly without: readonly string[];
}

/** The runs that are tried may have so many records together, which takes some seconds. */
const MOST_RECORDS = 12_000;
/** Draws that are moved because something before them was left out are moved once more so often. */
const MOST_MOVES = 3;
/** To so many earlier places each draw is moved. */
const EARLIER = 8;
/** A run with fewer draws may be larger than one with more, up to this share of the run that was found. */
const SMALL = 0.2;

/** Shrinks one failure. */
export class Shrinking<Run extends SmallerRun> {
  readonly #tries: Tries<Run>;
  /** What was left out from the start. */
  readonly #given: readonly string[];
  readonly #found: number;
  readonly #requests: readonly number[];
  /** The keys of the draws that were found; they change when draws are moved. */
  #keys: readonly string[];
  #smallest: Run;
  #left: Left;
  #spent = 0;
  /** Whether it fails for its reason only with something drawn: a fault, an order, an event from outside. */
  #needsDraws = true;

  /** `replies`: how many the model has, where that is known. */
  constructor(first: Run, replies: number | null, tries: Tries<Run>) {
    this.#smallest = first;
    this.#tries = tries;
    this.#found = first.records;
    this.#given = [...first.only].filter((key) => key.startsWith('without '));
    this.#keys = first.draws.drawn.map(({ key }) => key);
    const last = Math.max(...first.draws.replies.keys(), (replies ?? 0) - 1, 0);
    this.#requests = Array.from({ length: last }, (_, index) => index + 1);
    this.#left = { draws: [...this.#keys.keys()], requests: this.#requests, without: [] };
  }

  /** The smallest run that was found. */
  async smallest(): Promise<Run> {
    this.#needsDraws = !(await this.#isSame(this.#left, 10 * this.#found));
    await this.#cutEnd();
    await this.#holds({ draws: [] });
    let [before, keys] = [Infinity, this.#keys];
    while (this.#size < before || keys !== this.#keys) {
      [before, keys] = [this.#size, this.#keys];
      // Each begins with what the one before has left.
      await this.#round();
    }
    const limit = Math.max(this.#smallest.records, this.#found * SMALL);
    await this.#shrinkDraws(() => true, limit);
    return this.#smallest;
  }

  async #round(): Promise<void> {
    await fewest(this.#left.requests, (requests) => this.#holdsWith(requests));
    await this.#shrinkDraws(() => true);
    await this.#shrinkDraws((key) => key.startsWith('reply '));
    await this.#shrinkReplies();
    await this.#moveEarlier();
  }

  /** Leaves out the last requests, which moves nothing before them: what comes after a failure is often most of a run. */
  async #cutEnd(): Promise<void> {
    const count = this.#left.requests.length;
    for (let size = count; size >= 1; size = Math.floor(size / 2)) {
      const requests = this.#left.requests.slice(0, -size);
      // Each begins with what the one before has left.
      await this.#holdsWith(requests);
    }
  }

  /** The records, and then the draws. */
  get #size(): number {
    return this.#smallest.records + this.#left.draws.length / 1000;
  }

  async #shrinkDraws(isMeant: (key: string) => boolean, limit = this.#smallest.records): Promise<void> {
    const [meant, others] = [true, false].map((is) =>
      this.#left.draws.filter((index) => isMeant(this.#keys[index] ?? '') === is),
    );
    await fewest(meant ?? [], (left) => this.#holds({ draws: [...left, ...(others ?? [])] }, limit));
  }

  /** Single calls of replies that have several, steps of plans among them. */
  async #shrinkReplies(): Promise<void> {
    for (const [request, count] of this.#smallest.draws.replies) {
      if (count < 2) continue;
      const { without } = this.#left;
      const calls = Array.from({ length: count }, (_, index) => `without call ${request}.${index + 1}`);
      const rest = calls.filter((call) => !without.includes(call));
      // Each begins with what the one before has left.
      await fewest(rest, async (left) => {
        if (left.length === 0) return false;
        const gone = { without: [...without, ...rest.filter((call) => !left.includes(call))] };
        const most = this.#smallest.records - 1;
        // A fault at a call may be all that the other one was needed for.
        return (await this.#holds(gone, most)) || this.#holds({ ...gone, draws: this.#replyDraws() }, most);
      });
    }
  }

  /**
   * Lets happen earlier what happens: a crash at the first write rather than the last. Also where no record is saved by it: what
   * needs it can come earlier then, and what comes after it goes.
   */
  async #moveEarlier(): Promise<void> {
    for (const index of this.#left.draws) {
      const key = bare(this.#keys[index] ?? '');
      const kind = kindIn(key);
      const asked = [...this.#smallest.draws.asked.keys()].filter((one) => kindIn(one) === kind);
      const earlier = kind === 'reply' ? [] : asked.slice(0, Math.max(0, asked.indexOf(key)));
      const step = Math.max(1, earlier.length / EARLIER);
      const places = Array.from(
        { length: Math.min(EARLIER, earlier.length) },
        (_, at) => earlier[Math.floor(at * step)],
      );
      for (const place of places) {
        const keys = this.#keys.with(index, `${place}!`);
        if (await this.#holds({}, this.#smallest.records, keys)) break;
      }
    }
  }

  /** With these requests alone, and what was drawn behind one of them. */
  #holdsWith(requests: readonly number[]): Promise<boolean> {
    const { asked } = this.#smallest.draws;
    const draws = this.#left.draws.filter((index) => {
      const key = bare(this.#keys[index] ?? '');
      const request = Number(/ after (\d+) /.exec(asked.get(key) ?? '')?.[1] ?? 0);
      return kindIn(key) === 'reply' || request === 0 || requests.includes(request);
    });
    return this.#holds({ requests, draws });
  }

  /** Tries a smaller run; keeps it where it still fails and has no more records than `limit`. */
  async #holds(change: Partial<Left>, limit = this.#smallest.records, keys = this.#keys): Promise<boolean> {
    const left = { ...this.#left, ...change };
    let names = keys;
    for (let move = 0; move < MOST_MOVES && this.#spent < MOST_RECORDS; move++) {
      const tried = await this.#tries(new Set(this.#only(left, names)), limit);
      this.#spent += tried.records;
      if (tried.isSame && tried.records <= limit) {
        const isSmaller = left.requests !== this.#left.requests || left.without !== this.#left.without;
        if (this.#needsDraws && isSmaller && (await this.#isSame(left, 10 * this.#found))) return false;
        [this.#smallest, this.#left, this.#keys] = [tried, left, names];
        return true;
      }
      const moved = left.draws.reduce((all, index) => all.with(index, this.#moved(all[index] ?? '', tried)), names);
      if (moved.every((key, index) => key === names[index])) return false;
      names = moved;
    }
    return false;
  }

  /** Whether it fails for the reason also where nothing is drawn but what the model says. */
  async #isSame(left: Left, most: number): Promise<boolean> {
    const tried = await this.#tries(new Set(this.#only({ ...left, draws: this.#replyDraws(left) }, this.#keys)), most);
    this.#spent += tried.records;
    return tried.isSame;
  }

  /** What is drawn of what the model says. */
  #replyDraws({ draws }: Left = this.#left): readonly number[] {
    return draws.filter((index) => this.#keys[index]?.startsWith('reply ') === true);
  }

  #only({ draws, requests, without }: Left, keys: readonly string[]): readonly string[] {
    const gone = this.#requests.filter((request) => !requests.includes(request));
    return [...draws.map((index) => keys[index] ?? ''), ...this.#given, ...rangesOf(gone), ...without];
  }

  /** Where a draw comes to the same moment in a run that was tried: behind the same request of the model. */
  #moved(key: string, { draws: { asked } }: SmallerRun): string {
    const moment = this.#smallest.draws.asked.get(bare(key));
    if (kindIn(key) === 'reply' || moment === undefined || asked.get(bare(key)) === moment) return key;
    for (const [place, other] of asked) if (other === moment) return `${place}!`;
    return key;
  }
}

const bare = (key: string): string => key.replace(/!$/, '');
const kindIn = (key: string): string => key.slice(0, key.indexOf(' '));

/** `without requests 1-3`, `without request 7`. */
function rangesOf(requests: readonly number[]): readonly string[] {
  const ranges: [number, number][] = [];
  for (const request of requests) {
    const last = ranges.at(-1);
    if (last?.[1] === request - 1) last[1] = request;
    else ranges.push([request, request]);
  }
  return ranges.map(([from, to]) => (from === to ? `without request ${from}` : `without requests ${from}-${to}`));
}

/**
 * The fewest of these items with which something still holds: whole parts are left out, then halves of them, down to single
 * ones (delta debugging).
 */
async function fewest<T>(items: readonly T[], holds: (left: readonly T[]) => Promise<boolean>): Promise<void> {
  let kept = items;
  if (kept.length === 0 || (await holds([]))) return;
  for (let parts = 2; kept.length > 1;) {
    const size = Math.ceil(kept.length / parts);
    let shorter: readonly T[] | null = null;
    for (let from = 0; from < kept.length && shorter === null; from += size) {
      const rest = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await holds(rest)) shorter = rest;
    }
    if (shorter !== null) {
      kept = shorter;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) return;
    else parts = Math.min(kept.length, parts * 2);
  }
}
