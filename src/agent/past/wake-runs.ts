/**
 * Owns: which stored runs can continue, and continuing them. Does not own: how a run is resumed.
 *
 * I1 The store lists at least the runs that may continue; whether one can, its machines say.
 * I2 Of several that wake a run at the same time, one continues it and reports it.
 * I3 A run that only waits for people, or for a time that has not come, is left alone, and so is one that a process drives.
 */
import { type AllGiven, wrongOption } from '../../json/known-options.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import { playRecording } from '../../journal/replay/replay.ts';
import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { WakeOptions, WokenRun } from '../options/run-options.ts';
import type { AnyRun } from '../run/run.ts';

/** What waking runs needs of their agent. */
export interface Sleeper {
  readonly agent: string;
  readonly store: JournalStore;
  /** Rejects with a `JournalError` (`run-locked`) if the run, once it was taken, is not to be continued. */
  readonly resume: (runId: string, context: unknown, isWanted: (recording: Recording) => boolean) => AnyRun;
}

/** Continues the stored runs of an agent that can, the oldest first, one after the other. */
export async function wakeRuns(
  { agent, store, resume }: Sleeper,
  { due: by = Date.now(), limit = 100, context, contextFor = () => context }: WakeOptions,
): Promise<readonly WokenRun[]> {
  const due = new Date(by);
  if (store.list === undefined || store.read === undefined || store.take === undefined)
    throw wrongOption('agent.wake needs a journal whose runs can be listed and resumed.');
  const listed = await store.list({ agent, due: due.toISOString() });
  // A store that does not know when runs may continue may list others.
  const asleep = listed.filter(({ state }) => state === 'waiting' || state === 'interrupted');
  const woken: WokenRun[] = [];
  let left = limit;
  for (const run of asleep.toSorted(oldestFirst)) {
    if (left <= 0) break;
    const one = await wake(run, due, { store, resume, contextFor });
    if (one !== null) woken.push(one);
    if (one?.error === null) left -= 1;
  }
  return woken;
}

/** Null: it cannot continue, or another process has it. */
async function wake(
  run: RunSummary,
  due: Date,
  { store, resume, contextFor }: Pick<Sleeper, 'store' | 'resume'> & AllGiven<Pick<WakeOptions, 'contextFor'>>,
): Promise<WokenRun | null> {
  const { runId } = run;
  try {
    const recording = (await store.read?.(runId)) ?? null;
    if (recording === null || !canContinue(recording, due)) return null;
    const known = recording.lines.length;
    // Another may have continued it meanwhile: to its end, or to where it waits again.
    const isWanted = (taken: Recording): boolean => taken.lines.length === known || canContinue(taken, due);
    const result: AnyResult = await resume(runId, await contextFor(run), isWanted);
    return { runId, result, error: null };
  } catch (error) {
    if (error instanceof JournalError && error.code === 'run-locked') return null;
    return { runId, result: null, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/**
 * Whether a run has something to do at a given time, according to its machines. One that these machines cannot replay
 * reports so when it is resumed.
 */
export function canContinue(recording: Recording, due: Date): boolean {
  try {
    const { driven, past } = playRecording(recording);
    if (!driven.isActive()) return false;
    const age = due.getTime() - Date.parse(recording.head.at);
    const open = [...past.inFlight(), ...past.unstarted().map((wanted) => ({ ...wanted, at: past.at() }))];
    const isWork = ({ effect: { name, ms }, at }: (typeof open)[number]): boolean =>
      ms === undefined ? name !== 'askApproval' : at + ms <= age;
    return open.length === 0 || open.some(isWork);
  } catch (error) {
    if (error instanceof ReplayDivergenceError) return true;
    throw error;
  }
}

function oldestFirst(a: RunSummary, b: RunSummary): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return a.runId < b.runId ? -1 : 1;
}
