import { isJsonObject } from '../../json/json.ts';
import { layOut, type TextEntry, painter, type Style } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import {
  type JsonSchema,
  parseReply,
  type PlanStep,
  type RecoveredJson,
  recoverJson,
  type Repair,
  type Reply,
  type ToolCallRequest,
} from '../../parsing/index.ts';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import { systemCode } from '../../security/folders.ts';
import { issueLine } from '../../tools/error-text.ts';
import { UsageError } from '../command/command.ts';
import { repairLines } from './parse-repairs.ts';
import { createReadStream, readFileSync } from 'node:fs';

/** A text and what was recovered from it: a reply, or the value that a schema asked for. */
export type Reading = {
  readonly text: string;
  /** There is something to continue with: an answer, a call, a plan or a value. */
  readonly usable: boolean;
} & (
  | {
      readonly kind: 'reply';
      readonly recovered: Reply;
      /** Calls in the formats of models count only where the tools are known. */
      readonly toolsKnown: boolean;
    }
  | { readonly kind: 'value'; readonly recovered: RecoveredJson }
);

/** What the reading goes by. */
interface ReadingOptions {
  readonly tools: readonly string[] | undefined;
  readonly schema: JsonSchema | undefined;
}

/** Reads a text as a reply, or with a schema as a value that fits it. */
export function readingOf(text: string, { tools, schema }: ReadingOptions): Reading {
  if (schema !== undefined) {
    const recovered = recoverJson(text, { schema });
    return { kind: 'value', text, usable: recovered.ok, recovered };
  }
  const recovered = parseReply(text, tools === undefined ? {} : { tools });
  const { answer, calls, plan } = recovered;
  const usable = answer !== undefined || calls.length > 0 || plan !== undefined;
  return { kind: 'reply', text, usable, recovered, toolsKnown: tools !== undefined };
}

/**
 * Reads the text of a file, or of standard input for `-`. Reads no more than the parser looks at, plus one chunk, so
 * that it can report that there was more. Throws a {@link UsageError} for what cannot be read.
 */
export async function readParseInput(file: string): Promise<string> {
  if (file === '-' && process.stdin.isTTY) {
    console.error('Reading the terminal: Ctrl-D at the beginning of a line ends the reply.');
  }
  const stream = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let text = '';
  try {
    for await (const piece of stream) {
      text += String(piece);
      if (text.length > DEFAULT_LIMITS.maxChars) break;
    }
  } catch (error) {
    throw new UsageError(unreadable(file, systemCode(error)));
  }
  return text;
}

function unreadable(file: string, code: string): string {
  const name = file === '-' ? 'standard input' : `'${file}'`;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no file ${name}.`;
  if (code === 'EISDIR') return `${name} is a folder. Name a file.`;
  return `${name} cannot be read${code === '' ? '' : ` (${code})`}.`;
}

/** Reads a JSON Schema from a file. Throws a {@link UsageError} that names the file for anything else. */
export function readParseSchema(file: string): JsonSchema {
  const schema = readJson(file);
  if (isJsonObject(schema) || typeof schema === 'boolean') return schema;
  throw new UsageError(`--schema: ${file} is not a JSON Schema, which is an object, true or false.`);
}

function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--schema: ${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw new UsageError(`--schema: ${file} cannot be read (${systemCode(error)}). Is there such a file?`);
  }
}

/** A reading as people read it: what was recovered, row by row, and below it the repairs, marked in the text. */
export function readingText(reading: Reading, terminal: Terminal): string {
  const paint = painter(terminal.color);
  const rows = reading.kind === 'reply' ? replyRows(reading) : valueRows(reading);
  const repairs = repairsOf(reading);
  return [
    ...[...rows, repairsRow(repairs)].flatMap((row) => layOut(entryOf(row), terminal, paint)),
    ...repairLines({ text: reading.text, repairs, columns: terminal.columns(), paint }),
  ].join('\n');
}

const LABEL_WIDTH = 12;

function entryOf({ label, text, style }: Row): TextEntry {
  const shown = style === undefined ? {} : { style };
  return { indent: 0, label, labelStyle: 'dim', labelWidth: LABEL_WIDTH, text, ...shown };
}

function repairsOf({ kind, recovered }: Reading): readonly Repair[] {
  if (kind === 'reply') return recovered.repairs;
  return recovered.ok ? recovered.repairs : [];
}

function repairsRow(repairs: readonly Repair[]): Row {
  return { label: 'Repairs', text: repairs.length === 0 ? 'none' : String(repairs.length) };
}

/** The value that a schema asked for, or why there is none. */
function valueRows({ recovered, text }: Extract<Reading, { kind: 'value' }>): readonly Row[] {
  if (recovered.ok) {
    return [completeRow(recovered.complete), { label: 'Value', text: JSON.stringify(recovered.value, null, 2) }];
  }
  const nothing = text.trim() === '' ? 'the text is empty' : 'no value that fits the schema';
  const issues = recovered.issues.map((issue) => ({ label: 'Issue', text: issueLine(issue) }));
  return [{ label: 'Nothing', text: nothing, style: 'red' }, ...issues];
}

/** What was recovered from a reply, and how. */
function replyRows({ recovered, text, toolsKnown, usable }: Extract<Reading, { kind: 'reply' }>): readonly Row[] {
  const { strategy, dialect, thought, goal, answer, calls, plan = [], planError, ambiguous = [] } = recovered;
  return [
    { label: 'Strategy', text: dialect === undefined ? strategy : `${strategy} (${dialect})` },
    completeRow(recovered.complete),
    ...given('Thought', thought),
    ...given('Goal', goal),
    ...(answer === undefined ? [] : [{ label: 'Answer', text: answer }]),
    ...calls.flatMap(callRows),
    ...plan.map(stepRow),
    ...(planError === undefined ? [] : [{ label: 'No plan', text: planError, style: 'red' } as const]),
    ...ambiguous.map((value) => ({ label: 'Either', text: JSON.stringify(value), style: 'yellow' }) as const),
    ...(usable ? [] : [nothingRow(recovered, text)]),
    ...(strategy === 'text' && !toolsKnown && /[{<[]/.test(text) ? [HINT] : []),
  ];
}

/** Says whether a text was there to its end. */
function completeRow(complete: boolean): Row {
  return complete
    ? { label: 'Complete', text: 'yes' }
    : { label: 'Complete', text: 'no, the text was cut off', style: 'yellow' };
}

const HINT: Row = { label: 'Hint', text: "If this is a call in a model's own format, name the tools with --tools." };

function given(label: string, text: string): readonly Row[] {
  return text === '' ? [] : [{ label, text }];
}

function callRows({ name, args, complete, issues = [] }: ToolCallRequest): readonly Row[] {
  return [
    { label: 'Call', text: `${name} ${JSON.stringify(args)}${complete ? '' : CUT}` },
    ...issues.map(({ message }) => ({ label: 'Issue', text: message, style: 'red' }) as const),
  ];
}

const CUT = ' (cut off: is never run)';

function stepRow({ tool, args, complete }: PlanStep, index: number): Row {
  return { label: `Step ${index + 1}`, text: `${tool} ${JSON.stringify(args)}${complete ? '' : CUT}` };
}

function nothingRow({ ambiguous }: Reply, text: string): Row {
  return { label: 'Nothing', text: whyNothing(ambiguous !== undefined, text.trim() === ''), style: 'red' };
}

function whyNothing(isAmbiguous: boolean, isEmpty: boolean): string {
  if (isEmpty) return 'the text is empty';
  return isAmbiguous ? 'several readings are equally good, so none is taken' : 'no answer, no call and no plan';
}

/** One thing that was recovered, beside its name. */
interface Row {
  readonly label: string;
  readonly text: string;
  readonly style?: Style;
}
