import { EXIT_CODE } from './exit-code.ts';
import type { CliAgent } from './make-agent.ts';
import { questionReader } from './read-question.ts';
import { recordingText, reportResult } from './report-result.ts';
import { runOnce } from './run-once.ts';
import { slashCommand } from './slash-commands.ts';

/**
 * Takes questions at a prompt until the user leaves. `last` is the signal that the run before could be stopped by: after a
 * Ctrl-C that cancelled it, one more leaves. Gives the exit code.
 */
export async function chatLoop(cli: CliAgent, last: AbortSignal): Promise<number> {
  const readQuestion = questionReader();
  let before = last;
  showNoQuestions(cli);
  console.error('Ask on, or type /help. Ctrl-D leaves.');
  for (;;) {
    if (isEnding(before)) return EXIT_CODE.cancelled;
    // oxlint-disable-next-line no-await-in-loop -- a conversation is one thing after the other
    const typed = await readQuestion({ interrupted: before.aborted });
    if (typed.kind === 'stopped') return EXIT_CODE.cancelled;
    if (typed.kind === 'left') return EXIT_CODE.answered;
    const stop = new AbortController();
    before = stop.signal;
    const command = slashCommand(typed.text);
    if (command?.(cli) === 'leave') return EXIT_CODE.answered;
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (command === null) await answer(cli, typed.text, stop);
  }
}

/** A question that was just typed stands there already. */
function showNoQuestions({ agent, console: shown }: CliAgent): void {
  if (shown === null) return;
  const { processingStart: _typed, ...rest } = shown;
  agent.configure({ output: rest });
}

async function answer(cli: CliAgent, question: string, stop: AbortController): Promise<void> {
  const result = await runOnce(cli, question, stop);
  reportResult(cli, result);
  const recording = recordingText(cli, result);
  if (cli.console !== null && recording !== null) console.error(recording);
}

/** Ctrl-C ends a run; the other signals want the process to end. */
function isEnding({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof Error && reason.message === 'SIGINT');
}
