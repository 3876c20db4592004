import { isList } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { isQuote, isSpace } from './characters.ts';
import { type CursorSpan, Cursor, Landmarks } from './cursor.ts';
import { keyBegins } from './look-ahead.ts';
import { parsePrefix } from './parse-prefix.ts';
import { parseValue } from './parse-value.ts';
import type { Repair } from './repairs.ts';

/** One value found in a text: where it stands and how it was read. */
export interface Candidate {
  readonly value: Json;
  readonly from: number;
  readonly to: number;
  readonly fenced: boolean;
  /** True when it stood there as valid JSON (or as the beginning of it, cut off by the end of the text). */
  readonly strict: boolean;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly cost: number;
}

/** How many times the length of the text a scan may look at before it stops trying inside what it rejected. */
const EFFORT = 4;
const MOST_CANDIDATES = 50_000;

/** Finds every object and list in a text, left to right. Fences only mark what stands inside them. */
export function findCandidates(text: string, span: CursorSpan): readonly Candidate[] {
  const candidates: Candidate[] = [];
  const landmarks = span.landmarks ?? new Landmarks(text);
  const budget = (span.to - span.from) * EFFORT + 2_000;
  let steps = 0;
  let fenced = false;
  let i = span.from;
  while (i < span.to && candidates.length < MOST_CANDIDATES) {
    const code = text.charCodeAt(i);
    steps += 1;
    if (code === 96 && text.startsWith('```', i)) {
      fenced = !fenced;
      i += 3;
      continue;
    }
    if (code === 60 && candidates.length > 0 && endsTurn(text, i)) break;
    if (code !== 123 && code !== 91) {
      i += 1;
      continue;
    }
    const read = readAt(text, i, { ...span, landmarks, fenced });
    steps += read.steps;
    if (read.candidate !== undefined && isPlausible(text, read.candidate, read, span)) {
      candidates.push(withStrayClosers(text, read.candidate, span));
      i = Math.max(read.candidate.to, i + 1);
    } else if (steps > budget) {
      i = Math.max(read.end, i + 1);
    } else {
      i += 1;
    }
  }
  return candidates;
}

/** Lists the closers that stand behind a value although nothing is open any more. */
export function withStrayClosers(text: string, found: Candidate, span: CursorSpan): Candidate {
  let i = found.to;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  const code = text.charCodeAt(i);
  if (i >= span.to || (code !== 125 && code !== 93)) return found;
  const repair: Repair = { kind: 'extra-closer', message: 'a closing bracket too many was left out', at: i, cost: 1 };
  return { ...found, repairs: [...found.repairs, repair], cost: found.cost + 1 };
}

const TURN_ENDS = [
  '<|im_start|> <|im_end|> <|eot_id|> <|eom_id|> <|end|> <|endoftext|> <|end_of_text|>',
  '<|start_header_id|> <end_of_turn> <start_of_turn> </s>',
].flatMap((row) => row.split(' '));

/** What stands behind the token that ends a turn is not this turn's message. */
function endsTurn(text: string, index: number): boolean {
  return TURN_ENDS.some((token) => text.startsWith(token, index));
}

/** How the reading of one value went; no candidate where it is nested too deep. */
export interface Read {
  readonly candidate: Candidate | undefined;
  readonly pairs: number;
  readonly quoted: number;
  readonly bareWords: number;
  /** The text ended inside a string. */
  readonly openString: boolean;
  /** The text ended where a value had to come. */
  readonly hanging: boolean;
  readonly steps: number;
  readonly end: number;
}

/** Reads the value that begins at `from`: strictly when it is JSON, with repairs otherwise. */
export function readAt(text: string, from: number, span: CursorSpan & { readonly fenced: boolean }): Read {
  const { landmarks = new Landmarks(text) } = span;
  if (landmarks.unescapings > 0 && isEscapedOnce(text, from, span.to)) {
    landmarks.unescapings -= 1;
    return readEscaped(text, from, span);
  }
  const strict = readStrictAt(text, from, span);
  if (strict.candidate !== undefined) return strict;
  const cursor = new Cursor(text, { ...span, from, landmarks });
  const value = parseValue(cursor, 'root');
  const { pos: end, complete, repairs, cost, pairs, quoted, bareWords, openString, hanging, refused } = cursor;
  const candidate: Candidate = { value, from, to: end, fenced: span.fenced, strict: false, complete, repairs, cost };
  const found = refused ? undefined : candidate;
  return { candidate: found, pairs, quoted, bareWords, openString, hanging, steps: strict.steps + cursor.steps, end };
}

/** Reads the JSON value that begins at `from`, or the beginning of one that the end cuts off; no candidate for anything else. */
export function readStrictAt(text: string, from: number, span: CursorSpan & { readonly fenced: boolean }): Read {
  const strict = parsePrefix(text, from, span);
  const isRead = strict.kind !== 'invalid' && !(strict.kind === 'whole' && continues(text, strict.end, span));
  const whole = { from, to: strict.end, fenced: span.fenced, strict: true, complete: strict.kind === 'whole' };
  return {
    candidate: isRead ? { ...whole, value: strict.value, repairs: [], cost: 0 } : undefined,
    pairs: 1,
    quoted: 1,
    bareWords: 0,
    openString: strict.kind === 'cut' && strict.openString,
    hanging: strict.kind === 'cut' && strict.hanging,
    steps: strict.end - from,
    end: strict.end,
  };
}

/** The value is escaped once too often: it is read from the text without that, and its offset mapped back. */
function readEscaped(text: string, from: number, span: CursorSpan & { readonly fenced: boolean }): Read {
  const plain = unescapeOnce(text, from, span.to);
  const read = readAt(plain.text, 0, { ...span, from: 0, to: plain.text.length, landmarks: new Landmarks(plain.text) });
  const steps = read.steps + (span.to - from);
  if (read.candidate === undefined) return { ...read, steps, end: plain.origin(read.end) };
  const repair: Repair = { kind: 'escaped', message: 'one level of escaping was removed', at: from, cost: 1 };
  const repairs = [repair, ...read.candidate.repairs.map((other) => movedBack(other, plain))];
  const to = plain.origin(read.candidate.to);
  const candidate: Candidate = { ...read.candidate, from, to, strict: false, repairs, cost: read.candidate.cost + 1 };
  return { ...read, candidate, steps, end: to };
}

function movedBack(repair: Repair, plain: Unescaped): Repair {
  return repair.at === undefined ? repair : { ...repair, at: plain.origin(repair.at) };
}

/** `{…}, "key": …`: the value continues after its closing brace, so it is not whole yet. */
function continues(text: string, end: number, span: CursorSpan): boolean {
  let i = end;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  if (text.charCodeAt(i) !== 44 || text.charCodeAt(end - 1) !== 125) return false;
  const c = new Cursor(text, { ...span, from: i });
  const key = c.skipSpace(i + 1);
  return isQuote(c.at(key)) && keyBegins(c, key) && c.at(key + 1) !== -1;
}

/** False for what merely looks like a value: `{x}` or `[1]` in prose. */
export function isPlausible(text: string, found: Candidate, read: Read, span: CursorSpan): boolean {
  const { value } = found;
  if (isList(value)) {
    if (value.some((item) => isJsonObject(item) && Object.keys(item).length > 0)) return true;
    const starts = startsMessage(text, found.from, span);
    const ends = endsMessage(text, found.to, span);
    if (starts && ends) return found.strict || value.length > 1 || read.bareWords === 0;
    const texts = found.strict ? value.some((item) => typeof item === 'string' || isList(item)) : read.quoted > 0;
    return (starts || ends) && texts && read.bareWords === 0;
  }
  if (found.strict) return true;
  if (read.pairs === 0) return false;
  if (read.quoted > 0 || read.bareWords === 0) return true;
  const atEdge = startsMessage(text, found.from, span) || endsMessage(text, found.to, span);
  return atEdge && found.repairs.every(({ kind }) => kind !== 'semicolon' && kind !== 'missing-colon');
}

function startsMessage(text: string, from: number, span: CursorSpan): boolean {
  let i = from - 1;
  while (i >= span.from && isSpace(text.charCodeAt(i))) i -= 1;
  return i < span.from || /(?:^|\n)[ \t]*```\w*$/.test(text.slice(Math.max(0, i - 40), i + 1));
}

function endsMessage(text: string, to: number, span: CursorSpan): boolean {
  let i = to;
  while (i < span.to && isSpace(text.charCodeAt(i))) i += 1;
  return i >= span.to || text.startsWith('```', i);
}

/** A text with one level of escaping removed, and where each of its characters stood before. */
interface Unescaped {
  readonly text: string;
  /** The index in the original of the character at `index` here. */
  readonly origin: (index: number) => number;
}

const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
]);

/** `{\"a\": …`: true where an object or list begins whose quotes are all escaped once too often. */
function isEscapedOnce(text: string, from: number, to: number): boolean {
  let i = from + 1;
  while (i < to && (text.charCodeAt(i) === 32 || text.charCodeAt(i) === 123 || text.charCodeAt(i) === 91)) {
    i += 1;
    if (i - from > 40) return false;
  }
  while (text.startsWith('\\n', i) || text.charCodeAt(i) === 32) {
    i += text.charCodeAt(i) === 32 ? 1 : 2;
    if (i - from > 80) return false;
  }
  return i < to && text.charCodeAt(i) === 92 && text.charCodeAt(i + 1) === 34;
}

/** Removes one level of escaping from part of a text. */
function unescapeOnce(text: string, from: number, to: number): Unescaped {
  const pieces: string[] = [];
  const starts: number[] = [];
  const origins: number[] = [];
  let length = 0;
  let i = from;
  while (i < to) {
    const slash = text.indexOf('\\', i);
    const stop = slash < 0 || slash + 1 >= to ? to : slash;
    if (stop > i) {
      pieces.push(text.slice(i, stop));
      starts.push(length);
      origins.push(i);
      length += stop - i;
    }
    if (stop === to) break;
    const known = ESCAPES.get(text.charAt(slash + 1));
    pieces.push(known ?? text.slice(slash, slash + 2));
    starts.push(length);
    origins.push(slash);
    length += known === undefined ? 2 : 1;
    i = slash + 2;
  }
  return { text: pieces.join(''), origin: (index) => originOf(index, starts, origins, to) };
}

function originOf(index: number, starts: readonly number[], origins: readonly number[], to: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return to;
  return Math.min(to, (origins[low - 1] ?? to) + index - (starts[low - 1] ?? 0));
}
