/**
 * Owns: which smaller run is tried next when a failure is shrunk, and when it is small enough.
 * Does not own: whether a run fails for the same reason (the search's), what is left out of a run (the draws').
 *
 * I1 What is kept fails for the same reason, and has no more records than the run that was found.
 * I2 What failed only for what was drawn does so still: without it what is kept does not fail.
 * I3 How much is tried follows from the runs, not from how fast they are.
 */
import { type Draws, withoutRequests } from './draws.ts';

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
  /** The requests of the model that were left out. */
  readonly gone: readonly number[];
  /** From this request on the model says that it is done. */
  readonly done: number;
  /** The calls that were left out of replies. */
  readonly without: readonly string[];
}

/** The runs that are tried may have so many records together, which takes some seconds. */
const MOST_RECORDS = 12_000;
/** Of these, so many may be of runs in which each draw is tried at all places: runs with no or one request. */
const MOST_PROBED = 4000;
/** Of a longer run the first requests are left out before all else: what is tried costs as much as it is long. */
const LONG = 50;
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
  /** How many replies the model has, where that is known. */
  readonly #replies: number | null;
  /** The keys of the draws that were found; they change when draws are moved. */
  #keys: readonly string[];
  #smallest: Run;
  /** The keys that were tried last, and where something could have been drawn then. */
  #last: { readonly asked: Draws['asked']; readonly keys: readonly string[] };
  #left: Left;
  /** Where something could have been drawn in the runs that are not kept, by what they were tried with. */
  readonly #failed = new Map<string, Draws['asked']>();
  #spent = 0;
  #probed = 0;
  /** Whether it fails for its reason only with something drawn: a fault, an order, an event from outside. */
  #needsDraws = true;

  constructor(first: Run, replies: number | null, tries: Tries<Run>) {
    this.#smallest = first;
    this.#tries = tries;
    this.#found = first.records;
    this.#given = [...first.only].filter((key) => key.startsWith('without '));
    this.#keys = first.draws.drawn.map(({ key }) => key);
    this.#last = { asked: first.draws.asked, keys: this.#keys };
    this.#replies = replies;
    this.#left = { draws: [...this.#keys.keys()], gone: [], done: Infinity, without: [] };
  }

  /** The smallest run that was found. */
  async smallest(): Promise<Run> {
    this.#needsDraws = !(await this.#isSame(this.#left, 10 * this.#found));
    let [before, keys] = [Infinity, this.#keys];
    while (this.#size < before || keys !== this.#keys) {
      [before, keys] = [this.#size, this.#keys];
      // Each begins with what the one before has left.
      await this.#round();
    }
    const limit = Math.max(this.#smallest.records, this.#found * SMALL);
    this.#failed.clear();
    await this.#shrinkDraws(() => true, limit);
    return this.#smallest;
  }

  async #round(): Promise<void> {
    const isLong = this.#smallest.records > LONG;
    await this.#cutEnd();
    if (isLong) await this.#cutStart();
    await this.#holds({ draws: [] });
    await fewest(this.#requests(), (left) => this.#holds(this.#with(left)));
    await this.#shrinkDraws(() => true);
    await this.#shrinkDraws((key) => key.startsWith('reply '));
    await this.#shrinkReplies();
    await this.#moveEarlier();
    if (!isLong) await this.#cutStart();
  }

  /** Leaves out the last requests: what comes after a failure is often most of a run. */
  async #cutEnd(): Promise<void> {
    const all = this.#requests();
    await leastCount(all.length, (count) => {
      const { draws, gone } = this.#with(all.slice(0, count));
      // What a model says at last is not always known.
      const change = this.#replies === null ? { draws, done: all[count] ?? Infinity } : { draws, gone };
      return this.#holds(change, this.#smallest.records - 1);
    });
  }

  /** Leaves out the first requests. */
  async #cutStart(): Promise<void> {
    const all = this.#requests();
    const done = this.#replies === null ? Math.min(this.#left.done, (all.at(-1) ?? 0) + 1) : Infinity;
    await leastCount(all.length, async (count) => {
      const change = { ...this.#with(all.slice(all.length - count)), done };
      const most = this.#smallest.records - 1;
      return (
        (await this.#holds(change, most)) || (this.#needsDraws && count <= 1 && this.#holdsElsewhere(change, most))
      );
    });
  }

  /** The requests that could be left out. */
  #requests(): readonly number[] {
    const { gone, done } = this.#left;
    const last = Math.max(...this.#smallest.draws.replies.keys(), (this.#replies ?? 0) - 1, 0);
    return Array.from({ length: last }, (_, index) => index + 1).filter((one) => one < done && !gone.includes(one));
  }

  /** These requests alone, and what was drawn behind one of them or before all. */
  #with(requests: readonly number[]): Pick<Left, 'draws' | 'gone'> {
    const { asked } = this.#smallest.draws;
    const draws = this.#left.draws.filter((index) => {
      const key = bare(this.#keys[index] ?? '');
      const request = Number(/ after (\d+) /.exec(asked.get(key) ?? '')?.[1] ?? 0);
      return kindIn(key) === 'reply' || request === 0 || requests.includes(request);
    });
    return { draws, gone: [...this.#left.gone, ...this.#requests().filter((one) => !requests.includes(one))] };
  }

  /** The records, and then the draws. */
  get #size(): number {
    return this.#smallest.records + this.#left.draws.length / 1000;
  }

  async #shrinkDraws(isMeant: (key: string) => boolean, limit = this.#smallest.records): Promise<void> {
    const meant = this.#left.draws.filter((index) => isMeant(this.#keys[index] ?? ''));
    const others = this.#left.draws.filter((index) => !meant.includes(index));
    await fewest(meant, (left) => this.#holds({ draws: [...left, ...others] }, limit));
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
      const step = Math.ceil(earlier.length / EARLIER);
      for (const place of earlier.filter((_place, at) => at % step === 0))
        if (await this.#holds({}, this.#smallest.records, this.#keys.with(index, `${place}!`))) break;
    }
  }

  /** With a draw at any place, and with one of each kind alone: where less comes before it, its moment is not easily told. */
  async #holdsElsewhere(change: Pick<Left, 'draws' | 'gone'>, limit: number): Promise<boolean> {
    const { asked, keys } = this.#last;
    const alone = new Map([...keys.keys()].map((index) => [kindIn(keys[index] ?? ''), [...this.#replyDraws(), index]]));
    for (const draws of [change.draws, ...alone.values()])
      for (const index of draws)
        for (const place of asked.keys()) {
          if (kindIn(place) !== kindIn(keys[index] ?? '') || this.#probed > MOST_PROBED) continue;
          const before = this.#spent;
          if (await this.#holds({ ...change, draws }, limit, keys.with(index, `${place}!`), 1)) return true;
          this.#probed += this.#spent - before;
        }
    return false;
  }

  /** Tries a smaller run; keeps it where it still fails and has no more records than `limit`. */
  async #holds(
    change: Partial<Left>,
    limit = this.#smallest.records,
    keys = this.#keys,
    moves = MOST_MOVES,
  ): Promise<boolean> {
    const left = { ...this.#left, ...change };
    let names = keys;
    for (let move = 0; move < moves && this.#spent < MOST_RECORDS; move++) {
      const only = this.#only(left, names);
      const name = only.toSorted().join();
      const known = this.#failed.get(name);
      const tried = known === undefined ? await this.#tries(new Set(only), limit) : null;
      const asked = tried?.draws.asked ?? known ?? new Map();
      this.#spent += tried?.records ?? 0;
      this.#last = { asked, keys: names };
      if (tried?.isSame === true && tried.records <= limit) {
        const leavesOut = Object.keys(change).some((key) => key !== 'draws');
        if (this.#needsDraws && leavesOut && (await this.#isSame(left, 10 * this.#found))) return false;
        [this.#smallest, this.#left, this.#keys] = [tried, left, names];
        return true;
      }
      // What is one record too large may yet be as small as another.
      if (tried?.records !== limit + 1) this.#failed.set(name, asked);
      const moved = left.draws.reduce((all, index) => all.with(index, this.#moved(all[index] ?? '', asked)), names);
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

  #only({ draws, gone, done, without }: Left, keys: readonly string[]): readonly string[] {
    return [...draws.map((index) => keys[index] ?? ''), ...this.#given, ...withoutRequests(gone, done), ...without];
  }

  /** Where a draw comes to the same moment in a run that was tried: behind the same request of the model. */
  #moved(key: string, asked: Draws['asked']): string {
    const moment = this.#smallest.draws.asked.get(bare(key));
    if (kindIn(key) === 'reply' || moment === undefined || asked.get(bare(key)) === moment) return key;
    for (const [place, other] of asked) if (other === moment) return `${place}!`;
    return key;
  }
}

const bare = (key: string): string => key.replace(/!$/, '');
const kindIn = (key: string): string => key.slice(0, key.indexOf(' '));

/** The least count with which something holds, at least roughly; few are tried first, which costs least. */
async function leastCount(all: number, holds: (count: number) => Promise<boolean>): Promise<void> {
  let [fails, count] = [-1, 0];
  while (count < all && !(await holds(count))) [fails, count] = [count, 2 * count + 1];
  count = Math.min(count, all);
  for (let middle = (fails + count) >> 1; middle > fails; middle = (fails + count) >> 1)
    if (await holds(middle)) count = middle;
    else fails = middle;
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
