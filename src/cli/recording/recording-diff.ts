import { type RecordingDifference, compareRecordings } from '../../journal/replay/compare.ts';
import { type Recording, readRecording } from '../../journal/format/recording.ts';
import { runTally } from '../../journal/format/tally.ts';
import { inert } from '../../output/console/inert.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { textTable } from '../mcp/mcp-table.ts';
import { readRecordingOf } from './recording-file.ts';
import { stepsOf } from './recording-steps.ts';

/** Prints where two recordings differ first, and both runs side by side. Exit code 0 when they are the same, else 1. */
export async function diffRecordings(
  [a = '', b = '']: readonly string[],
  { in: place, json }: { readonly in: string | undefined; readonly json: boolean },
): Promise<number> {
  const side = async (named: string): Promise<Side> => ({
    name: inert(named),
    recording: readRecording((await readRecordingOf(named, place)).text),
  });
  const sides = [await side(a), await side(b)];
  const [left, right] = sides;
  if (left === undefined || right === undefined) return EXIT_CODE.failed;
  const differences = compareRecordings(left.recording, right.recording);
  const same = differences.length === 0;
  if (json) console.log(JSON.stringify({ same, differences }));
  else if (same) console.log('They are the same, but for times, run ids and seeds.');
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
  const title = line === 1 ? 'What they were given differs:' : 'Where they part:';
  const places = line === 1 ? [] : [sideText(left, line), sideText(right, other)];
  return ['', title, ...places, ...(what === '' ? [] : [`  ${inert(what)}`])];
}

function sideText({ name, recording }: Side, line: number | null): string {
  if (line === null) return `  ${name} has ended before.`;
  const step = stepsOf(recording).find((one) => one.line === line);
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
