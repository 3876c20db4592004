import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cases } from '../support/soak.ts';
import { UNDISTURBED, expectUnharmed } from './laws.ts';
import { doJob, workplace } from './start-child.ts';

/** Kills are done two at a time. */
const AT_ONCE = 2;

async function linesOfARun(): Promise<number> {
  const place = workplace();
  await doJob({ ...place, runs: ['calm'], kill: null });
  expectUnharmed({ ...place, run: 'calm' });
  const lines = readFileSync(`${place.dir}/calm.jsonl`, 'utf8').trimEnd().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '{}').output.result).toBe(UNDISTURBED.result);
  return lines.length;
}

/** Every record in a soak; in the suite every eleventh, so that whole and torn lines take turns, and one is within the payment. */
test('a process that is killed behind any record, or within the next, costs no run anything', async () => {
  const count = await linesOfARun();
  expect(count).toBeGreaterThan(35);
  const place = workplace();
  // Beside the run that is killed at a record goes another one, which is killed wherever it happens to be.
  const kills = Array.from({ length: count + 1 }, (_, line) => ({
    runs: [`at-${line}`, `beside-${line}`],
    kill: { run: `at-${line}`, line, torn: line % 2 === 0 },
  })).filter((_kill, line) => line % cases(11, 1) === cases(4, 0));
  const killNext = async (): Promise<void> => {
    for (let job = kills.shift(); job !== undefined; job = kills.shift())
      expect(await doJob({ ...place, ...job }), `killed at ${job.kill.run}`).toBe('killed');
  };
  const runs = kills.flatMap((job) => job.runs);
  await Promise.all(Array.from({ length: AT_ONCE }, killNext));
  expect(await doJob({ ...place, runs, kill: null })).toBe('done');
  for (const run of runs) expectUnharmed({ ...place, run });
}, 300_000);
