import { noteSpelling, writtenNumber } from '../../json/depth.ts';
import { type Building, type Json, setOwn } from '../../json/json.ts';

/**
 * How a strict reading of JSON went: a whole value, a value that the end of the text cut off, or no JSON.
 * A cut value holds only what was certainly there: an unfinished key is dropped, a missing value is null.
 */
type Prefix =
  | { readonly kind: 'whole'; readonly value: Json; readonly end: number }
  | {
      readonly kind: 'cut';
      readonly value: Json;
      readonly end: number;
      readonly openString: boolean;
      readonly hanging: boolean;
    }
  | { readonly kind: 'invalid'; readonly end: number };

/** Reads the JSON value that begins at `from`, without repairing anything. One pass, never deeper than `maxDepth`. */
export function parsePrefix(
  text: string,
  from: number,
  span: { readonly to: number; readonly maxDepth: number },
): Prefix {
  const reader = new Reader(text, from, span.to, span.maxDepth);
  const value = reader.value();
  const end = reader.pos;
  if (reader.invalid) return { kind: 'invalid', end };
  if (reader.cut) return { kind: 'cut', value, end, openString: reader.openString, hanging: reader.hanging };
  return { kind: 'whole', value, end };
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CUT_NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?)?)?$/;
const LITERALS: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class Reader {
  readonly text: string;
  readonly to: number;
  readonly maxDepth: number;
  pos: number;
  invalid = false;
  cut = false;
  /** True when the text ended inside a string. */
  openString = false;
  /** True when the text ended where a value had to come, or within a number or a literal. */
  hanging = false;
  depth = 0;
  /** The number that was read last, as it stands in the text. */
  private written = '';

  constructor(text: string, from: number, to: number, maxDepth: number) {
    this.text = text;
    this.pos = from;
    this.to = to;
    this.maxDepth = maxDepth;
  }

  value(): Json {
    const code = this.space();
    if (code === 123) return this.nested(() => this.object());
    if (code === 91) return this.nested(() => this.list());
    if (code === 34) return this.string();
    if (code === -1) return this.hang();
    return this.scalar();
  }

  private nested(read: () => Json): Json {
    if (this.depth >= this.maxDepth) return this.fail();
    this.depth += 1;
    this.pos += 1;
    const value = read();
    this.depth -= 1;
    return value;
  }

  private object(): Json {
    const out: Building = {};
    if (this.space() === 125) return this.close(out);
    for (;;) {
      const code = this.space();
      if (code === -1) return this.hang(out);
      if (code !== 34) return this.fail();
      const key = this.string();
      if (this.invalid || this.cut) return out;
      const colon = this.space();
      if (colon === -1) {
        setOwn(out, key, null);
        return this.hang(out);
      }
      if (colon !== 58) return this.fail();
      this.pos += 1;
      setOwn(out, key, noteSpelling(out, key, this.value(), this.written));
      if (this.invalid || this.cut) return out;
      const next = this.space();
      if (next === 125) return this.close(out);
      if (next === -1) return this.end(out);
      if (next !== 44) return this.fail();
      this.pos += 1;
    }
  }

  private list(): Json {
    const items: Json[] = [];
    if (this.space() === 93) return this.close(items);
    for (;;) {
      if (this.space() === -1) return this.hang(items);
      items.push(noteSpelling(items, items.length, this.value(), this.written));
      if (this.invalid || this.cut) return items;
      const next = this.space();
      if (next === 93) return this.close(items);
      if (next === -1) return this.end(items);
      if (next !== 44) return this.fail();
      this.pos += 1;
    }
  }

  private string(): string {
    const start = this.pos + 1;
    let i = start;
    let plain = true;
    for (; i < this.to; i += 1) {
      const code = this.text.charCodeAt(i);
      if (code === 34) break;
      if (code < 32) {
        this.fail();
        return '';
      }
      if (code === 92) {
        plain = false;
        i += 1;
      }
    }
    if (i >= this.to) return this.cutString(start);
    this.pos = i + 1;
    const raw = this.text.slice(start, i);
    return plain ? raw : this.unescape(raw);
  }

  private cutString(start: number): string {
    const raw = this.text
      .slice(start, this.to)
      .replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, (tail, at: number, whole: string) =>
        countBackslashes(whole, at) % 2 === 0 ? '' : tail,
      );
    this.pos = this.to;
    this.cut = true;
    this.openString = true;
    return this.unescape(raw).replace(/[\ud800-\udbff]$/, '');
  }

  private unescape(raw: string): string {
    if (!raw.includes('\\')) return raw;
    try {
      return String(JSON.parse(`"${raw}"`));
    } catch {
      this.fail();
      return '';
    }
  }

  private scalar(): Json {
    for (const [word, value] of LITERALS) {
      if (this.text.charCodeAt(this.pos) !== word.charCodeAt(0)) continue;
      const rest = this.text.slice(this.pos, Math.min(this.pos + word.length, this.to));
      if (!word.startsWith(rest)) return this.fail();
      this.pos += rest.length;
      if (rest.length < word.length) this.hang();
      return value;
    }
    return this.number();
  }

  private number(): Json {
    NUMBER.lastIndex = this.pos;
    const found = NUMBER.exec(this.text)?.[0].slice(0, this.to - this.pos) ?? '';
    const end = this.pos + found.length;
    if (end < this.to) {
      const tail = this.text.slice(this.pos, Math.min(this.to, end + 3));
      if (end + tail.length - found.length === this.to && tail.length > found.length && CUT_NUMBER.test(tail)) {
        this.pos = this.to;
        this.hang();
        return found === '' ? null : Number(found);
      }
      if (found === '') return this.fail();
    }
    this.pos = end;
    this.written = found;
    return writtenNumber(found);
  }

  private space(): number {
    let i = this.pos;
    while (i < this.to) {
      const code = this.text.charCodeAt(i);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) {
        this.pos = i;
        return code;
      }
      i += 1;
    }
    this.pos = i;
    return -1;
  }

  private close(value: Json): Json {
    this.pos += 1;
    return value;
  }

  private end(value: Json = null): Json {
    this.cut = true;
    return value;
  }

  private hang(value: Json = null): Json {
    this.hanging = true;
    return this.end(value);
  }

  private fail(): null {
    this.invalid = true;
    return null;
  }
}

function countBackslashes(text: string, before: number): number {
  let count = 0;
  while (text.charCodeAt(before - 1 - count) === 92) count += 1;
  return count;
}
