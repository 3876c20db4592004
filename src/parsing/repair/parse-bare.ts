import { writtenNumber } from '../../json/depth.ts';
import type { Json } from '../../json/json.ts';
import { CODE, isComma, isDigit, isQuote, isSpace } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { followsComma, isMarkup, keyBegins } from './look-ahead.ts';
import type { Role } from './string-end.ts';

/** Reads what stands at the cursor without quotes: a number, a literal of JSON, JavaScript or Python, or plain words. */
export function parseBare(c: Cursor, role: Role): Json {
  const from = c.pos;
  let end = bareEnd(c, role, c.landmarks.nestings > 0);
  if (end < 0) {
    c.secondLooks -= 1;
    c.landmarks.nestings -= 1;
    end = bareEnd(c, role, false);
  }
  c.pos = Math.max(end, from + 1);
  const raw = c.text.slice(from, Math.min(c.pos, c.end));
  c.steps += raw.length;
  const text = raw.trimEnd();
  if (isQuote(c.at(c.pos)) && !keyBegins(c, c.pos)) {
    c.repair('stray-quote', 'a quote that opens nothing was left out', 1);
    c.pos += 1;
  }
  return readBare(c, text, from);
}

/** Where the bare text ends; -1 when brackets opened inside it are never closed. */
function bareEnd(c: Cursor, role: Role, nested: boolean): number {
  const keyed = role === 'member' || role === 'argument';
  let depth = 0;
  let i = c.pos;
  for (; i < c.end; i += 1) {
    const code = c.at(i);
    if (opens(code) && nested) depth += 1;
    else if (depth > 0 && isCloser(code)) depth -= 1;
    else if (depth > 0) continue;
    else if (isCloser(code) || code === CODE.newline || isMarkup(c, i)) return i;
    else if (isComma(code) && commaEnds(c, i, keyed)) return i;
    else if (code === CODE.semicolon && semicolonEnds(c, i)) return i;
    else if (code === CODE.slash && i > c.pos && startsComment(c, i)) return i;
    else if (isQuote(code) && quoteEnds(c, i, code)) return i;
  }
  return depth > 0 && c.secondLooks > 0 ? -1 : i;
}

/** `/*` always begins a comment; `//` only after white space, because addresses hold it too. */
function startsComment(c: Cursor, index: number): boolean {
  const next = c.at(index + 1);
  return next === CODE.star || (next === CODE.slash && isSpace(c.at(index - 1)));
}

function opens(code: number): boolean {
  return code === CODE.openBrace || code === CODE.openBracket || code === CODE.openParen;
}

/** True for a closing brace, bracket or parenthesis. */
export function isCloser(code: number): boolean {
  return code === CODE.closeBrace || code === CODE.closeBracket || code === CODE.closeParen;
}

/** In an object a comma that no key follows belongs to the words, unless what came before is a whole literal. */
function commaEnds(c: Cursor, index: number, keyed: boolean): boolean {
  if (!keyed || followsComma(c, index + 1, true)) return true;
  return !isDigit(c.at(index + 1)) && isWholeLiteral(c, index);
}

/** `1;` and `words;` at the end of their line are separated by it. */
function semicolonEnds(c: Cursor, index: number): boolean {
  const next = c.skipSpace(index + 1);
  return c.hasNewline(index, next) || isCloser(c.at(next)) || isWholeLiteral(c, index);
}

function isWholeLiteral(c: Cursor, end: number): boolean {
  return WHOLE_LITERAL.test(c.text.slice(c.pos, Math.min(end, c.pos + 24)).trim());
}

const WHOLE_LITERAL = /^(?:-?\d+(?:\.\d+)?|true|false|null|none|undefined|nan)$/i;

/** A quote ends bare words when a separator or a new key follows it. An apostrophe inside a word does not. */
function quoteEnds(c: Cursor, index: number, code: number): boolean {
  if (keyBegins(c, index)) return true;
  if (code === CODE.singleQuote && !isSpace(c.at(index - 1)) && !isSpace(c.at(index + 1)) && c.at(index + 1) > 96) {
    return false;
  }
  const next = c.at(c.skipSpace(index + 1));
  return next === -1 || isComma(next) || isCloser(next);
}

function readBare(c: Cursor, text: string, at: number): Json {
  if (c.pos >= c.end) c.cutInside = true;
  c.written = text;
  if (JSON_NUMBER.test(text)) return writtenNumber(text);
  const literal = LITERALS.get(text);
  if (literal !== undefined) {
    if (!JSON_LITERALS.has(text)) c.repair('literal', `${text} is not JSON`, 0, at);
    return literal;
  }
  if (c.pos >= c.end) {
    const whole = cutLiteral(c, text, at);
    if (whole !== undefined) return whole;
  }
  if (LOOSE_NUMBER.test(text)) {
    c.repair('number', `${text} is not how JSON writes a number`, 0, at);
    return Number(text);
  }
  c.bareWords += 1;
  c.repair('unquoted', 'text without quotes was read as a string', 1, at);
  return text;
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const LOOSE_NUMBER = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const CUT_NUMBER = /^(-?(?:0|[1-9]\d*)(?:\.\d+)?)(?:\.|\.?\d*[eE][+-]?)$/;
const JSON_LITERALS = new Set(['true', 'false', 'null']);
const NULLS = 'null Null NULL None none undefined NaN nan nil Infinity -Infinity inf'.split(' ');
const LITERALS = new Map<string, Json>([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
  ...NULLS.map((word) => [word, null] as const),
]);

/** A literal or number at the very end of the text may be the beginning of a longer one. */
function cutLiteral(c: Cursor, text: string, at: number): Json | undefined {
  if (text === '-') {
    c.repair('missing-value', 'a number was cut off after its sign', 1, at);
    return null;
  }
  const number = CUT_NUMBER.exec(text);
  if (number !== null) return Number(number[1]);
  for (const [word, value] of CUT_WORDS) if (word.startsWith(text)) return value;
  return undefined;
}

const CUT_WORDS: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['True', true],
  ['False', false],
  ['None', null],
];
