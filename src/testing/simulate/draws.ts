import { fraction } from '../../recovery/backoff.ts';

/** What was drawn that is not the ordinary course of a run: a fault, another order, an event from outside. */
export interface Drawn {
  /** Where it was drawn; the same place has the same name in every run of a seed. */
  readonly key: string;
  /** The fault, `order` or `reply`. */
  readonly kind: string;
  /** In words. */
  readonly says: string;
}

/**
 * Of all that a seed draws, what happens: the keys of draws. `<key>!` happens there though the seed does not draw it.
 * `without requests 2-4` and `without request 2` leave out requests of the model, `without call 3.1` the first call in the
 * reply to its third; with `without requests 5-` it answers that it is done from the fifth on. Null: everything.
 */
export type Only = ReadonlySet<string> | null;

/** All chance of one run. Each draw follows from the seed and its own key alone, so that leaving one out moves no other. */
export type Draws = ReturnType<typeof drawsOf>;

/** Seeds from here on are bred: they hold the seed that they descend from above these bits. */
const GENERATION = 2 ** 24;
/** The last seed that is read as bred from none. */
export const LAST_UNBRED_SEED = GENERATION - 1;
/** A bred run draws this much as its parent did. */
const INHERITED = 0.85;

/** A seed whose run is much like that of `parent`; `child` says which of them. It may be too large to be a safe integer. */
export function bredSeed(parent: number, child: number): number {
  return parent * GENERATION + (child % GENERATION);
}

/** Makes the draws of a seed. With `only` nothing happens but what it names: how a failure is shrunk. */
export function drawsOf(seed: number, only: Only) {
  const drawn: Drawn[] = [];
  const asked = new Map<string, string>();
  const counts = new Map<string, number>();
  const replies = new Map<number, number>();
  const { left, done } = leftOut(only);
  const at = (key: string): number => drawnAt(seed, hashed(key));
  const isDrawn = (place: number, rate: number): boolean => drawnAt(seed, place) < rate * eager(seed, place);
  const note = (kind: string, key: string): void => {
    const since = `${kind} after ${[...replies.keys()].at(-1) ?? 0}`;
    const count = (counts.get(since) ?? 0) + 1;
    counts.set(since, count);
    asked.set(key, `${since} ${count}`);
  };
  return {
    seed,
    /** Everything that was drawn so far. */
    drawn,
    /** Where something could have happened, by its key, in a form that stays without requests before it. Only with `only`. */
    asked,
    /** The requests that the model got, with how many calls there were in the reply to each. */
    replies,
    /** From this request on the model answers that it is done. */
    done,
    /** Whether something out of the ordinary happens at a place, with this probability. */
    happens: (kind: string, place: string, rate: number, says: string): boolean => {
      if (rate <= 0) return false;
      const key = `${kind} ${place}`;
      if (only !== null) note(kind, key);
      const isForced = only?.has(`${key}!`) === true;
      if (!isForced && only !== null && !only.has(key)) return false;
      if (!isForced && !isDrawn(hashed(key), rate)) return false;
      drawn.push({ key: isForced ? `${key}!` : key, kind, says });
      return true;
    },
    /** Whether this is left out: `request 3`, `call 3.1`. */
    leavesOut: (what: string): boolean => left.has(what),
    /** A whole number from 0 up to, and never, `below`. It is no draw of its own: it says how something happens. */
    below: (key: string, below: number): number => Math.floor(at(`how ${key}`) * below),
    /** A source of numbers of its own, for code that draws one after the other. */
    source: (key: string): (() => number) => {
      let count = 0;
      const start = Math.floor(at(key) * 2 ** 32);
      return () => fraction(start ^ Math.imul(++count, 0x9e3779b1));
    },
  };
}

const LEFT_OUT = /^without (?:(call [\d.]+)|requests? (\d+)(?:-(\d*))?)$/;
/** No run has so many requests. */
const MOST_REQUESTS = 10_000;

function leftOut(only: Only): { readonly left: ReadonlySet<string>; readonly done: number } {
  const left = new Set<string>();
  let done = Infinity;
  for (const key of only ?? []) {
    const [, call, from, to = from] = LEFT_OUT.exec(key) ?? [];
    if (call !== undefined) left.add(call);
    if (to === '') done = Math.min(done, Number(from));
    const last = Math.min(Number(to), MOST_REQUESTS);
    for (let request = Number(from); request <= last; request++) left.add(`request ${request}`);
  }
  return { left, done };
}

/** The keys that leave out these requests, and all from `done` on: `without requests 1-3`, `without request 7`. */
export function withoutRequests(requests: readonly number[], done: number): readonly string[] {
  const ranges: [number, number][] = [];
  for (const request of requests.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === request - 1) last[1] = request;
    else ranges.push([request, request]);
  }
  const rest = done === Infinity ? [] : [`without requests ${done}-`];
  return [
    ...ranges.map(([from, to]) => (from === to ? `without request ${from}` : `without requests ${from}-${to}`)),
    ...rest,
  ];
}

function drawnAt(seed: number, place: number): number {
  if (seed < GENERATION) return fraction(Math.imul(seed | 0, 0x85ebca6b) ^ place);
  if (isInherited(seed, place)) return drawnAt(Math.floor(seed / GENERATION), place);
  return fraction(Math.imul(seed % GENERATION, 0x85ebca6b) ^ place ^ 0x27d4eb2f);
}

function isInherited(seed: number, place: number): boolean {
  return fraction(Math.imul((seed % GENERATION) ^ place, 0xc2b2ae35)) < INHERITED;
}

/** How much oftener something happens where a bred seed draws for itself. */
function eager(seed: number, place: number): number {
  return seed < GENERATION || isInherited(seed, place) ? 1 : 4;
}

/** FNV-1a. */
function hashed(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
