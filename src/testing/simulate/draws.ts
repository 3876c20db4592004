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

/** All chance of one run. Each draw follows from the seed and its own key alone, so that leaving one out moves no other. */
export interface Draws {
  readonly seed: number;
  /** Everything that was drawn so far. */
  readonly drawn: readonly Drawn[];
  /** Whether something out of the ordinary happens at a place, with this probability. */
  happens(kind: string, place: string, rate: number, says: string): boolean;
  /** A whole number from 0 up to, and never, `below`. It is no draw of its own: it says how something happens. */
  below(key: string, below: number): number;
  /** A source of numbers of its own, for code that draws one after the other. */
  source(key: string): () => number;
}

/** Seeds from here on are bred: they hold the seed that they descend from above these bits. */
const GENERATION = 2 ** 24;
/** A bred run draws this much as its parent did. */
const INHERITED = 0.85;

/** A seed whose run is much like that of `parent`; `child` says which of them. It may be too large to be a safe integer. */
export function bredSeed(parent: number, child: number): number {
  return parent * GENERATION + (child % GENERATION);
}

/** Makes the draws of a seed. With `only` nothing happens but what has one of these keys: how a failure is shrunk. */
export function drawsOf(seed: number, only: ReadonlySet<string> | null): Draws {
  const drawn: Drawn[] = [];
  const at = (key: string): number => drawnAt(seed, hashed(key));
  return {
    seed,
    drawn,
    happens: (kind, place, rate, says) => {
      const key = `${kind} ${place}`;
      if (rate <= 0 || (only !== null && !only.has(key)) || at(key) >= rate * eager(seed, hashed(key))) return false;
      drawn.push({ key, kind, says });
      return true;
    },
    below: (key, below) => Math.floor(at(`how ${key}`) * below),
    source: (key) => {
      let count = 0;
      const start = Math.floor(at(key) * 2 ** 32);
      return () => fraction(start ^ Math.imul(++count, 0x9e3779b1));
    },
  };
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

/**
 * Finds the fewest draws that still give the same failure: whole parts are left out, then halves of them, down to single
 * ones (delta debugging). `fails` runs the seed with these keys alone.
 */
export async function fewest(
  keys: readonly string[],
  fails: (keys: readonly string[]) => Promise<boolean>,
): Promise<readonly string[]> {
  let kept = keys;
  if (kept.length > 0 && (await fails([]))) return [];
  for (let parts = 2; kept.length > 1;) {
    const size = Math.ceil(kept.length / parts);
    let shorter: readonly string[] | null = null;
    for (let from = 0; from < kept.length && shorter === null; from += size) {
      const rest = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await fails(rest)) shorter = rest;
    }
    if (shorter !== null) {
      kept = shorter;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(kept.length, parts * 2);
  }
  return kept;
}
