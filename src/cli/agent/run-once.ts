import type { Run } from '../../agent/run/run.ts';
import { type AnyResult, endingInWords } from '../../machines/contract/run-result.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { wrapText } from '../../terminal/text-width.ts';
import { EXIT_CODE } from '../command/command.ts';
import type { StopSignal } from '../command/interrupts.ts';
import type { CliAgent } from './make-agent.ts';
import { readFileSync, statSync } from 'node:fs';

/** A run that has ended, and the signal that cancelled it, if one did. */
export interface FinishedRun {
  readonly result: AnyResult;
  readonly stoppedBy: StopSignal | null;
}

/**
 * Runs one question, or a run that was started another way, to its end. The first signal to stop cancels the run, which
 * then ends as it should; a second one ends the process.
 */
export async function runOnce(
  { agent, console: shown, interrupts }: CliAgent,
  what: string | ((signal: AbortSignal) => Run),
): Promise<FinishedRun> {
  const stop = new AbortController();
  let stoppedBy: StopSignal | null = null;
  const unhandle = interrupts.handle((signal) => {
    if (stoppedBy !== null) process.exit(EXIT_CODE.cancelled);
    stoppedBy = signal;
    stop.abort(new Error(signal));
  });
  shown?.startProgress('Starting');
  try {
    const run = typeof what === 'string' ? agent.run(what, { signal: stop.signal }) : what(stop.signal);
    return { result: await run, stoppedBy };
  } finally {
    shown?.stopProgress();
    unhandle();
  }
}

/** True when standard output and standard error are one screen: then the console shows the answer, as it arrives. */
export function answerOnConsole(): boolean {
  // A stream that is not a terminal has no `isTTY` at all, whatever its type says.
  return process.stdout.isTTY === true && process.stderr.isTTY === true;
}

/** A notice as standard error shows it: wrapped between words. A folder, or a model of a server, may have any name. */
export function wrappedNotice(text: string): string {
  const { columns } = openTerminal(process.stderr);
  return wrapText(escaped(text), Math.min(columns(), MOST_COLUMNS)).join('\n');
}

/** For what is not a terminal. */
const MOST_COLUMNS = 100;

/** Prints what a run came to, where the console has not shown it already. */
export function reportResult({ console: shown, endShown }: CliAgent, result: AnyResult): void {
  const isShown = shown !== null && endShown();
  if (result.success && (!isShown || !answerOnConsole()))
    // What goes into a file or another program stays as it is.
    console.log(process.stdout.isTTY ? escaped(result.result) : result.result);
  // The outcome is printed at least once, even by a silent command.
  if (!result.success && !isShown) console.error(escaped(endingInWords(result)));
}

/** Prints where the recording of a run is; null for a run that failed before there was one. */
export function whereRecorded({ journal }: CliAgent, { runId, status }: AnyResult): string | null {
  if (journal.kind === 'memory') return 'Not recorded: this folder cannot be written to.';
  const file = journal.fileOf(runId);
  const found = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  if (file === undefined || found === undefined) return null;
  const shown = escaped(file);
  // What a pipe has taken cannot be read again; a run that waits has no end yet.
  if (!found.isFile() || status === 'waiting') return `Recorded in ${shown}`;
  const lastLine = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  const last = parsedText(lastLine);
  if (isJsonObject(last) && last['t'] === 'end') return `Recorded in ${shown}`;
  return lastLine === ''
    ? `Not recorded: ${shown} could not be written.`
    : `Recorded in ${shown}, without its end: it could not be written.`;
}

/** Prints how a run ended, and returns the exit code; `over`: it had ended before, so nothing is recorded. */
export function reportEnd(
  cli: CliAgent,
  result: AnyResult,
  { json, over = false }: { readonly json: boolean; readonly over?: boolean },
): number {
  if (json) console.log(machineJson(result));
  else reportResult(cli, result);
  const recording = !over && cli.console !== null ? whereRecorded(cli, result) : null;
  if (recording !== null) console.error(recording);
  return EXIT_CODE[result.status];
}
