import { noteSpelling, parseStrict } from '../../json/depth.ts';
import { type Building, type Json, setOwn } from '../../json/json.ts';
import type { Dialect, DialectReading, DialectSource } from './dialect.ts';
import { PYTHON_WORDS } from './tag-values.ts';

/** A format of the Gemma family: its marks, and the token that stands before and behind every text. */
interface Row {
  readonly open: string;
  readonly close: string;
  readonly quote: string;
}

const ROWS: readonly Row[] = [
  // Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,count:3}<tool_call|>`.
  { open: '<|tool_call>', close: '<tool_call|>', quote: '<|"|>' },
  // FunctionGemma: `<start_function_call>call:name{key:<escape>text<escape>}<end_function_call>`.
  { open: '<start_function_call>', close: '<end_function_call>', quote: '<escape>' },
];

/** Gemma writes objects with bare keys, and texts between special tokens, in which nothing is escaped. */
export const GEMMA: readonly Dialect[] = ROWS.map((row) => ({
  name: 'gemma',
  markers: [row.open],
  read: (source, at) => readCall(source, at, row),
}));

const HEAD = /^\s*call:\s*([\p{L}_][\p{L}\p{N}_.:/-]{0,199})\s*(?=\{)/u;
const LONGEST_HEAD = 240;

function readCall(source: DialectSource, at: number, row: Row): DialectReading | undefined {
  const from = at + row.open.length;
  const head = HEAD.exec(source.text.slice(from, Math.min(from + LONGEST_HEAD, source.end)));
  const name = head?.[1];
  if (head === null || name === undefined) return undefined;
  const reader = new GemmaReader(source, from + head[0].length, row);
  const args = reader.object(1);
  const end = reader.broken ? source.next(reader.pos, row.close) : source.skipSpace(reader.pos);
  const past = source.past(end, [row.close]);
  // A text or a call that ends behind this one without having begun there was a part of it: its own mark cut it.
  const cut = source.next(past, row.close, row.quote) < source.next(past, row.open);
  const complete = !reader.broken && !cut;
  return { calls: [{ name, args, complete }], complete, repairs: [], end: past > end ? past : reader.pos };
}

const BARE_END = /[,{}[\]:<"\n]/g;

/** Reads one value after the other. What the format does not know breaks the whole call. */
class GemmaReader {
  pos: number;
  broken = false;
  private written = '';
  private readonly source: DialectSource;
  private readonly row: Row;

  constructor(source: DialectSource, at: number, row: Row) {
    this.source = source;
    this.pos = at;
    this.row = row;
  }

  object(depth: number): Building {
    const out: Building = {};
    this.members('}', () => {
      const key = this.text() ?? this.bare();
      if (key === '' || !this.takes(':')) this.broken = true;
      else setOwn(out, key, this.member(out, key, depth));
    });
    return out;
  }

  private value(depth: number): Json {
    const text = this.text();
    if (text !== undefined) return text;
    const char = this.source.text.charAt(this.pos);
    if ((char === '{' || char === '[') && depth >= this.source.maxDepth) return this.fail();
    if (char === '{') return this.object(depth + 1);
    if (char !== '[') return this.scalar();
    const items: Json[] = [];
    this.members(']', () => items.push(this.member(items, items.length, depth + 1)));
    return items;
  }

  private member(holder: object, key: string | number, depth: number): Json {
    return noteSpelling(holder, key, this.value(depth), this.written);
  }

  /** What stands between two brackets, separated by commas. */
  private members(closer: string, read: () => void): void {
    this.pos += 1;
    this.pos = this.source.skipSpace(this.pos);
    if (this.takes(closer)) return;
    while (!this.broken) {
      this.pos = this.source.skipSpace(this.pos);
      read();
      if (this.broken || this.takes(closer)) return;
      if (!this.takes(',')) this.broken = true;
    }
  }

  /** A number, a word, or a text that the model left bare. */
  private scalar(): Json {
    const bare = this.bare();
    this.written = bare;
    if (bare === '') return this.fail();
    const read = PYTHON_WORDS.has(bare) ? { value: PYTHON_WORDS.get(bare) ?? null } : parseStrict(bare, 1);
    return read === undefined ? bare : read.value;
  }

  /** A text between its tokens, or in quotation marks as in JSON; undefined where neither begins. */
  private text(): string | undefined {
    const { source, row } = this;
    if (source.text.startsWith(row.quote, this.pos)) {
      const from = this.pos + row.quote.length;
      const to = source.next(from, row.quote);
      this.pos = Math.min(to + row.quote.length, source.end);
      return source.text.slice(from, to);
    }
    if (source.text.charAt(this.pos) !== '"') return undefined;
    const from = this.pos;
    let to = source.next(from + 1, '"');
    while (to < source.end && isEscaped(source.text, to)) to = source.next(to + 1, '"');
    this.pos = Math.min(to + 1, source.end);
    const read = to < source.end ? parseStrict(source.text.slice(from, to + 1), 1)?.value : undefined;
    if (typeof read === 'string') return read;
    this.broken = true;
    return '';
  }

  private bare(): string {
    BARE_END.lastIndex = this.pos;
    const to = Math.min(BARE_END.exec(this.source.text)?.index ?? this.source.end, this.source.end);
    const bare = this.source.text.slice(this.pos, to).trim();
    this.source.steps += to - this.pos + 1;
    this.pos = to;
    return bare;
  }

  private takes(char: string): boolean {
    const at = this.source.skipSpace(this.pos);
    if (at >= this.source.end || this.source.text.charAt(at) !== char) return false;
    this.pos = char === ':' ? this.source.skipSpace(at + 1) : at + 1;
    return true;
  }

  private fail(): null {
    this.broken = true;
    return null;
  }
}

function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text.charAt(at - 1) === '\\') at -= 1;
  return (quote - at) % 2 === 1;
}
