import { type RecordingDifference, compareRecordings } from '../../journal/replay/compare.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import { runTally } from '../../journal/format/tally.ts';
import { inert } from '../../output/console/inert.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { type Arguments, EXIT_CODE, UsageError } from '../command/command.ts';
import { textTable } from '../command/text-layout.ts';
import { readRecordingOf } from './kept-runs.ts';
import { recordedSteps, recordingText } from './recording-text.ts';
import { renameSync, writeFileSync } from 'node:fs';
import { normalizeRecording } from '../../journal/format/normalize.ts';

/** Prints a recording step by step. */
export async function showRecording({ values, flags, positionals: [named = ''] }: Arguments): Promise<number> {
  const { text } = await readRecordingOf(named, values.get('in'));
  const terminal = openTerminal(process.stdout, undefined, process.env);
  console.log(recordingText(readRecording(text), terminal, { full: flags.has('full') }));
  return EXIT_CODE.answered;
}

/** Prints where two recordings differ first, and both runs side by side. Exit code 0 when they are the same, else 1. */
export async function diffRecordings({ values, flags, positionals: [a = '', b = ''] }: Arguments): Promise<number> {
  const side = async (named: string): Promise<Side> => ({
    name: inert(named),
    recording: readRecording((await readRecordingOf(named, values.get('in'))).text),
  });
  const left = await side(a);
  const right = await side(b);
  const differences = compareRecordings(left.recording, right.recording);
  const same = differences.length === 0;
  if (flags.has('json')) console.log(JSON.stringify({ same, differences }));
  else if (same) console.log('They are the same, except for times, run ids and seeds.');
  else {
    const table = textTable([['', left.name, right.name], ...factsOf(left.recording, right.recording)]);
    const places = differences.flatMap((difference) => placeText(difference, left, right));
    console.log([...table.map((line) => line.trimEnd()), ...places].join('\n'));
  }
  return same ? EXIT_CODE.answered : EXIT_CODE.failed;
}

interface Side {
  readonly name: string;
  readonly recording: Recording;
}

function placeText({ lines: [line, other], what }: RecordingDifference, left: Side, right: Side): readonly string[] {
  const title = line === 1 ? 'Their input differs:' : 'The first difference:';
  const places = line === 1 ? [] : [sideText(left, line), sideText(right, other)];
  return ['', title, ...places, ...(what === '' ? [] : [`  ${inert(what)}`])];
}

function sideText({ name, recording }: Side, line: number | null): string {
  if (line === null) return `  ${name} has ended before.`;
  const step = recordedSteps(recording).find((one) => one.line === line);
  const said = inert(step === undefined ? '' : `${step.what}: ${step.text}`).replaceAll('\n', ' ');
  return `  ${name}, line ${line}: ${said.length > SAID ? `${said.slice(0, SAID)}…` : said}`;
}

const SAID = 100;

function factsOf(left: Recording, right: Recording): readonly (readonly string[])[] {
  const [one, other] = [tallyOf(left), tallyOf(right)];
  const row = (name: string, of: (run: ReturnType<typeof tallyOf>) => string): readonly string[] => [
    `${of(one) === of(other) ? ' ' : '*'} ${name}`,
    inert(of(one)),
    inert(of(other)),
  ];
  return [
    row('agent', ({ agent }) => agent),
    row('input', ({ input }) => (input.length > CUT ? `${input.slice(0, CUT)}…` : input).replaceAll('\n', ' ')),
    row('ended', ({ status, reason }) => (status === null ? 'not yet' : `${status} (${reason ?? ''})`)),
    row('steps', ({ steps }) => String(steps)),
    row('tools used', ({ toolsUsed }) => toolsUsed.join(', ') || 'none'),
    row('records', ({ records }) => String(records)),
  ];
}

const CUT = 40;

function tallyOf({ head, lines }: Recording) {
  const tally = runTally(head);
  for (const record of lines) tally.add(record);
  return tally.read();
}

/** Prints recordings in their normal form, or with `write` puts them into it and says which have changed. */
export async function normalizeRecordings({ values, flags, positionals }: Arguments): Promise<number> {
  const write = flags.has('write');
  for (const named of positionals) {
    // oxlint-disable-next-line no-await-in-loop -- printed in the order in which they were named
    const { text: before, file } = await readRecordingOf(named, values.get('in'));
    if (write && file === null && named !== '-')
      throw new UsageError(`--write changes files, and '${inert(named)}' is a run of a database.`);
    const after = normalizeRecording(before, { times: flags.has('keep-times') });
    if (!write || file === null) process.stdout.write(after);
    else if (after !== before) {
      // A concurrent reader gets the one or the other.
      writeFileSync(`${file}.new`, after, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      console.log(`normalized ${inert(file)}`);
    }
  }
  return EXIT_CODE.answered;
}
