import type { RunEvent } from '../../machines/events/run-events.ts';

/** A run that this process drives, with what is needed to show it. */
export interface DrivenRun extends AsyncIterable<RunEvent> {
  readonly runId: string;
}

/** The runs that this process drives, by the journals that keep them. */
const driven = new WeakMap<object, Map<string, DrivenRun>>();

/** Lets others in this process find a run by its journal and id, until what this gives is called. */
export function noteDriven(journal: object | undefined, run: DrivenRun): () => void {
  if (journal === undefined) return nothing;
  const runs = driven.get(journal) ?? new Map<string, DrivenRun>();
  driven.set(journal, runs);
  runs.set(run.runId, run);
  return () => {
    if (runs.get(run.runId) === run) runs.delete(run.runId);
  };
}

const nothing = (): void => undefined;

/** A run that this process drives; null for one that is over, parked, or driven elsewhere. */
export function drivenRun(journal: object, runId: string): DrivenRun | null {
  return driven.get(journal)?.get(runId) ?? null;
}

/** Who waits for records of runs that this process writes, by the ids of these runs. */
const waiting = new Map<string, Set<() => void>>();

/** Calls `written` whenever this process has written records of a run, until what this gives is called. */
export function onWritten(runId: string, written: () => void): () => void {
  const listeners = waiting.get(runId) ?? new Set();
  waiting.set(runId, listeners.add(written));
  return () => {
    listeners.delete(written);
    if (listeners.size === 0) waiting.delete(runId);
  };
}

/** Records of a run were written. */
export function noteWritten(runId: string): void {
  for (const written of waiting.get(runId) ?? []) written();
}
