import type { Run } from '../../agent/run/run.ts';
import type { RunResult } from '../../machines/contract/run-result.ts';
import { EXIT_CODE } from '../exit-code.ts';
import type { StopSignal } from '../interrupts.ts';
import type { CliAgent } from '../agent/make-agent.ts';

/** A run that has ended, and the signal that cancelled it, if one did. */
export interface Ran {
  readonly result: RunResult;
  readonly stoppedBy: StopSignal | null;
}

/**
 * Runs one question, or a run that is started otherwise, to its end. The first signal to stop cancels the run, which then ends as it should; a second one ends
 * the process.
 */
export async function runOnce(
  { agent, console: shown, session, interrupts }: CliAgent,
  what: string | ((signal: AbortSignal) => Run),
): Promise<Ran> {
  const stop = new AbortController();
  let stoppedBy: StopSignal | null = null;
  const unhandle = interrupts.handle((signal) => {
    if (stoppedBy !== null) process.exit(EXIT_CODE.cancelled);
    stoppedBy = signal;
    stop.abort(new Error(signal));
  });
  shown?.startProgress('Starting');
  try {
    const given = { signal: stop.signal, ...(session === null ? {} : { metadata: { session } }) };
    const run = typeof what === 'string' ? agent.run(what, given) : what(stop.signal);
    return { result: await run, stoppedBy };
  } finally {
    shown?.stopProgress();
    unhandle();
  }
}
