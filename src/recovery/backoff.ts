/** How long to wait before the next attempt: plain data, so that it can stand in a recording. Times in milliseconds. */
export type Backoff =
  | {
      readonly kind: 'exponential';
      readonly baseMs: number;
      readonly factor: number;
      readonly maxMs: number;
      /** 0: always the full delay; 1: anything between nothing and the full delay. */
      readonly jitter: number;
    }
  | { readonly kind: 'constant'; readonly ms: number };

/** Waits 250 ms, 500 ms, 1 s … up to 30 s, each shortened at random by up to half. */
export const DEFAULT_BACKOFF = { kind: 'exponential', baseMs: 250, factor: 2, maxMs: 30_000, jitter: 0.5 } as const;

/** What a busy or failing server is given by default: 1 s, 2 s, 4 s …, shortened by up to a quarter. */
export const BUSY_BACKOFF: Backoff = { kind: 'exponential', baseMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.25 };

/**
 * The delay after failed attempt number `attempt` (from 1). The same seed gives the same delays, so replays and tests can
 * predict them.
 */
export function backoffMs(backoff: Backoff, attempt: number, seed: number): number {
  if (backoff.kind === 'constant') return backoff.ms;
  const full = Math.min(backoff.maxMs, backoff.baseMs * backoff.factor ** (attempt - 1));
  return Math.round(full * (1 - backoff.jitter * fraction(seed + attempt * 0x9e3779b1)));
}

/** A number from 0 to 1 that follows from the seed alone (mulberry32). */
export function fraction(seed: number): number {
  let mixed = (seed + 0x6d2b79f5) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}
