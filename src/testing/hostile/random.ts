import { fraction } from '../../recovery/backoff.ts';

/** Chance that follows from a seed alone. */
export interface Random {
  /** From 0 up to, and never, 1. */
  next(): number;
  /** A whole number from 0 up to, and never, `below`. */
  below(count: number): number;
  chance(probability: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(list: readonly [T, ...(readonly T[])]): T;
}

/** The same seed gives the same draws, on every machine. */
export function seeded(seed: number): Random {
  let drawn = 0;
  // Mixed twice: seeds are small numbers in a row, and their first draws must not be alike.
  const start = Math.floor(fraction(Math.imul(seed | 0, 0x85ebca6b)) * 2 ** 32) | 0;
  const next = (): number => fraction(start ^ Math.imul(++drawn, 0x9e3779b1));
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)] ?? list[0],
  };
}
