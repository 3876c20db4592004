import type { ScreenSize } from './prompt-terminal.ts';
import { AT_MOST, splitToWidth, wrapText } from './text-width.ts';

/** Rows of a screen that show foreign text, and how much of that text they leave out. */
export interface Boxed {
  readonly rows: readonly string[];
  readonly hiddenLines: number;
  readonly hiddenChars: number;
}

/** How much of a text is shown. */
export interface BoxLimits {
  readonly rows: number;
  /** Of each line of the text. */
  readonly lineChars: number;
}

/** Everything is shown, however long. */
export const NO_LIMITS: BoxLimits = { rows: Number.POSITIVE_INFINITY, lineChars: Number.POSITIVE_INFINITY };

/** Prefix of every row of a text that is not ours. None of our own rows begins with it. */
const BAR = '  | ';
/** How much of what is too long is shown from its beginning; the rest from its end. */
const HEAD = 0.7;

/**
 * Puts a text of a model, tool or server behind a bar, in rows that a terminal of this width does not wrap: nothing in it
 * can pass for one of our rows, move the cursor, or hide. What goes beyond the limits is left out in the middle and counted.
 */
export function boxed(lines: readonly string[], { columns }: ScreenSize, limits: BoxLimits): Boxed {
  const all = lines.map((line) => lineRows(escapeCharacters(line), columns, limits.lineChars));
  const rows = all.flatMap((line) => line.rows);
  const cutChars = all.reduce((sum, { hiddenChars }) => sum + hiddenChars, 0);
  if (rows.length <= limits.rows) return { rows: rows.map(({ row }) => row), hiddenLines: 0, hiddenChars: cutChars };
  const head = Math.floor((limits.rows - 1) * HEAD);
  const tail = rows.length - Math.max(limits.rows - 1 - head, 0);
  const hidden = rows.slice(head, tail);
  return {
    rows: [...rows.slice(0, head), ...gap(hidden.length, 'line', columns), ...rows.slice(tail)].map(({ row }) => row),
    hiddenLines: hidden.length,
    hiddenChars: hidden.reduce((sum, { chars }) => sum + chars, cutChars),
  };
}

/** Rows of our own text, which is plain ASCII. */
export function ownRows(text: string, columns: number): readonly string[] {
  return wrapText(text, rowColumns(columns));
}

/** Describes how much of several boxes is left out; null if everything is shown. */
export function hiddenText(boxes: readonly Boxed[]): string | null {
  const chars = boxes.reduce((sum, { hiddenChars }) => sum + hiddenChars, 0);
  const lines = boxes.reduce((sum, { hiddenLines }) => sum + hiddenLines, 0);
  if (chars === 0 && lines === 0) return null;
  const also = lines === 0 ? '' : `, ${lines.toLocaleString('en-US')} more lines`;
  return `! Not everything is shown: ${chars.toLocaleString('en-US')} more characters${also}.`;
}

/**
 * Writes everything that a terminal obeys, or that turns, hides or doubles text, as its number: `\u001b`. So are spaces that
 * are not plain spaces, and marks without a letter or piled upon one. One line stays one line.
 */
export function escapeCharacters(text: string): string {
  return text.replaceAll(NOT_INERT, (sign) => {
    const hex = (sign.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

const NOT_INERT =
  /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}|(?<![\p{L}\p{N}](?:(?!\p{Default_Ignorable_Code_Point})\p{M}){0,2})\p{M}/gu;

/** The last column stays free: some terminals go to the next row as soon as it is filled. */
function rowColumns(columns: number): number {
  return columns - 1;
}

/** A row of the screen, and how many characters of the other's text stand in it. */
interface Row {
  readonly row: string;
  readonly chars: number;
}

function behindBar(text: string, columns: number): readonly Row[] {
  const texts = splitToWidth(text, rowColumns(columns) - BAR.length, AT_MOST);
  return texts.map((part) => ({ row: BAR + part, chars: part.length }));
}

function gap(count: number, noun: string, columns: number): readonly Row[] {
  return ownRows(`  ... ${counted(count, noun)} not shown ...`, columns).map((row) => ({ row, chars: 0 }));
}

function lineRows(
  text: string,
  columns: number,
  most: number,
): { readonly rows: readonly Row[]; readonly hiddenChars: number } {
  if (text.length <= most) return { rows: behindBar(text, columns), hiddenChars: 0 };
  const head = wholeSigns(text, Math.floor(most * HEAD));
  const tail = wholeSigns(text, text.length - (most - head));
  const hiddenChars = tail - head;
  return {
    rows: [
      ...behindBar(text.slice(0, head), columns),
      ...gap(hiddenChars, 'character', columns),
      ...behindBar(text.slice(tail), columns),
    ],
    hiddenChars,
  };
}

/** A sign of two code units is not torn apart. */
function wholeSigns(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at;
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
