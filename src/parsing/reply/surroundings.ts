import type { DialectSource } from '../dialects/dialect.ts';
import { CODE } from '../repair/characters.ts';

/** Why a piece is talk and never a call: what stands around it. */
export type TalkReason = 'quote' | 'table' | 'comment' | 'list' | 'indented' | 'quoted';

const LIST = /^(?:[-*+•‣–—]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])[ \t]/;
const COMMENT = /^(?:\/\/|#(?![\w{["]|#)|##+[ \t]|--[ \t]|;;|%[ \t])/;
const QUOTES = new Map([
  ['"', '"'],
  ['“', '”"'],
  ['„', '“”"'],
  ['«', '»'],
  ['»', '«'],
  ["'", "'"],
  ['‘', '’'],
  ['「', '」'],
  ['『', '』'],
]);

/** How many open quotations, from the innermost on, are asked whether they are closed. */
const MOST_QUOTATIONS = 8;

/** What a pass over a message knows of the place where it stands: the line, the list, the paragraph's quotation marks. */
export class Surroundings {
  private readonly source: DialectSource;
  private lineTalk: TalkReason | null = null;
  /** Prose stood on an earlier line, so that an indented one is code. */
  private prose = false;
  private inList = false;
  /** What the line is on which the open fence began: a fence in a quotation holds what is quoted. */
  private fenceTalk: TalkReason | null = null;
  /** The quotations open in this paragraph, outside of what is owned: what closes each, the innermost last. */
  private quotations: string[] = [];

  constructor(source: DialectSource) {
    this.source = source;
  }

  /** A line begins at `at`, its first visible character is at `first`. */
  beginLine(at: number, first: number, fenced: boolean): void {
    const { text, end } = this.source;
    const code = first < end ? text.charCodeAt(first) : CODE.newline;
    if (code === CODE.newline || code === CODE.return) {
      this.quotations = [];
      return;
    }
    const indent = first - at + (text.charCodeAt(at) === CODE.tab ? 3 : 0);
    const talk = talkOfLine(text.slice(first, first + 12));
    if (fenced) {
      this.lineTalk = this.fenceTalk ?? (talk === 'comment' ? talk : null);
      return;
    }
    this.lineTalk = talk;
    if (this.lineTalk === null && this.inList && indent >= 2) this.lineTalk = 'list';
    this.inList = this.lineTalk === 'list';
    if (this.lineTalk === null && indent >= 4 && this.prose) this.lineTalk = 'indented';
    this.prose ||= !/[`~<{[]/.test(text.charAt(first));
  }

  /** A fence opens on this line. */
  openFence(): void {
    this.fenceTalk = this.lineTalk;
  }

  /** A quotation mark in prose: it closes the innermost quotation, or opens one. */
  quote(mark: string): void {
    const closers = QUOTES.get(mark);
    if (this.quotations.at(-1)?.includes(mark) === true) this.quotations.pop();
    else if (closers !== undefined) this.quotations.push(closers);
  }

  /** True within quotation marks. */
  get isQuoting(): boolean {
    return this.quotations.length > 0;
  }

  /** A piece was taken; one of several lines leaves the line that it began on. */
  pass(from: number, to: number): void {
    if (this.source.next(from, '\n') < to) this.lineTalk = null;
  }

  /** What stood before turned out not to be part of the message. */
  forget(): void {
    this.lineTalk = null;
    this.prose = false;
    this.quotations = [];
  }

  /** Why what stands between two offsets is talk; null when it may act. */
  talk(from: number, to: number): TalkReason | null {
    if (this.lineTalk !== null) return this.lineTalk;
    const { text, end } = this.source;
    const closers = from > 0 ? QUOTES.get(text.charAt(from - 1)) : undefined;
    if (to < end && closers?.includes(text.charAt(to)) === true) return 'quoted';
    const paragraph = this.source.next(to, '\n\n');
    const isClosed = this.quotations
      .slice(-MOST_QUOTATIONS)
      .some((marks) => this.source.next(to, ...Array.from(marks)) < paragraph);
    return isClosed ? 'quoted' : null;
  }
}

function talkOfLine(head: string): TalkReason | null {
  if (head.startsWith('>') && !head.startsWith('>>>')) return 'quote';
  if (head.startsWith('|') && !head.startsWith('|>')) return 'table';
  if (COMMENT.test(head)) return 'comment';
  return LIST.test(head) ? 'list' : null;
}

const INFO = /^[\w+#.-]*[ \t]*(?=\r?\n|$)|^(?:jsonc?|json5)\b/i;

/** Where a fence was opened: its mark, and the text behind the line of its mark. */
export interface OpenedFence {
  readonly at: number;
  readonly from: number;
  readonly language: string;
}

/** The fences of a message, and code within its lines. */
export class Fences {
  /** The number of the open fence; 0: none. */
  current = 0;
  /** All fences, by their numbers. */
  readonly opened = new Map<number, OpenedFence>();
  private readonly source: DialectSource;
  private mark = '';

  constructor(source: DialectSource) {
    this.source = source;
  }

  /** Takes the back-ticks or tildes at `at`. `closed`: code within a line, which is not looked into. */
  take(at: number): { readonly to: number; readonly closed: boolean } {
    const to = this.runEnd(at);
    if (to - at >= 3) return { to: this.takeFence(at, to), closed: false };
    const end = this.current > 0 ? undefined : this.inlineEnd(to - at, to);
    return { to: end ?? to, closed: end !== undefined };
  }

  private runEnd(at: number): number {
    const { text, end } = this.source;
    let to = at;
    const code = text.charCodeAt(at);
    while (to < end && text.charCodeAt(to) === code) to += 1;
    return to;
  }

  private takeFence(at: number, to: number): number {
    const run = this.source.text.slice(at, to);
    if (this.current > 0) {
      if (run.startsWith(this.mark)) this.current = 0;
      return to;
    }
    this.current = this.opened.size + 1;
    this.mark = run;
    const info = INFO.exec(this.source.text.slice(to, to + 60))?.[0] ?? '';
    const from = to + info.length;
    this.opened.set(this.current, { at, from, language: info.trim().toLowerCase() });
    return from;
  }

  /** Where code within a line ends: behind a run of as many back-ticks in the same paragraph. */
  private inlineEnd(length: number, from: number): number | undefined {
    const paragraph = this.source.next(from, '\n\n');
    let at = this.source.next(from, '`');
    for (let tries = 0; at < paragraph && tries < 8; tries += 1) {
      const to = this.runEnd(at);
      if (to - at === length) return to;
      at = this.source.next(to, '`');
    }
    return undefined;
  }
}
