import { type Candidate, readAt } from '../candidates.ts';
import { isList } from '../depth.ts';
import type { Json } from '../json.ts';
import type { Repair } from '../reply.ts';
import { Finder } from '../tolerant/finder.ts';
import { isSpace } from '../tolerant/characters.ts';
import { Landmarks } from '../tolerant/landmarks.ts';
import { isRegistered, type ToolNames } from '../tool-names.ts';

/** A value read inside a dialect's block. */
export interface BlockValue {
  readonly value: Json;
  readonly end: number;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
}

/** How many times the length of the text all readings together may cost before they stay inside their blocks. */
const EFFORT = 8;

/** The text that a dialect reads, with the searches and readings that all dialects share. */
export class DialectSource {
  readonly text: string;
  readonly end: number;
  readonly maxDepth: number;
  readonly tools: ToolNames;
  steps = 0;
  readonly landmarks: Landmarks;
  private readonly finders = new Map<string, Finder>();

  constructor(text: string, end: number, options: { readonly maxDepth: number; readonly tools: ToolNames }) {
    this.text = text;
    this.end = end;
    this.maxDepth = options.maxDepth;
    this.tools = options.tools;
    this.landmarks = new Landmarks(text);
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

  /** The first index from `from` on that is no white space. */
  skip(from: number): number {
    let i = from;
    while (i < this.end && isSpace(this.text.charCodeAt(i))) i += 1;
    this.steps += i - from + 1;
    return i;
  }

  has(name: string): boolean {
    return isRegistered(name, this.tools);
  }

  /**
   * The JSON value that begins at `from` or after white space there. JSON may run past `bound`, which can stand
   * inside one of its strings; what has to be mended must end before it.
   */
  value(from: number, bound: number): BlockValue | undefined {
    const at = this.skip(from);
    const code = this.text.charCodeAt(at);
    if (at >= bound || (code !== 123 && code !== 91)) return undefined;
    const far = this.steps <= this.text.length * EFFORT + 2_000 ? this.end : bound;
    const span = { from: at, maxDepth: this.maxDepth, fenced: false, landmarks: this.landmarks };
    const read = readAt(this.text, at, { ...span, to: far });
    this.steps += read.steps;
    if (read.candidate?.strict === true && read.candidate.complete) return asBlock(read.candidate);
    const bounded = far === bound ? read : readAt(this.text, at, { ...span, to: bound });
    this.steps += bounded.steps;
    const found = bounded.candidate;
    if (found === undefined || (!found.strict && bounded.pairs === 0 && !isList(found.value))) return undefined;
    return asBlock({ ...found, complete: found.complete || bound < this.end });
  }
}

function asBlock(found: Candidate): BlockValue {
  return { value: found.value, end: found.to, complete: found.complete, repairs: found.repairs };
}
