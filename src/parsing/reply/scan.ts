import type { DialectReading, DialectSource } from '../dialects/dialect.ts';
import { marksAt, UNMARKED_DIALECTS } from '../dialects/index.ts';
import { CODE, isSpace } from '../repair/characters.ts';
import { type Candidate, isPlausible, readAt, withStrayClosers } from '../repair/values-in-text.ts';
import {
  Elements,
  isMentioned,
  openThoughtCloseFrom,
  thoughtAt,
  thoughtCloseAt,
  turnBeginsAt,
  turnEndsAt,
} from './outside-message.ts';
import { leadingTokens } from './special-tokens.ts';
import { type OpenedFence, type TalkReason, Fences, Surroundings } from './surroundings.ts';

/** Something in a message that could act: a block in a model's own format, or a JSON value. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  readonly found:
    | { readonly kind: 'block'; readonly dialect: string; readonly marked: boolean; readonly reading: DialectReading }
    | { readonly kind: 'value'; readonly candidate: Candidate };
  readonly talk: TalkReason | null;
  /** The number of the fence that it stands in; 0: none. */
  readonly fence: number;
}

/** A message, taken apart from left to right: every character has one owner. */
export interface Scan {
  readonly pieces: readonly Piece[];
  /** Where the message begins, behind leading tokens and thoughts. */
  readonly from: number;
  readonly thinking: string;
  /** A thought was still open at the end. */
  readonly openThinking: boolean;
  /** The fences, by their numbers. */
  readonly fences: ReadonlyMap<number, OpenedFence>;
  /** Text that is not looked into: comments, thoughts, quotations, other turns. */
  readonly closed: readonly { readonly from: number; readonly to: number }[];
  readonly steps: number;
}

/** How many times the length of the text the readings of values may cost before nothing rejected is looked into. */
const EFFORT = 3;
const MOST_PIECES = 50_000;
const MARK_IN_BRACKETS = /^\[\/?(?:THINK|INST|TOOL_RESULTS)\]/;
const QUOTATION_MARKS = '"“”„«»「」『』';
const OPENER = new RegExp(`[\\n<{[(\`${QUOTATION_MARKS}]|(?<=^|\\s)/\\*|◁`, 'g');

/**
 * Takes a message apart in one pass from left to right. The construct that begins first owns its text: nothing inside a
 * string, a block, a thought, a quotation or a comment is looked at by any other reader.
 */
export function scanReply(source: DialectSource): Scan {
  return new Scanner(source).scan();
}

class Scanner {
  private readonly source: DialectSource;
  private readonly text: string;
  private readonly end: number;
  private readonly elements: Elements;
  private readonly around: Surroundings;
  private readonly pieces: Piece[] = [];
  private readonly thoughts: string[] = [];
  private readonly fences: Fences;
  private readonly closed: { readonly from: number; readonly to: number }[] = [];
  private from = 0;
  private i = 0;
  private openThinking = false;
  private steps = 0;

  constructor(source: DialectSource) {
    this.source = source;
    this.text = source.text;
    this.end = source.end;
    this.elements = new Elements(source);
    this.around = new Surroundings(source);
    this.fences = new Fences(source);
  }

  scan(): Scan {
    this.takeHead();
    if (!this.openThinking && !this.takeEncoded()) {
      if (!this.takeMarked(this.i)) this.beginLine(this.i);
      while (this.i < this.end && this.pieces.length < MOST_PIECES) this.step();
    }
    const thinking = this.thoughts.filter((thought) => thought !== '').join('\n');
    const { pieces, from, openThinking, closed, steps } = this;
    return { pieces, from, thinking, openThinking, fences: this.fences.opened, closed, steps };
  }

  /** Moves to the next offset where something may begin. */
  private step(): void {
    OPENER.lastIndex = this.i;
    const at = OPENER.exec(this.text)?.index ?? this.end;
    this.steps += Math.min(at, this.end) - this.i + 1;
    if (at >= this.end) this.i = this.end;
    else {
      this.i = at;
      this.take(this.text.charCodeAt(at));
    }
  }

  private take(code: number): void {
    const { i } = this;
    if (code === CODE.newline) return this.beginLine(i + 1);
    if (QUOTATION_MARKS.includes(String.fromCharCode(code))) {
      this.around.quote(String.fromCharCode(code));
      this.i += 1;
    } else if (code === CODE.backtick) this.takeTicks();
    else if (code === CODE.slash) this.takeComment('*/');
    else if (code === CODE.less || code === 0x25c1 || MARK_IN_BRACKETS.test(this.text.slice(i, i + 15)))
      this.takeMark();
    else if (code === CODE.openParen) this.i = this.takeUnmarked(i, i) ?? i + 1;
    else this.takeBracket();
  }

  /** A line begins: what stands at its head decides whether anything on it can be more than talk. */
  private beginLine(at: number): void {
    let i = at;
    while (i < this.end && (this.text.charCodeAt(i) === CODE.space || this.text.charCodeAt(i) === CODE.tab)) i += 1;
    this.steps += i - at + 1;
    this.i = i;
    this.around.beginLine(at, i, this.fences.current > 0);
    if (i > this.from && turnBeginsAt(this.text, i)) this.takeTurn(openThoughtCloseFrom(this.text, i));
    else if (this.text.startsWith('~~~', i)) this.takeTicks();
    else this.takeMarked(i);
  }

  private stop(): void {
    this.takeTo(this.end);
  }

  /** A turn that a message makes up, or that a thought which began in the prompt does. */
  private takeTurn(close: ReturnType<typeof openThoughtCloseFrom>): void {
    if (close !== undefined && this.closesOrphan(close.at, close.past)) this.takeOrphan(close.at, close.past);
    else this.stop();
  }

  /** Text that is owned and not looked into. */
  private takeTo(to: number): void {
    const past = Math.min(Math.max(to, this.i + 1), this.end);
    if (past > this.i + 1) this.closed.push({ from: this.i, to: past });
    this.i = past;
  }

  /** Tokens and thoughts at the very beginning. */
  private takeHead(): void {
    for (;;) {
      this.i = leadingTokens(this.text, this.i, this.end);
      const at = this.source.skipSpace(this.i);
      const thought = at < this.end ? thoughtAt(this.source, at) : undefined;
      if (thought === undefined) break;
      this.thoughts.push(this.text.slice(thought.from, thought.to).trim());
      this.i = thought.end;
      this.openThinking = !thought.closed;
    }
    this.from = this.i;
  }

  /** The whole message is JSON that was written as a string. */
  private takeEncoded(): boolean {
    const at = this.source.skipSpace(this.i);
    if (this.text.charCodeAt(at) !== CODE.doubleQuote || this.text.charCodeAt(at + 1) !== CODE.openBrace) return false;
    let last = this.end;
    while (last > at && isSpace(this.text.charCodeAt(last - 1))) last -= 1;
    if (this.text.charCodeAt(last - 1) !== CODE.doubleQuote || last - 1 <= at + 1) return false;
    const { candidate, steps } = this.readValue(at + 1, last - 1);
    this.steps += steps;
    if (candidate?.repairs[0]?.kind !== 'escaped' || this.source.skipSpace(candidate.to) < last - 1) return false;
    const found = { kind: 'value' as const, candidate: { ...candidate, to: last } };
    this.pieces.push({ from: at, to: last, found, talk: null, fence: 0 });
    return true;
  }

  /** A fence, or code within a line. */
  private takeTicks(): void {
    const { to, closed } = this.fences.take(this.i);
    if (this.fences.current > 0 && !closed) this.around.openFence();
    if (closed) this.takeTo(to);
    else this.i = to;
  }

  /** A comment, where it is closed. */
  private takeComment(closer: string): void {
    const close = this.source.next(this.i + closer.length, closer);
    if (close < this.end) this.takeTo(close + closer.length);
    else if (closer === '-->') this.stop();
    else this.i += 1;
  }

  private takeMark(): void {
    const { i, text } = this;
    if (text.startsWith('<!--', i)) return this.takeComment('-->');
    if (this.takeMarked(i)) return;
    if (turnEndsAt(text, i) && !this.isThoughtAfter(i)) return this.stop();
    const thought = thoughtAt(this.source, i);
    if (thought !== undefined) return this.takeTo(thought.end);
    const close = thoughtCloseAt(text, i);
    if (close > 0 && this.closesOrphan(i, i + close)) return this.takeOrphan(i, i + close);
    if (close > 0 && this.closesAgain(i, i + close)) this.pieces.length = 0;
    this.takeTo(this.elements.endAt(i, this.from) ?? i + 1);
  }

  /** True for a closing tag whose opening one was in the prompt: everything before it was a thought. */
  private closesOrphan(at: number, past: number): boolean {
    return this.thoughts.length === 0 && this.closesAgain(at, past);
  }

  /** A second closing tag: what stands before it was thought, too, whatever else it is. */
  private closesAgain(at: number, past: number): boolean {
    if (this.fences.current > 0 || this.around.isQuoting) return false;
    return !isMentioned(this.text, at, Math.min(past, this.end));
  }

  /** A token that ends a turn may be written within a thought, which is closed right behind it. */
  private isThoughtAfter(at: number): boolean {
    const past = this.text.indexOf('>', at) + 1;
    return past > 0 && thoughtCloseAt(this.text, this.source.skipSpace(past)) > 0;
  }

  private takeOrphan(at: number, past: number): void {
    this.thoughts.push(this.text.slice(this.from, at).trim());
    this.pieces.length = 0;
    this.from = leadingTokens(this.text, past, this.end);
    this.i = this.from;
    this.around.forget();
  }

  /** A block of a format that has its own mark. */
  private takeMarked(at: number): boolean {
    for (const { piece, dialect } of marksAt(this.text, at)) {
      if (!this.text.startsWith(piece, at)) continue;
      const reading = dialect.read(this.source, at);
      if (reading === undefined) continue;
      this.pushBlock(at, dialect.name, reading, true);
      return true;
    }
    return false;
  }

  /** Calls that look like prose: a bracket behind a registered name. Returns where they end. */
  private takeUnmarked(at: number, bracket: number): number | undefined {
    for (const dialect of UNMARKED_DIALECTS) {
      if (!dialect.markers.includes(this.text.charAt(bracket))) continue;
      const reading = dialect.read(this.source, bracket);
      const last = this.pieces.at(-1);
      if (reading === undefined || (reading.from ?? at) < (last?.to ?? this.from)) continue;
      this.pushBlock(Math.min(at, reading.from ?? at), dialect.name, reading, false);
      return this.i;
    }
    return undefined;
  }

  private pushBlock(from: number, dialect: string, reading: DialectReading, marked: boolean): void {
    const to = Math.min(Math.max(reading.end, this.i + 1), this.end);
    this.push(from, to, { kind: 'block', dialect, marked, reading });
  }

  private push(from: number, to: number, found: Piece['found']): void {
    this.pieces.push({ from, to, found, talk: this.around.talk(from, to), fence: this.fences.current });
    this.around.pass(from, to);
    this.i = to;
  }

  /** An object or a list, or a call that begins with its bracket. */
  private takeBracket(): void {
    const { i, text } = this;
    if (this.takeMarked(i)) return;
    if (text.startsWith('functools', i - 9) && i - 9 >= this.from && this.takeMarked(i - 9)) return;
    const paren = /^\[\s*[\w.\\-]{1,200}\(/.exec(text.slice(i, i + 220))?.[0].length;
    const unmarked = this.takeUnmarked(i, paren === undefined ? i : i + paren - 1);
    if (unmarked !== undefined) return;
    const read = this.readValue(i, this.end);
    const span = { from: this.from, to: this.end, maxDepth: this.source.maxDepth };
    if (read.candidate !== undefined && isPlausible(text, read.candidate, read, span)) {
      const candidate = withStrayClosers(text, read.candidate, span);
      return this.push(i, Math.max(candidate.to, i + 1), { kind: 'value', candidate });
    }
    this.i = this.steps > this.text.length * EFFORT + 2_000 ? Math.max(read.end, i + 1) : i + 1;
  }

  private readValue(from: number, to: number): ReturnType<typeof readAt> {
    const { maxDepth, landmarks } = this.source;
    const read = readAt(this.text, from, { from, to, maxDepth, landmarks, fenced: this.fences.current > 0 });
    this.steps += read.steps;
    return read;
  }
}
