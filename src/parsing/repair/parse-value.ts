import { noteSpelling } from '../../json/depth.ts';
import type { Json } from '../../json/json.ts';
import { CODE, isColon, isComma, isDigit, isQuote, isWordCode } from './characters.ts';
import type { Container, Cursor } from './cursor.ts';
import { isMarkup, quotedKeyWithColon } from './look-ahead.ts';
import { parseBare, isCloser } from './parse-bare.ts';
import { parseMembers } from './parse-members.ts';
import { parseString } from './parse-string.ts';
import type { Role } from './string-end.ts';

/** Reads one value at the cursor, whatever is wrong with it, and leaves the cursor behind it. */
export function parseValue(c: Cursor, role: Role): Json {
  c.skip();
  const code = c.at(c.pos);
  if (code === CODE.openBrace) return parseObject(c);
  if (code === CODE.openBracket) return parseList(c, 'list');
  if (code === CODE.openParen && holdsItems(c, c.pos)) return parseList(c, 'tuple');
  if (isQuote(code)) return parseConcatenation(c, role);
  if (code === -1) {
    c.cutHanging();
    return null;
  }
  if (isComma(code) || isCloser(code)) {
    c.repair('missing-value', 'a missing value was read as null', 2);
    return null;
  }
  const wrapped = parseWrapped(c, role);
  return wrapped === undefined ? parseBare(c, role) : wrapped;
}

/** `(1, 2)` is a list, `(a + b) / 2` is text: the first item must be followed by a comma or the closing bracket. */
function holdsItems(c: Cursor, index: number): boolean {
  let i = index;
  while (c.at(i) === CODE.openParen && i - index < c.maxDepth) i = c.skipSpace(i + 1);
  const code = c.at(i);
  if (!isWordCode(code) && code !== CODE.minus && code !== CODE.plus) return true;
  const limit = i + 64;
  while (i < limit && (isWordCode(c.at(i)) || c.at(i) === CODE.dot || c.at(i) === CODE.minus || c.at(i) === CODE.plus))
    i += 1;
  const next = c.at(c.skipSpace(i));
  return next === -1 || isComma(next) || next === CODE.closeParen;
}

/** `"a" + "b"` is one string. */
function parseConcatenation(c: Cursor, role: Role): string {
  let text = parseString(c, role);
  for (;;) {
    const plus = c.skipSpace(c.pos);
    if (c.at(plus) !== CODE.plus) return text;
    const next = c.skipSpace(plus + 1);
    if (!isQuote(c.at(next))) return text;
    c.repair('concatenation', 'added strings were joined', 0, plus);
    c.pos = next;
    text += parseString(c, role);
  }
}

const WRAPPERS =
  /^(?:ObjectId|ISODate|NumberLong|NumberInt|NumberDecimal|Decimal|UUID|np\.array|set|frozenset|list|tuple)\(/;

/** `ObjectId("…")` and the like mean the value inside; `set()` is empty. */
function parseWrapped(c: Cursor, role: Role): Json | undefined {
  const wrapper = WRAPPERS.exec(c.text.slice(c.pos, c.pos + 16));
  if (wrapper === null || role === 'root') return undefined;
  c.repair('wrapper', `${wrapper[0]}…) was read as the value inside`, 1);
  c.pos += wrapper[0].length - 1;
  return parseList(c, 'tuple', /^[a-z]/.test(wrapper[0]) ? [] : null);
}

function enter(c: Cursor, frame: Container): boolean {
  if (c.frames.length >= c.maxDepth) {
    c.refused = true;
    c.cut();
    c.pos = c.end;
    return false;
  }
  c.frames.push(frame);
  c.pos += 1;
  return true;
}

function parseObject(c: Cursor): Json {
  if (!enter(c, 'object')) return null;
  const value = parseMembers(c, parseValue);
  c.frames.pop();
  return value;
}

/** With `empty`, what is in the brackets is one value, or that one where nothing is. */
function parseList(c: Cursor, frame: 'list' | 'tuple', empty?: Json): Json {
  const close = frame === 'list' ? CODE.closeBracket : CODE.closeParen;
  const at = c.pos;
  if (!enter(c, frame)) return null;
  const items: Json[] = [];
  let commas = 0;
  let separated = true;
  for (;;) {
    c.skip();
    const code = c.at(c.pos);
    if (code === -1) {
      c.cut();
      c.hanging ||= separated;
      break;
    }
    if (code === close) {
      c.pos += 1;
      break;
    }
    if (isMarkup(c, c.pos) || endsUnclosed(c, code, items.length)) {
      c.repair('missing-bracket', 'the closing bracket of a list is missing', 2);
      if (isMarkup(c, c.pos)) c.cut();
      break;
    }
    if (isComma(code) || code === CODE.semicolon) {
      if (code === CODE.semicolon) c.repair('semicolon', 'a semicolon was read as a comma', 0);
      else if (separated && !nextCloses(c, close)) c.repair('extra-comma', 'an extra comma was removed', 0);
      separated = true;
      commas += 1;
      c.pos += 1;
      continue;
    }
    if (isCloser(code) || isColon(code)) {
      c.repair('stray-character', `a stray ${c.text.charAt(c.pos)} was left out`, 2);
      c.pos += 1;
      continue;
    }
    if (isEllipsis(c)) continue;
    if (!separated) c.repair('missing-comma', 'a comma is missing between two items', 1);
    separated = false;
    const item = quotedKeyWithColon(c, c.pos) ? parseImpliedObject(c) : parseValue(c, 'item');
    items.push(noteSpelling(items, items.length, item, c.written));
    if (c.refused) break;
  }
  if (separated && commas > 0) c.repair('trailing-comma', 'a trailing comma was left out', 0, at);
  c.frames.pop();
  if (frame === 'list') return items;
  if (empty !== undefined) return items[0] ?? empty;
  c.repair('tuple', 'round brackets were read as a list', 0, at);
  return items.length === 1 && commas === 0 ? (items[0] ?? null) : items;
}

function nextCloses(c: Cursor, close: number): boolean {
  return c.at(c.skipSpace(c.pos + 1)) === close;
}

/** A closer or key that belongs to the object around the list: the list ends here, its bracket is missing. */
function endsUnclosed(c: Cursor, code: number, before: number): boolean {
  const outside = c.frames[c.frames.length - 2];
  if (code === CODE.closeBrace) return outside === 'object' || c.frames.slice(0, -1).includes('object');
  if (code === CODE.closeParen) return outside === 'call' || outside === 'tuple';
  if (code === CODE.closeBracket) return outside === 'list';
  return outside === 'object' && before > 0 && quotedKeyWithColon(c, c.pos);
}

/** `["key": "value"]`: the braces of the object are missing. */
function parseImpliedObject(c: Cursor): Json {
  c.repair('missing-brace', 'the braces of an object are missing', 2);
  if (!enter(c, 'object')) return null;
  c.pos -= 1;
  const value = parseMembers(c, parseValue);
  c.frames.pop();
  return value;
}

/** Moves over `...` or `…`, which models write for "and so on". */
function isEllipsis(c: Cursor): boolean {
  const code = c.at(c.pos);
  const length = code === 0x2026 ? 1 : c.text.startsWith('...', c.pos) ? 3 : 0;
  if (length === 0) return false;
  const after = c.at(c.pos + length);
  if (isWordCode(after) && !isDigit(after)) return false;
  c.repair('ellipsis', 'an ellipsis was left out', 1);
  c.pos += length;
  return true;
}
