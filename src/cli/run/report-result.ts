import { existsSync } from 'node:fs';
import { type RunResult, endingInWords } from '../../machines/contract/run-result.ts';
import { EXIT_CODE } from '../exit-code.ts';
import type { CliAgent } from '../agent/make-agent.ts';

/** True when standard output and standard error are one screen: then the console shows the answer, as it arrives. */
export function answerOnConsole(): boolean {
  // What is no terminal has no `isTTY` at all, whatever its type says.
  return process.stdout.isTTY === true && process.stderr.isTTY === true;
}

/** Prints what a run came to, where the console has not shown it already. */
export function reportResult({ console: shown }: CliAgent, result: RunResult): void {
  if (result.success && (shown === null || !answerOnConsole())) console.log(result.result);
  // Whatever happened is said at least once, even by a silent command.
  if (!result.success && shown === null) console.error(endingInWords(result));
}

/** Says where the recording of a run is; null for a run that failed before there was one. */
export function recordingText({ journal }: CliAgent, { runId }: RunResult): string | null {
  if (journal.kind === 'memory') return 'Not recorded: this folder cannot be written to.';
  const file = journal.fileOf(runId);
  return file !== undefined && existsSync(file) ? `Recorded in ${file}` : null;
}

/** Says how a run came out that has a past, and gives the exit code; `said`: the console has shown its end. */
export function reportEnd(
  cli: CliAgent,
  result: RunResult,
  { json, said }: { readonly json: boolean; readonly said: boolean },
): number {
  if (json) console.log(JSON.stringify(result));
  else if (said) reportResult(cli, result);
  else if (result.success) console.log(result.result);
  else console.error(endingInWords(result));
  const recording = said && cli.console !== null ? recordingText(cli, result) : null;
  if (recording !== null) console.error(recording);
  return EXIT_CODE[result.status];
}
