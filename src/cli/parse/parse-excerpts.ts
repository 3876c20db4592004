import type { Repair } from '../../parsing/index.ts';

/** A repair that says where in the text it was made. */
export type PlacedRepair = Repair & { readonly at: number };

/** A piece of one line of a text, with the repairs that were made in it in their order. */
export interface Excerpt {
  /** Counted from 1. */
  readonly line: number;
  readonly lineStart: number;
  readonly from: number;
  readonly to: number;
  /** The line goes on before, or behind. */
  readonly cutBefore: boolean;
  readonly cutAfter: boolean;
  readonly repairs: readonly PlacedRepair[];
}

/** Characters before a repair that are shown of a line that is too long to be shown whole. */
const BEFORE = 20;

/** Finds the pieces of a text that show all its repairs, of at most so many characters. The work is linear. */
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
