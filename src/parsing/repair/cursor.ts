import { CODE, isSpace } from './characters.ts';
import type { Repair } from './repairs.ts';

/** What is open around the cursor: an object, a list (square or round), or the arguments of a call `f(a=1)`. */
export type Container = 'object' | 'list' | 'tuple' | 'call';

/** The part of a text that a cursor moves in, and how it reads it. */
export interface CursorSpan {
  readonly from: number;
  readonly to: number;
  readonly maxDepth: number;
  readonly trimsLayout?: boolean;
  /** Those of the text, where several readings share them. */
  readonly landmarks?: Landmarks;
}

const MOST_LISTED_REPAIRS = 200;

/**
 * Where the tolerant parser stands in its text, what is open around it and what it had to repair so far.
 * `steps` counts the characters looked at, so that a test can prove that the work is linear.
 */
export class Cursor {
  readonly text: string;
  readonly end: number;
  readonly maxDepth: number;
  /** True when a line break right before a closing quote is layout and not text. */
  readonly trimsLayout: boolean;
  readonly frames: Container[] = [];
  readonly repairs: Repair[] = [];
  pos: number;
  steps = 0;
  cost = 0;
  /** False once the text ended where more had to come. */
  complete = true;
  /** True when the text ended inside a value, and not merely before the outermost closing brace. */
  cutInside = false;
  /** True when the text ended inside a string, or in one whose closing quote is missing. */
  openString = false;
  /** True when the text ended where a key, a value or an item had to come. */
  hanging = false;
  /** True once the text is nested too deep to be read. */
  refused = false;
  /** Members that were written as one: a key, a separator and a value. */
  pairs = 0;
  /** Strings and keys in quotes. */
  quoted = 0;
  /** Unquoted words taken as text. */
  bareWords = 0;
  /** The number that was read last, as it stands in the text. */
  written = '';
  /** How often a string may still be ended where its quote is missing, at the price of reading on from there again. */
  secondLooks = 8;
  readonly landmarks: Landmarks;

  constructor(text: string, span: CursorSpan) {
    this.text = text;
    this.pos = span.from;
    this.end = span.to;
    this.maxDepth = span.maxDepth;
    this.trimsLayout = span.trimsLayout === true;
    this.landmarks = span.landmarks ?? new Landmarks(text);
  }

  /** The character code at `index`, or -1 past the end. */
  at(index: number): number {
    this.steps += 1;
    return index < this.end ? this.text.charCodeAt(index) : -1;
  }

  /** Lists a repair. The cost always counts; the list itself is kept short. */
  repair(kind: string, message: string, cost: number, at: number = this.pos): void {
    this.cost += cost;
    if (this.repairs.length < MOST_LISTED_REPAIRS) this.repairs.push({ kind, message, at, cost });
  }

  /** Marks the value as cut off: the text ended inside it. */
  cut(): void {
    this.complete = false;
    this.cutInside = true;
  }

  /** Marks the value as cut off where more of it had to come. */
  cutHanging(): void {
    this.cut();
    this.hanging = true;
  }

  /** Marks the value as cut off inside a string. */
  cutString(): void {
    this.cut();
    this.openString = true;
  }

  /** The first index from `index` on that is neither white space nor inside a comment. */
  skipSpace(index: number): number {
    let i = index;
    for (;;) {
      while (i < this.end && isSpace(this.text.charCodeAt(i))) i += 1;
      const afterComment = this.commentEnd(i);
      if (afterComment === i) break;
      i = afterComment;
    }
    this.steps += i - index + 1;
    return i;
  }

  /** True when a line break lies between the two indexes. */
  hasNewline(from: number, to: number): boolean {
    return this.landmarks.newlines.next(from) < to;
  }

  /** Moves over white space and comments, listing the comments and what JSON does not take for white space. */
  skip(): void {
    const next = this.skipSpace(this.pos);
    let foreign = false;
    for (let i = this.pos; i < next; i += 1) {
      const code = this.text.charCodeAt(i);
      if (code === CODE.space || code === CODE.newline || code === CODE.tab || code === CODE.return) continue;
      if (!isSpace(code)) {
        this.repair('comment', 'a comment was left out', 0);
        foreign = false;
        break;
      }
      foreign = true;
    }
    if (foreign) this.repair('white-space', 'a space that JSON does not know was read as one', 0);
    this.pos = next;
  }

  private commentEnd(index: number): number {
    const code = index < this.end ? this.text.charCodeAt(index) : -1;
    if (code === CODE.slash) {
      const next = index + 1 < this.end ? this.text.charCodeAt(index + 1) : -1;
      if (next === CODE.slash) return this.lineEnd(index);
      if (next !== CODE.star) return index;
      return Math.min(this.landmarks.commentCloses.next(index + 2) + 2, this.end);
    }
    return code === CODE.hash && this.opensHashComment(index) ? this.lineEnd(index) : index;
  }

  /** `#` opens a comment only between white space: `# note`, not `#1`. */
  private opensHashComment(index: number): boolean {
    return index > 0 && isSpace(this.text.charCodeAt(index - 1)) && isSpace(this.text.charCodeAt(index + 1));
  }

  /** A line comment ends with its line; on the last line, before the bracket that would otherwise be lost. */
  private lineEnd(index: number): number {
    const newline = this.landmarks.newlines.next(index);
    if (newline < this.end) return newline;
    return Math.min(this.landmarks.braces.next(index), this.landmarks.brackets.next(index), this.end);
  }
}

/**
 * Finds the next occurrence of one piece of text, remembering the last answer: asking again from inside the same gap
 * costs nothing. Who asks backwards gets the answer from a list of all occurrences, so that in any order it stays linear.
 */
export class Finder {
  private readonly text: string;
  private readonly piece: string;
  private readonly work: { steps: number };
  private from = 0;
  private found = -1;
  private all: readonly number[] | undefined;

  /** `work` counts the characters that were searched. */
  constructor(text: string, piece: string, work: { steps: number }) {
    this.text = text;
    this.piece = piece;
    this.work = work;
  }

  /** The first index from `index` on where the piece begins, or Infinity. */
  next(index: number): number {
    if (index >= this.from && index <= this.found) return this.found;
    if (index < this.from) this.all ??= this.listed();
    this.found = this.all === undefined ? this.search(index) : (this.all[placeFrom(this.all, index)] ?? Infinity);
    this.from = index;
    return this.found;
  }

  private search(index: number): number {
    const at = this.text.indexOf(this.piece, index);
    this.work.steps += (at < 0 ? this.text.length : at) - index + 1;
    return at < 0 ? Infinity : at;
  }

  private listed(): readonly number[] {
    const all: number[] = [];
    for (let at = this.search(0); at < Infinity; at = this.search(at + 1)) all.push(at);
    return all;
  }
}

/** The place of the first of sorted offsets that is not before an index. */
export function placeFrom(offsets: readonly number[], index: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Where the next line break, comment end and closers of a text are. One set serves all readings of the same text, so
 * that a thousand readings do not search it a thousand times. `steps` counts the characters searched.
 */
export class Landmarks {
  readonly newlines: Finder;
  readonly commentCloses: Finder;
  readonly braces: Finder;
  readonly brackets: Finder;
  steps = 0;
  /** How often the rest of the text may still be read with one level of escaping removed. */
  unescapings = 3;
  /** How often brackets in bare words may still turn out to be closed nowhere. */
  nestings = 16;

  constructor(text: string) {
    this.newlines = new Finder(text, '\n', this);
    this.commentCloses = new Finder(text, '*/', this);
    this.braces = new Finder(text, '}', this);
    this.brackets = new Finder(text, ']', this);
  }
}
