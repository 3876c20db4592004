import { statSync } from 'node:fs';
import { JournalError } from './journal-error.ts';
import type { RunFiles } from './run-files.ts';

/** Which runs to forget. */
export interface PruneLimits {
  /** How many runs that have ended are kept, those last written to. */
  readonly maxRuns?: number | undefined;
  /** Forgets every run, ended or not, that was not written to for so many days. */
  readonly maxAgeDays?: number | undefined;
}

const DAY_MS = 86_400_000;

/** Removes the runs beyond the limits, never one that is being written, and gives their ids. */
export function pruneRuns(files: RunFiles, limits: PruneLimits): readonly string[] {
  return runsBeyond(files, limits).filter((runId) => isRemoved(files, runId));
}

/** The runs beyond the limits, those that are being written included. */
export function runsBeyond(
  files: RunFiles,
  { maxRuns = Infinity, maxAgeDays = Infinity }: PruneLimits,
): readonly string[] {
  if (maxRuns === Infinity && maxAgeDays === Infinity) return [];
  const found = files
    .ids()
    .map((runId) => ({ runId, at: statSync(files.pathOf(runId), { throwIfNoEntry: false })?.mtimeMs ?? Infinity }))
    .toSorted((a, b) => b.at - a.at);
  const oldest = Date.now() - maxAgeDays * DAY_MS;
  const counts = found.length > maxRuns;
  let ended = 0;
  const beyond = found.filter(({ runId, at }) => {
    if (at < oldest) return true;
    if (counts && files.hasEnded(runId)) ended += 1;
    return ended > maxRuns && files.hasEnded(runId);
  });
  return beyond.map(({ runId }) => runId);
}

function isRemoved(files: RunFiles, runId: string): boolean {
  try {
    return files.remove(runId);
  } catch (error) {
    if (error instanceof JournalError) return false;
    throw error;
  }
}
