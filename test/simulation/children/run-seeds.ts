/** Simulates the subjects and prints the first failure as JSON, or null. Arguments: seeds in all, seconds at most. */
import { simulate } from '../../../src/testing/index.ts';
import { SUBJECTS } from '../subjects.ts';

const [seeds = 100, seconds = 30] = process.argv.slice(2).map(Number);
const began = performance.now();
const ROUND = 50;

/** A little of each subject, then more, so that what one of them shows is not waited for. */
async function firstFailure(): Promise<string | null> {
  for (let from = 1, size = ROUND; from <= seeds / SUBJECTS.length; from += size, size *= 2)
    for (const { name, agent, options } of SUBJECTS) {
      const budgetMs = seconds * 1000 - (performance.now() - began);
      if (budgetMs <= 0) return null;
      const list = Array.from({ length: size }, (_, index) => from + index);
      // One after the other: time is the whole process's.
      const { failures } = await simulate(agent, { ...options, seeds: list, budgetMs, maxFailures: 1 });
      const [failure] = failures;
      if (failure !== undefined)
        return `${name}, seed ${failure.seed}: ${failure.check}: ${failure.reason.slice(0, 100)}`;
    }
  return null;
}

console.log(JSON.stringify(await firstFailure()));
process.exit(0);
