import { escaped } from '../../output/console/escaped.ts';
import type { Paint, Style } from '../../output/console/paint.ts';
import { textWidth } from '../../terminal/text-width.ts';
import type { Repair } from '../../parsing/index.ts';

/** The repairs of a text, and how they are to be shown. */
interface Repaired {
  readonly text: string;
  readonly repairs: readonly Repair[];
  readonly columns: number;
  readonly paint: Paint;
}

const WIDEST = 90;
/** Any other character may take two columns. */
const NARROW = /^[ -~\r\n]*$/;

/**
 * Shows each repair, below the line of the text in which it was made: there its place is painted, and marked by a caret
 * where there is no colour. Yellow is what loses nothing, red what is a guess.
 */
export function repairLines({ text, repairs, columns, paint }: Repaired): readonly string[] {
  const placed = repairs.filter((repair) => isPlaced(repair, text.length));
  const others = repairs.filter((repair) => !isPlaced(repair, text.length));
  const room = Math.max(Math.min(WIDEST, columns) - GUTTER - 2, 2);
  const width = NARROW.test(text) ? room : Math.floor(room / 2);
  return [
    ...excerpts(text, placed, width).flatMap((excerpt) => ['', ...excerptLines(text, excerpt, paint)]),
    ...(others.length === 0 ? [] : ['', ...others.map((repair) => repairLine(repair, repair.path ?? '', paint))]),
  ];
}

function isPlaced(repair: Repair, length: number): repair is PlacedRepair {
  return repair.at !== undefined && repair.at >= 0 && repair.at <= length;
}

/** Columns before an excerpt: the number of its line and a bar. */
const GUTTER = 8;

function excerptLines(text: string, excerpt: Excerpt, paint: Paint): readonly string[] {
  const { line, lineStart, repairs } = excerpt;
  const { shown, carets } = marked(text, excerpt, paint);
  const gutter = (number: string): string => paint('dim', `${number.padStart(GUTTER - 3)} | `);
  return [
    `${gutter(String(line))}${shown}`,
    `${gutter('')}${carets}`,
    ...repairs.map((repair) => repairLine(repair, `${line}:${repair.at - lineStart + 1}`, paint)),
  ];
}

function marked(text: string, { from, to, cutBefore, cutAfter, repairs }: Excerpt, paint: Paint) {
  let shown = cutBefore ? '…' : '';
  let carets = cutBefore ? ' ' : '';
  let index = from;
  for (const [at, style] of stylesByPlace(repairs)) {
    // The second half of a character that is marked already.
    if (at < index) continue;
    const before = visible(text.slice(index, at));
    const character = at < to ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '';
    index = at + character.length;
    const place = visible(character);
    shown += before + paint(style, place);
    carets += ' '.repeat(textWidth(before)) + paint(style, '^') + ' '.repeat(Math.max(textWidth(place) - 1, 0));
  }
  return { shown: `${shown}${visible(text.slice(index, to))}${cutAfter ? '…' : ''}`, carets: carets.trimEnd() };
}

/** Where several repairs were made at one place, the boldest decides. */
function stylesByPlace(repairs: readonly PlacedRepair[]): ReadonlyMap<number, Style> {
  const styles = new Map<number, Style>();
  for (const repair of repairs) if (styles.get(repair.at) !== 'red') styles.set(repair.at, styleOf(repair));
  return styles;
}

function styleOf({ cost }: Repair): Style {
  return cost > 0 ? 'red' : 'yellow';
}

function repairLine(repair: Repair, place: string, paint: Paint): string {
  const kind = paint(styleOf(repair), repair.kind.padEnd(16));
  const cost = repair.cost > 0 ? ` (cost ${repair.cost})` : '';
  return `  ${visible(place).padEnd(GUTTER - 3)} ${kind} ${visible(repair.message)}${cost}`;
}

/** Harmless, and on one line. */
function visible(text: string): string {
  return escaped(text.replaceAll('\r', '␍').replaceAll('\n', '␊'));
}

/** A repair that says where in the text it was made. */
type PlacedRepair = Repair & { readonly at: number };

/** A piece of one line of a text, with the repairs that were made in it in their order. */
interface Excerpt {
  /** Counted from 1. */
  readonly line: number;
  readonly lineStart: number;
  readonly from: number;
  readonly to: number;
  /** The line continues before, or behind. */
  readonly cutBefore: boolean;
  readonly cutAfter: boolean;
  readonly repairs: readonly PlacedRepair[];
}

/** Characters before a repair that are shown of a line that is too long to be shown whole. */
const BEFORE = 20;

/** Finds the pieces of a text that show all its repairs, of at most this many characters. The work is linear. */
export function excerpts(text: string, repairs: readonly PlacedRepair[], width: number): readonly Excerpt[] {
  const found: Excerpt[] = [];
  let line = { number: 1, start: 0, end: lineEnd(text, 0) };
  let gathered: PlacedRepair[] = [];
  let to = -1;
  for (const repair of repairs.toSorted((a, b) => a.at - b.at)) {
    while (repair.at > line.end && line.end < text.length) {
      line = { number: line.number + 1, start: line.end + 1, end: lineEnd(text, line.end + 1) };
      to = -1;
    }
    if (repair.at < to || (repair.at === to && to === line.end)) {
      gathered.push(repair);
      continue;
    }
    const short = line.end - line.start <= width;
    const from = short ? line.start : wholeCharacter(text, Math.max(line.start, repair.at - BEFORE));
    to = short ? line.end : wholeCharacter(text, Math.min(line.end, from + width));
    gathered = [repair];
    found.push({
      line: line.number,
      lineStart: line.start,
      from,
      to,
      cutBefore: from > line.start,
      cutAfter: to < line.end,
      repairs: gathered,
    });
  }
  return found;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** The index itself, or the one before it in the middle of a character of two units. */
function wholeCharacter(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
