import { layOut, type TextEntry } from '../../output/console/layout.ts';
import { painter, type Style } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import type { Repair, Issue, PlanStep, Reply, ToolCallRequest } from '../../parsing/index.ts';
import type { Reading } from './parse-reading.ts';
import { repairLines } from './parse-repairs.ts';

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
  return [{ label: 'Nothing', text: nothing, style: 'red' }, ...recovered.issues.map(issueRow)];
}

function issueRow({ path, message }: Issue): Row {
  return { label: 'Issue', text: path === '' ? message : `${path}: ${message}` };
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

const HINT: Row = {
  label: 'Hint',
  text: "If this is a call in a model's own format, name the tools with --tools.",
};

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
