import type { RunResult } from '../machines/run-result.ts';
import { EXIT_CODE } from './exit-code.ts';
import { onInterrupt } from './interrupts.ts';
import type { CliAgent } from './make-agent.ts';

/**
 * Runs one question to its end. The first interrupt cancels the run, which then ends as it should; a second one ends the
 * process.
 */
export async function runOnce(cli: CliAgent, question: string, stop: AbortController): Promise<RunResult> {
  const stopListening = onInterrupt((signal) => {
    if (stop.signal.aborted) process.exit(EXIT_CODE.cancelled);
    stop.abort(new Error(signal));
  });
  cli.console?.startProgress('Starting the tools');
  try {
    return await cli.agent.run(question, { signal: stop.signal });
  } finally {
    cli.console?.stopProgress();
    stopListening();
  }
}
