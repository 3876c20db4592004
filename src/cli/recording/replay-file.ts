import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { type PlayedRecording, playRecording } from '../../journal/replay/replay.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import type { Transition } from '../../machines/events/run-events.ts';
import { inert } from '../../output/console/inert.ts';
import { type Paint, painter } from '../../output/console/paint.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { isJsonObject } from '../../json/json.ts';
import { EXIT_CODE } from '../command/command.ts';
import { counted } from '../command/text-layout.ts';
import type { NamedRecording } from './kept-runs.ts';

/** Replays a recording and prints the transitions of its machines as they are taken; if they diverge, how. */
export function replayFile({ text }: NamedRecording, { json }: { readonly json: boolean }): number {
  const recording = readRecording(text);
  const paint = painter(openTerminal(process.stdout, undefined, process.env).color);
  if (!json) console.log(headText(recording, paint));
  let count = 0;
  const print = (transition: Transition): void => {
    count += 1;
    console.log(json ? JSON.stringify(transition) : transitionText(transition, paint));
  };
  try {
    const played = playRecording(recording, ({ transition }) => {
      if (transition !== null) print(transition);
    });
    if (!json) console.log(`\n${endText(played, count, paint)}`);
    return EXIT_CODE.answered;
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError)) throw error;
    console.error(`\n${inert(error.message)}`);
    return EXIT_CODE.failed;
  }
}

function headText({ head }: Recording, paint: Paint): string {
  const parent = head.parent === undefined ? '' : `, a fork of ${head.parent.runId} at line ${head.parent.entry}`;
  return `${paint('dim', 'Run')}    ${inert(head.runId)}${inert(parent)}\n${paint('dim', 'Asked')}  ${inert(head.input)}\n`;
}

/** The machine of a path is indented as deep as it stands. */
function transitionText({ actor, event, from, to }: Transition, paint: Paint): string {
  const path = actor.split('/');
  const indent = '  '.repeat(path.length - 1);
  const where = paint('dim', `${indent}${inert(path.at(-1) ?? '')}`);
  return `${where}  ${paint('cyan', inert(event))}: ${inert(from)} → ${inert(to)}`;
}

function endText({ driven, past }: PlayedRecording, count: number, paint: Paint): string {
  const transitions = counted(count, 'transition');
  if (driven.isActive())
    return paint(
      'yellow',
      `${transitions}, as recorded. The recording stops at line ${past.passed()}: its run has not ended.`,
    );
  const output: unknown = driven.actor.getSnapshot().output;
  const { status, reason } = isJsonObject(output) ? output : {};
  const ending = [status, reason].map((word) => (typeof word === 'string' ? word : 'unknown'));
  return paint('green', `${transitions}, as recorded. The run ended: ${ending[0]} (${ending[1]}).`);
}
