import { CODE, isColon, isComma, isDigit, isQuote, isSpace, isWordCode, quoteClosers } from './characters.ts';
import type { Cursor } from './cursor.ts';

/** How far a look-ahead reads: names and keys are shorter. */
const LONGEST_KEY = 80;
const LONGEST_WORD = 200;

/** True where a quoted key and its colon stand at `index`, with nothing missing. */
export function quotedKeyWithColon(c: Cursor, index: number): boolean {
  const code = c.at(index);
  return isQuote(code) && quotedKeyBegins(c, index, code, true);
}

/** True where a key with its separator begins at `index`: `"key":`, `key:`, `key":`, `"key: "`, or `"key" "value"`. */
export function keyBegins(c: Cursor, index: number): boolean {
  const code = c.at(index);
  if (isQuote(code)) return quotedKeyBegins(c, index, code, false);
  return bareKeyBegins(c, index);
}

function quotedKeyBegins(c: Cursor, index: number, open: number, whole: boolean): boolean {
  const closers = quoteClosers(open);
  const limit = Math.min(c.end, index + 1 + LONGEST_KEY);
  let plain = true;
  let structured = false;
  let i = index + 1;
  for (; i < limit; i += 1) {
    const code = c.at(i);
    if (code === CODE.newline) return false;
    if (code === CODE.backslash) {
      i += 1;
      continue;
    }
    if (closers.includes(c.text.charAt(i))) break;
    if (plain && i > index + 1) {
      if (isQuote(code) && isColon(c.at(c.skipSpace(i + 1)))) return !whole;
      if (isColon(code) && !whole && unquotedValueBegins(c, c.skipSpace(i + 1))) return true;
    }
    if (!isWordCode(code) && code !== CODE.minus && code !== CODE.dot) plain = false;
    if (isComma(code) || code === CODE.closeBrace || code === CODE.closeBracket) structured = true;
  }
  if (i >= c.end) return !whole && !structured;
  if (i >= limit) return false;
  const after = c.skipSpace(i + 1);
  const next = c.at(after);
  if (isColon(next) || (next === CODE.equals && !whole)) return true;
  if (whole) return false;
  if (next === -1) return true;
  if (plain && i > index + 1) return isQuote(next) || unquotedValueBegins(c, after);
  return endsInColon(c, index + 1, i);
}

const SCALAR = /^(?:-?\d[\d.eE+-]*|true|false|null|True|False|None)\s*(?:[,}\]\n]|$)/;

/** A list, an object, or a number or literal with a separator behind it. */
function unquotedValueBegins(c: Cursor, index: number): boolean {
  const code = c.at(index);
  if (code === CODE.openBrace || code === CODE.openBracket) return true;
  c.steps += 30;
  return SCALAR.test(c.text.slice(index, Math.min(c.end, index + 30)));
}

/** `"key: "value"`: the text up to the next quote is a name and a colon, so the key's own quote is missing. */
export function endsInColon(c: Cursor, from: number, to: number): boolean {
  let i = to - 1;
  while (i > from && isSpace(c.at(i))) i -= 1;
  if (!isColon(c.at(i))) return false;
  for (let k = from; k < i; k += 1) if (!isWordCode(c.at(k))) return false;
  return i > from;
}

function bareKeyBegins(c: Cursor, index: number): boolean {
  const limit = Math.min(c.end, index + LONGEST_KEY);
  let i = index;
  while (i < limit && (isWordCode(c.at(i)) || c.at(i) === CODE.minus || isEscapedUnderscore(c, i))) i += 1;
  if (i === index) return false;
  if (c.at(i) === CODE.doubleQuote) i += 1;
  const after = c.skipSpace(i);
  const next = c.at(after);
  if (next === CODE.equals) return true;
  if (isColon(next)) return c.at(after + 1) !== CODE.slash;
  return after > i && quotedKeyWithColon(c, after);
}

/** Markdown writes `a_b` as `a\\_b`. */
function isEscapedUnderscore(c: Cursor, index: number): boolean {
  return c.at(index) === CODE.backslash && c.at(index + 1) === CODE.underscore;
}

/** True where a value of a list plausibly begins at `index`. */
export function itemBegins(c: Cursor, index: number): boolean {
  const code = c.at(index);
  if (code === -1 || isQuote(code) || isDigit(code) || isComma(code)) return true;
  if (
    code === CODE.openBrace ||
    code === CODE.openBracket ||
    code === CODE.closeBracket ||
    code === CODE.closeParen ||
    code === CODE.minus
  ) {
    return true;
  }
  if (code === CODE.dot) return c.at(index + 1) === CODE.dot || isDigit(c.at(index + 1));
  if (isWordCode(code) && isQuote(c.at(index + 1))) return true;
  return bareItemBegins(c, index);
}

/** A bare word is an item when it ends with a comma, a closer or its line before any quote comes. */
function bareItemBegins(c: Cursor, index: number): boolean {
  const limit = Math.min(c.end, index + LONGEST_WORD);
  for (let i = index; i < limit; i += 1) {
    const code = c.at(i);
    if (isComma(code) || code === CODE.closeBracket || code === CODE.newline) return true;
    if (isQuote(code) && code !== CODE.singleQuote) return false;
  }
  return limit === c.end;
}

/** True when what stands after a comma continues an object (`keyed`) or a list. */
export function followsComma(c: Cursor, index: number, keyed: boolean): boolean {
  const i = c.skipSpace(index);
  const code = c.at(i);
  if (!keyed) return itemBegins(c, i);
  if (code === -1 || code === CODE.closeBrace || code === CODE.closeParen || isComma(code)) return true;
  if (code === CODE.openBrace) return c.frames.includes('list');
  if (code === CODE.dot) return c.at(i + 1) === CODE.dot;
  if (code === CODE.closeBracket) return c.frames.includes('list');
  return keyBegins(c, i);
}

/** A fence, a special token or a closing tag: what models write after their JSON, never inside it. */
export function isMarkup(c: Cursor, index: number): boolean {
  const code = c.at(index);
  if (code === CODE.backtick) return c.at(index + 1) === CODE.backtick && c.at(index + 2) === CODE.backtick;
  return code === CODE.less && (c.at(index + 1) === CODE.slash || c.at(index + 1) === 124);
}
