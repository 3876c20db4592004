import { statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cases, seedOr } from '../support/soak.ts';
import { expectUnharmed, restartsOf } from './laws.ts';
import { doJob, endOf, startChild, workplace } from './start-child.ts';

const RUNS_IN_A_BATCH = cases(8, 35);
const KILLS = cases(3, 4);
const FIRST = seedOr(0);
const SEEDS = Array.from({ length: cases(1, 10) }, (_, n) => FIRST + 2 * n);

/** A seeded random number from 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Waits until tools have noted so many more bytes, or the process is over. */
async function untilGrown(log: string, bytes: number, isOver: () => boolean): Promise<void> {
  const size = (): number => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const goal = size() + bytes;
  while (size() < goal && !isOver()) await wait(1);
}

/** The most often that one of the runs of a batch was taken up again. */
async function disturbedBatch(batch: number): Promise<number> {
  const random = randomOf(batch + 1);
  const place = workplace();
  const runs = Array.from({ length: RUNS_IN_A_BATCH }, (_, n) => `run-${batch}-${n}`);
  for (let kill = 0; kill < KILLS; kill++) {
    const child = startChild({ ...place, runs, kill: null });
    const ended = endOf(child);
    await untilGrown(place.log, 1 + random() * 340 * RUNS_IN_A_BATCH, () => child.exitCode !== null);
    child.kill('SIGKILL');
    await ended;
  }
  expect(await doJob({ ...place, runs, kill: null })).toBe('done');
  for (const run of runs) expectUnharmed({ ...place, run });
  return Math.max(...runs.map((run) => restartsOf(place.dir, run)));
}

test.each(SEEDS)(
  'runs whose process is killed again and again end as if nothing had been, seed %i',
  async (seed) => {
    const restarts = await Promise.all([disturbedBatch(seed), disturbedBatch(seed + 1)]);
    expect(Math.min(...restarts)).toBeGreaterThan(1);
  },
  300_000,
);
