import { EXIT_CODE } from '../exit-code.ts';
import type { StopSignal } from '../interrupts.ts';
import type { CliAgent } from '../agent/make-agent.ts';
import { questionReader } from './read-question.ts';
import { recordingText, reportResult } from '../run/report-result.ts';
import { runOnce } from '../run/run-once.ts';
import { slashCommand } from './slash-commands.ts';

/**
 * Takes questions at a prompt until the user leaves, and gives the exit code. `stoppedBy` is what stopped the run before:
 * after a Ctrl-C that cancelled it one more leaves, and the other signals want the process to end.
 */
export async function chatLoop(cli: CliAgent, stoppedBy: StopSignal | null): Promise<number> {
  const readQuestion = questionReader(cli.interrupts);
  let before = stoppedBy;
  showNoQuestions(cli);
  console.error('Ask on, or type /help. Ctrl-D leaves.');
  for (;;) {
    if (before !== null && before !== 'SIGINT') return EXIT_CODE.cancelled;
    // oxlint-disable-next-line no-await-in-loop -- a conversation is one thing after the other
    const typed = await readQuestion({ interrupted: before === 'SIGINT' });
    if (typed.kind === 'stopped') return EXIT_CODE.cancelled;
    if (typed.kind === 'left') return EXIT_CODE.answered;
    const command = slashCommand(typed.text);
    if (command?.(cli) === 'leave') return EXIT_CODE.answered;
    // oxlint-disable-next-line no-await-in-loop -- as above
    before = command === null ? await answer(cli, typed.text) : null;
  }
}

/** A question that was just typed stands there already. */
function showNoQuestions({ agent, console: shown }: CliAgent): void {
  if (shown === null) return;
  const { processingStart: _typed, ...rest } = shown;
  agent.configure({ output: rest });
}

async function answer(cli: CliAgent, question: string): Promise<StopSignal | null> {
  const { result, stoppedBy } = await runOnce(cli, question);
  reportResult(cli, result);
  const recording = recordingText(cli, result);
  if (cli.console !== null && recording !== null) console.error(recording);
  return stoppedBy;
}
