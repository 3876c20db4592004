import { isList } from '../../json/depth.ts';
import type { Json } from '../../json/json.ts';
import type { ToolCallRequest } from '../calls/call-forms.ts';
import type { RegisteredTools } from '../calls/registered-tools.ts';
import { isSpace } from '../repair/characters.ts';
import { Finder, Landmarks, placeFrom } from '../repair/cursor.ts';
import type { Repair } from '../repair/repairs.ts';
import { type Candidate, readAt, readStrictAt } from '../repair/values-in-text.ts';

/** What a block in a model's own tool-call format says, and where it ends. */
export interface DialectReading {
  readonly calls: readonly ToolCallRequest[];
  /** Where the block begins, where that is before its marker. */
  readonly from?: number;
  readonly end: number;
  readonly thought?: string;
  readonly answer?: string;
  readonly complete: boolean;
  /** Where a value ends is unknown, so what follows may be quoted in it. */
  readonly openEnded?: boolean;
  readonly repairs: readonly Repair[];
}

/** One model family's way to write tool calls. */
export interface Dialect {
  readonly name: string;
  /** Pieces of text, one of which begins every block of the format. */
  readonly markers: readonly string[];
  /** Reads the block whose marker stands at `at`, registered or not; undefined when the marker was only mentioned. */
  readonly read: (source: DialectSource, at: number) => DialectReading | undefined;
}

/** A value read inside a dialect's block. */
interface BlockValue {
  readonly value: Json;
  readonly end: number;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
}

/** How many times the length of the text all readings together may cost before they stay inside their blocks. */
const EFFORT = 8;
/** How many closing marks a string may hold before its block counts as unclosed. */
const MOST_BOUNDS = 16;

/** The text that a reply is read from, with the searches and readings that all formats share. */
export class DialectSource {
  readonly text: string;
  readonly end: number;
  readonly maxDepth: number;
  readonly tools: RegisteredTools;
  readonly landmarks: Landmarks;
  /** Characters that searches looked at; they do not count against the effort of readings. */
  steps = 0;
  /** Characters that readings of values looked at. */
  effort = 0;
  private readonly finders = new Map<string, Finder>();
  private readonly balances = new Map<string, TagBalance>();

  constructor(text: string, end: number, options: { readonly maxDepth: number; readonly tools: RegisteredTools }) {
    this.text = text;
    this.end = end;
    this.maxDepth = options.maxDepth;
    this.tools = options.tools;
    this.landmarks = new Landmarks(text);
  }

  /** All characters looked at so far. */
  get work(): number {
    return this.steps + this.effort + this.landmarks.steps;
  }

  /** True while readings may still look beyond their blocks; the bound that keeps the whole pass linear. */
  get affordable(): boolean {
    return this.effort <= this.text.length * EFFORT + 2_000;
  }

  /** The next occurrence of one of the pieces from `from` on, or the end. Asked in any order, it stays linear. */
  next(from: number, ...pieces: readonly string[]): number {
    let nearest = this.end;
    for (const piece of pieces) {
      let finder = this.finders.get(piece);
      if (finder === undefined) {
        finder = new Finder(this.text, piece, this);
        this.finders.set(piece, finder);
      }
      nearest = Math.min(nearest, finder.next(from));
    }
    this.steps += 1;
    return nearest;
  }

  /**
   * The next occurrence of a piece that is rarely searched again, such as a tag with an unusual name. It counts as
   * effort, and once that is spent nothing is found: a text full of such tags stays linear.
   */
  seek(from: number, piece: string, to: number = this.end): number {
    if (!this.affordable) return to;
    const found = this.text.slice(from, to).indexOf(piece);
    this.effort += found < 0 ? to - from : found;
    return found < 0 ? to : from + found;
  }

  /** The first index from `from` on that is not white space. */
  skipSpace(from: number): number {
    let i = from;
    while (i < this.end && isSpace(this.text.charCodeAt(i))) i += 1;
    this.steps += i - from + 1;
    return i;
  }

  /** The index behind the longest of the pieces that stands at `at`, or `at` when none does. */
  past(at: number, pieces: readonly string[]): number {
    let end = at;
    for (const piece of pieces) if (this.text.startsWith(piece, at)) end = Math.max(end, at + piece.length);
    return end;
  }

  /** How a format's tags open and close each other in this text. Counted once for each format. */
  balance(openers: readonly string[], closers: readonly string[]): TagBalance {
    const key = [...openers, ...closers].join(' ');
    const known = this.balances.get(key);
    if (known !== undefined) return known;
    const balance = new TagBalance(this.text.slice(0, this.end), openers, closers);
    this.balances.set(key, balance);
    this.steps += this.end * (openers.length + closers.length);
    return balance;
  }

  has(name: string): boolean {
    return this.tools.has(name);
  }

  /**
   * The JSON value that begins at `from` or after white space there, in a block that one of `closers` ends. Valid JSON
   * may run past a closer, which then stands inside one of its strings. What has to be repaired ends at the first closer
   * that no open string holds; a value whose string is open where the block ends is incomplete.
   */
  value(from: number, ...closers: readonly string[]): BlockValue | undefined {
    const at = this.skipSpace(from);
    const code = this.text.charCodeAt(at);
    let bound = this.next(from, ...closers);
    if (at >= bound || (code !== 123 && code !== 91)) return undefined;
    const span = { from: at, maxDepth: this.maxDepth, fenced: false, landmarks: this.landmarks };
    if (this.affordable) {
      const read = readStrictAt(this.text, at, { ...span, to: this.end });
      this.effort += read.steps;
      if (read.candidate?.complete === true) return asBlock(read.candidate);
    }
    for (let tries = 0; ; tries += 1) {
      const read = readAt(this.text, at, { ...span, to: bound });
      this.effort += read.steps;
      const found = read.candidate;
      const next = bound < this.end ? this.next(bound + 1, ...closers) : this.end;
      if (read.openString && bound < this.end && tries < MOST_BOUNDS && this.affordable) {
        bound = next;
        continue;
      }
      if (found === undefined || (!found.strict && read.pairs === 0 && !isList(found.value))) return undefined;
      return asBlock({ ...found, complete: found.complete || (bound < this.end && !read.openString && !read.hanging) });
    }
  }
}

function asBlock(found: Candidate): BlockValue {
  return { value: found.value, end: found.to, complete: found.complete, repairs: found.repairs };
}

/** The opening and closing tags of a format in a text, counted once from its end. */
class TagBalance {
  private readonly offsets: readonly number[];
  /** By index: the fewest tags that are open at any later one, seen from here; below zero where one closes nothing. */
  private readonly lowest: readonly number[];

  constructor(text: string, openers: readonly string[], closers: readonly string[]) {
    const tags = [...tagOffsets(text, openers, 1), ...tagOffsets(text, closers, -1)].toSorted((a, b) => a.at - b.at);
    const lowest: number[] = [];
    let low = 0;
    for (const { step } of tags.toReversed()) {
      low = Math.min(0, low + step);
      lowest.push(low);
    }
    this.offsets = tags.map(({ at }) => at);
    this.lowest = lowest.toReversed();
  }

  /** True when, from `from` on, some tag closes what was not opened there. */
  closesTooMuch(from: number): boolean {
    return (this.lowest[placeFrom(this.offsets, from)] ?? 0) < 0;
  }
}

function tagOffsets(
  text: string,
  pieces: readonly string[],
  step: 1 | -1,
): { readonly at: number; readonly step: number }[] {
  return pieces.flatMap((piece) => {
    const found: { readonly at: number; readonly step: number }[] = [];
    for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) found.push({ at, step });
    return found;
  });
}
