import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { wrongOption } from '../../json/known-options.ts';
import { describeThrown } from '../../json/to-json.ts';
import { JournalError } from '../format/journal-error.ts';
import type { RunFiles } from './run-files.ts';

/** Which runs to forget. */
export interface PruneLimits {
  /** How many runs that have ended are kept: those last written to, in Postgres those begun last. */
  readonly maxRuns?: number | undefined;
  /** Forgets every run, ended or not, that was not written to for this many days. */
  readonly maxAgeDays?: number | undefined;
}

/** Refuses limits that would remove other runs than was meant, such as all of them for `maxAgeDays: 0` or `maxRuns: null`. */
export function checkPruneLimits(what: string, { maxRuns, maxAgeDays }: PruneLimits): void {
  if (maxRuns !== undefined && !(Number.isSafeInteger(maxRuns) && maxRuns >= 0))
    throw wrongOption(`${what}: the option maxRuns must be a whole number from 0.`);
  if (maxAgeDays !== undefined && !(typeof maxAgeDays === 'number' && maxAgeDays > 0))
    throw wrongOption(`${what}: the option maxAgeDays must be a number above 0.`);
}

const DAY_MS = 86_400_000;

/** How long it works before others have their turn, in milliseconds: a folder may hold a hundred thousand runs. */
const SLICE_MS = 10;

/**
 * Removes runs beyond the limits, never one that is being written, in slices that do not block others. Called again
 * while it works, it makes another pass afterwards; the promise resolves when nothing is left to do.
 */
export function runPruner(files: RunFiles, limits: PruneLimits): () => Promise<void> | undefined {
  const { maxRuns = Infinity, maxAgeDays = Infinity } = limits;
  if (maxRuns === Infinity && maxAgeDays === Infinity) return () => undefined;
  let working: Promise<void> | null = null;
  let asked = false;
  const work = async (): Promise<void> => {
    try {
      while (asked) {
        asked = false;
        await inSlices(pruned(files, maxRuns, Date.now() - maxAgeDays * DAY_MS));
      }
    } catch (error) {
      // Old runs that stay are not a failure of the run that has just begun or ended.
      process.emitWarning(`No runs in ${files.dir} were removed. ${describeThrown(error).message}`);
    } finally {
      working = null;
    }
  };
  return () => {
    asked = true;
    working ??= work();
    return working;
  };
}

async function inSlices(steps: Iterable<void>): Promise<void> {
  let began = performance.now();
  for (const _step of steps) {
    if (performance.now() - began < SLICE_MS) continue;
    // Others have their turn.
    await nextTurn();
    began = performance.now();
  }
}

/** One pass; it yields to others after each step. */
function* pruned(files: RunFiles, maxRuns: number, oldest: number): Generator<void> {
  const found: { readonly runId: string; readonly at: number }[] = [];
  for (const runId of files.ids()) {
    found.push({ runId, at: writtenAt(files, runId) });
    yield;
  }
  const counts = found.length > maxRuns;
  let ended = 0;
  for (const { runId, at } of found.toSorted((a, b) => b.at - a.at)) {
    if (counts && hasEnded(files, runId)) ended += 1;
    const isOver = (at < oldest && files.isRun(runId)) || (ended > maxRuns && hasEnded(files, runId));
    // Another process may have gone on with it since the folder was read.
    if (isOver && writtenAt(files, runId) === at) remove(files, runId);
    yield;
  }
  files.sweep();
}

function writtenAt(files: RunFiles, runId: string): number {
  return statSync(files.pathOf(runId), { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
}

function hasEnded(files: RunFiles, runId: string): boolean {
  // It may have been removed since the folder was read.
  return files.isThere(runId) && files.hasEnded(runId);
}

/** What could not be removed, and was reported: it is tried again at the end of each run. */
const reported = new Set<string>();

/** One that cannot be removed must not keep the others. */
function remove(files: RunFiles, runId: string): void {
  try {
    files.remove(runId, true);
  } catch (error) {
    const path = files.pathOf(runId);
    if (error instanceof JournalError || reported.has(path)) return;
    reported.add(path);
    process.emitWarning(`${path} could not be removed. ${describeThrown(error).message}`);
  }
}
