import { type Run, runHandle } from '../../agent/run/run.ts';
import type { RunResult } from '../../machines/agent/run-result.ts';

/** What is done when a run is over, before anybody who awaits it hears of it; what it throws is the run's rejection. */
export interface RunEnds {
  readonly onDone: (result: RunResult) => void;
  /** Gives the error to reject with. */
  readonly onError: (error: unknown) => unknown;
}

/** The run, settled only after something was done about it. Its events end when it does. */
export function runThen(run: Run, { onDone, onError }: RunEnds): Run {
  const done = run.then(
    (result) => {
      onDone(result);
      return result;
    },
    (error: unknown) => {
      throw onError(error);
    },
  );
  return runHandle({
    runId: run.runId,
    done: Promise.resolve(done),
    state: () => run.state,
    read: () => readThen(run, done),
    cancel: (reason) => run.cancel(reason),
    release: () => run.release(),
    approve: (callId, how) => run.approve(callId, how),
    reject: (callId, reason) => run.reject(callId, reason),
    pending: () => run.pending,
    recording: () => run.recording(),
    transitions: () => run.transitions(),
  });
}

/** The events of the run; its end, good or bad, is that of `done`. */
async function* readThen(run: Run, done: PromiseLike<RunResult>) {
  try {
    yield* run;
  } catch {
    // The error of `done` says the same and more.
  }
  await done;
  return undefined;
}
