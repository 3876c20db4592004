import type { Backoff } from './backoff.ts';

/** Ready-made waits between attempts, as data. Times in milliseconds. */
export const recover = {
  /** Doubles (`factor`) from `baseMs` up to `maxMs`, each shortened at random by up to the share `jitter`. */
  exponential: ({
    baseMs = 250,
    factor = 2,
    maxMs = 30_000,
    jitter = 0.5,
  }: Partial<Omit<Extract<Backoff, { kind: 'exponential' }>, 'kind'>> = {}): Backoff => ({
    kind: 'exponential',
    baseMs,
    factor,
    maxMs,
    jitter,
  }),
  /** The same wait each time. */
  constant: (ms: number): Backoff => ({ kind: 'constant', ms }),
};
