import { JournalError } from '../../journal/format/journal-error.ts';
import { normalizeRecording } from '../../journal/format/normalize.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { runTally } from '../../journal/format/tally.ts';
import { compareRecordings, type RecordingDifference } from '../../journal/replay/compare.ts';
import { type PlayedRecording, playRecording } from '../../journal/replay/replay.ts';
import { isLocked } from '../../journal/stores/run-lock.ts';
import { isJsonObject } from '../../json/json.ts';
import { moveOver } from '../../security/folders.ts';
import type { Transition } from '../../machines/events/run-events.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { type Paint, painter } from '../../output/console/paint.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { type Arguments, EXIT_CODE, UsageError } from '../command/command.ts';
import { counted, ellipsized, textTable } from '../../terminal/text-width.ts';
import { ofRecording, openRecording, readRecordingOf } from './kept-runs.ts';
import { recordedSteps, recordingText } from './recording-text.ts';
import { writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';

/** Prints a recording step by step. */
export async function showRecording({ values, flags, positionals: [named = ''] }: Arguments): Promise<number> {
  const recording = await openRecording(named, values.get('in'));
  const terminal = openTerminal(process.stdout);
  console.log(recordingText(recording, terminal, { full: flags.has('full') }));
  return EXIT_CODE.answered;
}

/** What two recordings are to each other: the second `failed` when it did not end as answered while the first did. */
export type RecordedVerdict = 'same' | 'changed' | 'failed';

/**
 * Prints the verdict, where two recordings differ first, and both runs side by side. Exit code 0 when they are the same,
 * else 1.
 */
export async function diffRecordings({ values, flags, positionals: [a = '', b = ''] }: Arguments): Promise<number> {
  const side = async (named: string): Promise<Side> => ({
    name: escaped(named),
    recording: await openRecording(named, values.get('in')),
  });
  const left = await side(a);
  const right = await side(b);
  const differences = compareRecordings(left.recording, right.recording);
  const verdict = verdictOn(left.recording, right.recording, differences.length);
  const same = verdict === 'same';
  if (flags.has('json')) console.log(machineJson({ same, verdict, differences }));
  else if (same) console.log('same\nThey are the same, except for times, run ids and seeds.');
  else {
    const table = textTable([['', left.name, right.name], ...factsOf(left.recording, right.recording)]);
    const places = differences.flatMap((difference) => placeText(difference, left, right));
    console.log([verdict, '', ...table.map((line) => line.trimEnd()), ...places].join('\n'));
  }
  return same ? EXIT_CODE.answered : EXIT_CODE.failed;
}

function verdictOn(one: Recording, other: Recording, differences: number): RecordedVerdict {
  if (differences === 0) return 'same';
  const [before, after] = [tallyOf(one), tallyOf(other)];
  return before.status === 'answered' && after.status !== 'answered' ? 'failed' : 'changed';
}

interface Side {
  readonly name: string;
  readonly recording: Recording;
}

function placeText({ lines: [line, other], what }: RecordingDifference, left: Side, right: Side): readonly string[] {
  const title = line === 1 ? 'Their input differs:' : 'The first difference:';
  const places = line === 1 ? [] : [sideText(left, line), sideText(right, other)];
  return ['', title, ...places, ...(what === '' ? [] : [`  ${escaped(what)}`])];
}

function sideText({ name, recording }: Side, line: number | null): string {
  if (line === null) return `  ${name} has ended before.`;
  const step = recordedSteps(recording).find((one) => one.line === line);
  const said = escaped(step === undefined ? '' : `${step.what}: ${step.text}`).replaceAll('\n', ' ');
  return `  ${name}, line ${line}: ${ellipsized(said, SAID)}`;
}

const SAID = 100;

function factsOf(left: Recording, right: Recording): readonly (readonly string[])[] {
  const [one, other] = [tallyOf(left), tallyOf(right)];
  const row = (name: string, of: (run: ReturnType<typeof tallyOf>) => string): readonly string[] => [
    `${of(one) === of(other) ? ' ' : '*'} ${name}`,
    escaped(of(one)),
    escaped(of(other)),
  ];
  return [
    row('agent', ({ agent }) => agent),
    row('input', ({ input }) => ellipsized(input.replaceAll('\n', ' '), CUT)),
    row('ended', ({ status, reason }) => (status === null ? 'not yet' : `${status} (${reason ?? ''})`)),
    row('steps', ({ steps }) => String(steps)),
    row('tools used', ({ toolsUsed }) => toolsUsed.join(', ') || 'none'),
    row('records', ({ records }) => String(records)),
  ];
}

const CUT = 40;

function tallyOf({ head, lines }: Recording) {
  return runTally(head, lines).read();
}

/** Prints recordings in normal form, or with `write` rewrites them and reports which have changed. */
export async function normalizeRecordings({ values, flags, positionals }: Arguments): Promise<number> {
  const write = flags.has('write');
  for (const named of positionals) {
    // Printed in the order in which they were named.
    const { text: before, file } = await readRecordingOf(named, values.get('in'));
    if (write && file === null && named !== '-')
      throw new UsageError(`--write changes files, and '${escaped(named)}' is a run of a database.`);
    const after = ofRecording(named, () => normalizeRecording(before, { times: flags.has('keep-times') }));
    if (!write || file === null) process.stdout.write(after);
    else if (after !== before) replaceFile(file, after);
  }
  return EXIT_CODE.answered;
}

/** Throws while a process writes this run: it would go on writing to the file that is replaced. */
function replaceFile(file: string, content: string): void {
  const { dir, name } = parse(file);
  if (isLocked(join(dir, `${name}.lock`))) throw new JournalError('run-locked', name, dir || '.');
  // A concurrent reader gets the one or the other.
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  moveOver(`${file}.new`, file);
  console.log(`normalized ${escaped(file)}`);
}

/** Replays a recording and prints the transitions of its machines as they are taken; if they diverge, how. */
export function replayFile(recording: Recording, { json }: { readonly json: boolean }): number {
  const paint = painter(openTerminal(process.stdout).color);
  if (!json) console.log(headText(recording, paint));
  let count = 0;
  const print = (transition: Transition): void => {
    count += 1;
    console.log(json ? machineJson(transition) : transitionText(transition, paint));
  };
  const played = playRecording(recording, ({ transition }) => {
    if (transition !== null) print(transition);
  });
  if (!json) console.log(`\n${endText(played, count, paint)}`);
  return EXIT_CODE.answered;
}

function headText({ head }: Recording, paint: Paint): string {
  const parent = head.parent === undefined ? '' : `, a fork of ${head.parent.runId} at line ${head.parent.entry}`;
  return `${paint('dim', 'Run')}    ${escaped(head.runId)}${escaped(parent)}\n${paint('dim', 'Asked')}  ${escaped(head.input)}\n`;
}

/** The machine of a path is indented as deep as it stands. */
function transitionText({ actor, event, from, to }: Transition, paint: Paint): string {
  const path = actor.split('/');
  const indent = '  '.repeat(path.length - 1);
  const where = paint('dim', `${indent}${escaped(path.at(-1) ?? '')}`);
  return `${where}  ${paint('cyan', escaped(event))}: ${escaped(from)} → ${escaped(to)}`;
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
