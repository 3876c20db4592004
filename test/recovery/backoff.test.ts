import { describe, expect, test } from 'vitest';
import { backoffMs, fraction } from '../../src/recovery/backoff.ts';
import { recover } from '../../src/recovery/recover.ts';

const attempts = [1, 2, 3, 4, 5, 6, 7, 8, 9];

describe('recover.exponential', () => {
  test('doubles from a quarter of a second up to half a minute, each shortened by up to half', () => {
    expect(recover.exponential()).toEqual({ kind: 'exponential', baseMs: 250, factor: 2, maxMs: 30_000, jitter: 0.5 });
    const exact = recover.exponential({ jitter: 0 });
    const full = [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000];
    expect(attempts.map((attempt) => backoffMs(exact, attempt, 7))).toEqual(full);
    for (let seed = 0; seed < 50; seed++) {
      for (const [at, most] of full.entries()) {
        const ms = backoffMs(recover.exponential(), at + 1, seed);
        expect(ms).toBeGreaterThanOrEqual(most / 2);
        expect(ms).toBeLessThanOrEqual(most);
      }
    }
  });

  test('gives the same waits for the same seed, others for another, and another share for each attempt', () => {
    const flat = recover.exponential({ factor: 1, maxMs: 1_000_000, baseMs: 1_000_000 });
    const waits = (seed: number) => attempts.map((attempt) => backoffMs(flat, attempt, seed));
    expect(waits(3)).toEqual(waits(3));
    expect(waits(3)).not.toEqual(waits(4));
    expect(new Set(waits(3)).size).toBe(attempts.length);
  });
});

test('recover.constant is the same wait each time', () => {
  expect(attempts.map((attempt) => backoffMs(recover.constant(40), attempt, attempt))).toEqual(attempts.map(() => 40));
});

test('shares are spread over all between none and whole', () => {
  const shares = Array.from({ length: 1000 }, (_, seed) => fraction(seed));
  expect(shares.every((share) => share >= 0 && share < 1)).toBe(true);
  for (const tenth of [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    expect(shares.filter((share) => share >= tenth && share < tenth + 0.1).length).toBeGreaterThan(60);
});
