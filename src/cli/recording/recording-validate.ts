import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { RecordingError } from '../../journal/format/journal-error.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { playRecording } from '../../journal/replay/replay.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { type Arguments, EXIT_CODE } from '../command/command.ts';
import { counted } from '../../terminal/text-width.ts';
import { readRecordingOf } from './kept-runs.ts';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Json, type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';

/** What was found out about a file. */
interface Verdict {
  readonly file: string;
  readonly valid: boolean;
  readonly ended: boolean;
  readonly records: number;
  readonly transitions: number;
  readonly problems: readonly LineProblem[];
}

/**
 * Checks recordings: each line against the schema, then the whole by playing it on this version's machines, without the
 * agent's code. Prints a line per file and what is wrong, and returns the exit code.
 */
export async function validateRecordings({ values, flags, positionals }: Arguments): Promise<number> {
  const verdicts: Verdict[] = [];
  for (const file of positionals)
    // A run of ours may be large: one at a time in memory.
    verdicts.push(verdictOf(file, (await readRecordingOf(file, values.get('in'))).text));
  if (flags.has('json')) console.log(machineJson(verdicts.length === 1 ? verdicts[0] : verdicts));
  else console.log(verdicts.map(verdictText).join('\n'));
  return verdicts.every(({ valid }) => valid) ? EXIT_CODE.answered : EXIT_CODE.failed;
}

function verdictOf(file: string, text: string): Verdict {
  const invalid = (problems: readonly LineProblem[]): Verdict => ({
    file,
    valid: false,
    ended: false,
    records: 0,
    transitions: 0,
    problems,
  });
  const unreadable = headProblem(text);
  if (unreadable !== null) return invalid([unreadable]);
  const problems = checkLines(text);
  if (problems.length > 0) return invalid(problems);
  try {
    const recording = readRecording(text);
    const ended = recording.lines.some(({ t }) => t === 'end');
    let count = 0;
    const { driven, past } = playRecording(recording, ({ transition }) => void (count += transition === null ? 0 : 1));
    if (ended && driven.isActive()) throw past.cutShort();
    const transitions = ended ? count : 0;
    return { file, valid: true, ended, records: recording.lines.length + 1, transitions, problems };
  } catch (error) {
    const found = problemOf(error);
    if (found === null) throw error;
    return invalid([found]);
  }
}

/** A file that does not begin as a recording of this format is not checked against the schema line by line. */
function headProblem(text: string): LineProblem | null {
  try {
    readRecording(text);
  } catch (error) {
    const found = problemOf(error);
    return found?.line === 1 ? found : null;
  }
  return null;
}

function problemOf(error: unknown): LineProblem | null {
  if (error instanceof RecordingError) return { line: error.line, path: '', message: error.what };
  if (error instanceof ReplayDivergenceError) return { line: error.entry, path: '', message: error.message };
  return null;
}

function verdictText({ file, valid, ended, records, transitions: count, problems }: Verdict): string {
  const name = escaped(file);
  if (valid) return `${name}: valid, ${records} records, ${ended ? counted(count, 'transition') : 'it has not ended'}`;
  const rows = problems.slice(0, SHOWN).map(({ line, path, message }) => `  line ${line}${path}: ${escaped(message)}`);
  const more = problems.length > SHOWN ? [`  … and ${problems.length - SHOWN} more`] : [];
  return [`${name}: not valid`, ...rows, ...more].join('\n');
}

/** What is wrong in one line is often wrong in all. */
const SHOWN = 20;

/** Something wrong in a line of a recording. */
interface LineProblem {
  readonly line: number;
  /** JSON Pointer; empty for the whole line. */
  readonly path: string;
  readonly message: string;
}

/** Holds every line of a recording against the JSON Schema that the package ships. A torn last line is accepted. */
function checkLines(text: string): readonly LineProblem[] {
  const schema: JsonObject = JSON.parse(
    readFileSync(createRequire(import.meta.url).resolve('signalbox/recording.schema.json'), 'utf8'),
  );
  const lines = text.split('\n');
  return lines.flatMap((written, index) => {
    const line = index + 1;
    if (written.trim() === '') return [];
    const parsed = parsedText(written.trim());
    if (parsed === undefined) return line === lines.length ? [] : [{ line, path: '', message: 'is not JSON' }];
    return lineIssues(parsed, schema).map((issue) => ({ line, ...issue }));
  });
}

/** Checked against the schema of its own kind: "fits none of many" would be a useless message. */
function lineIssues(line: Json, schema: JsonObject): readonly Omit<LineProblem, 'line'>[] {
  const { $defs = {} } = schema;
  const kind = isJsonObject(line) && typeof line['t'] === 'string' ? line['t'] : '';
  const own = isJsonObject($defs) && KINDS.has(kind) ? $defs[kind] : schema;
  const by: JsonObject = isJsonObject(own) ? { ...own, $defs } : schema;
  return issuesOf(line, by);
}

const KINDS = new Set('run start outcome timer event end restart note blob'.split(' '));
