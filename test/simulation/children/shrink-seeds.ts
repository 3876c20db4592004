/** Simulates the subjects in long runs, and prints as JSON what their first failures were shrunk to. Arguments: seeds of each, seconds at most. */
import { LONG_SUBJECTS } from '../long-subjects.ts';
import { type ShrunkFailure, shrunkFailure } from '../shrunk-failures.ts';

const [seeds = 100, seconds = 30] = process.argv.slice(2).map(Number);
const began = performance.now();
const shrunk: ShrunkFailure[] = [];
for (const { name, agent, options } of LONG_SUBJECTS) {
  const budgetMs = seconds * 1000 - (performance.now() - began);
  if (budgetMs <= 0) break;
  const list = Array.from({ length: seeds }, (_, index) => index + 1);
  // One after the other: time is the whole process's.
  const failure = await shrunkFailure(name, agent, { ...options, seeds: list, budgetMs });
  if (failure !== null) shrunk.push(failure);
}
console.log(JSON.stringify(shrunk));
process.exit(0);
