import { type TextEntry, layOut } from '../../output/console/layout.ts';
import { painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import type { Repair, Issue } from '../../parsing/index.ts';
import type { Reading } from './parse-reading.ts';
import { repairLines } from './parse-repairs.ts';
import { replyRows, completeRow } from './parse-reply-rows.ts';
import type { Row } from './parse-row.ts';

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
