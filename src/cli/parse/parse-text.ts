import { type Entry, layOut } from '../../output/console/layout.ts';
import { painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import type { Repair } from '../../parsing/index.ts';
import type { Reading } from './parse-reading.ts';
import { repairLines } from './parse-repairs.ts';
import { replyRows } from './parse-reply-rows.ts';
import type { Row } from './parse-row.ts';
import { valueRows } from './parse-value-rows.ts';

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

function entryOf({ label, text, style }: Row): Entry {
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
