import { CODE, isColon, isComma, isDigit, isQuote, isSpace, isWordCode, quoteClosers } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { endsInColon, followsComma, isMarkup, itemBegins, keyBegins } from './look-ahead.ts';

/** What a string is there for: what may follow it depends on that. */
export type Role = 'key' | 'member' | 'item' | 'argument' | 'root';

/** `end`: the string ends here · `inner`: the quote belongs to the text · `colon`: a colon follows, so it ended a key. */
type Verdict = 'end' | 'inner' | 'colon';

/** Where a string's text ends, where reading continues, and whether its closing quote is really there. */
interface StringEnd {
  readonly contentEnd: number;
  readonly next: number;
  readonly closed: 'quote' | 'missing' | 'cut';
  readonly inner: number;
}

/** Finds the end of the string whose text begins at `start` and which was opened by the character `open`. */
export function findStringEnd(c: Cursor, start: number, open: number, role: Role): StringEnd {
  const closers = quoteClosers(open);
  let inner = 0;
  /** A path holds no quote: behind an escaped one, none ends it. */
  let escaped = 0;
  let lastQuote = -1;
  let commaQuote = -1;
  for (let i = start; i < c.end; i += 1) {
    const code = c.at(i);
    if (code === CODE.backslash) {
      i += 1;
      if (!isQuote(c.at(i))) continue;
      if (escaped === 0 && isDrivePath(c, start) && judge(c, i + 1, role, start) === 'end') {
        return { contentEnd: i, next: i + 1, closed: 'quote', inner };
      }
      escaped += 1;
      continue;
    }
    if (!isCloser(closers, code)) {
      if (role === 'key' && isQuote(code) && closesAnotherWay(c, start, i)) {
        c.repair('quotes', 'a key was closed by another quote than the one that opened it', 1, i);
        return { contentEnd: i, next: i + 1, closed: 'quote', inner };
      }
      continue;
    }
    const judged = judge(c, i + 1, role, start);
    if (judged === 'colon' && lastQuote >= 0 && separates(c, lastQuote, start) && c.secondLooks > 0) {
      return endBefore(c, start, lastQuote, inner);
    }
    if (judged !== 'inner' && !(judged === 'colon' && inner > 0)) {
      if (inner % 2 === 1 && commaQuote >= 0 && c.secondLooks > 0) return endBefore(c, start, commaQuote, inner);
      return { contentEnd: i, next: i + 1, closed: 'quote', inner };
    }
    inner += 1;
    lastQuote = i;
    if (role !== 'key' && i > start && isComma(c.at(i - 1))) commaQuote = i;
  }
  return withoutQuote(c, start, inner);
}

/** `"name':`: a key that is one word may be closed by another quote than the one that opened it. */
function closesAnotherWay(c: Cursor, start: number, quote: number): boolean {
  if (quote === start || !isColon(c.at(c.skipSpace(quote + 1))) || quote - start > 80) return false;
  for (let i = start; i < quote; i += 1) if (!isWordCode(c.at(i))) return false;
  return true;
}

function isCloser(closers: string, code: number): boolean {
  return closers.length === 1 ? closers.charCodeAt(0) === code : closers.includes(String.fromCharCode(code));
}

function judge(c: Cursor, after: number, role: Role, start: number): Verdict {
  const i = c.skipSpace(after);
  const code = c.at(i);
  if (code === -1 || isMarkup(c, i)) return 'end';
  switch (role) {
    case 'key':
      return judgeKey(c, i, code, start, after - 1);
    case 'root':
      return 'inner';
    case 'member':
    case 'argument':
      return judgeMember(c, i, code, after);
    case 'item':
      return judgeItem(c, i, code, after);
  }
}

function judgeKey(c: Cursor, i: number, code: number, start: number, quote: number): Verdict {
  if (isColon(code) || code === CODE.equals || isComma(code) || code === CODE.closeBrace) return 'end';
  if (endsInColon(c, start, quote)) return 'end';
  return i > quote + 1 || isQuote(code) || isDigit(code) || code === CODE.openBrace || code === CODE.openBracket
    ? 'end'
    : 'inner';
}

function judgeMember(c: Cursor, i: number, code: number, after: number): Verdict {
  if (isComma(code) || code === CODE.semicolon) return verdict(followsComma(c, i + 1, true));
  if (code === CODE.closeBrace) return 'end';
  if (code === CODE.closeParen) return verdict(c.frames.includes('call') || c.frames.includes('tuple'));
  if (code === CODE.closeBracket) return verdict(c.frames.includes('list') || endsText(c, i));
  if (isColon(code)) return 'colon';
  if (code === CODE.plus) return verdict(isQuote(c.at(c.skipSpace(i + 1))));
  if (isQuote(code)) return verdict(keyBegins(c, i));
  return verdict((c.hasNewline(after, i) || i > after) && keyBegins(c, i));
}

function judgeItem(c: Cursor, i: number, code: number, after: number): Verdict {
  if (isComma(code) || code === CODE.semicolon) {
    return verdict(followsComma(c, i + 1, false) || followsComma(c, i + 1, true));
  }
  if (code === CODE.closeBracket || code === CODE.closeParen) return 'end';
  if (code === CODE.closeBrace) return verdict(c.frames.includes('object'));
  if (isColon(code)) return 'colon';
  if (code === CODE.plus) return verdict(isQuote(c.at(c.skipSpace(i + 1))));
  if (c.hasNewline(after, i)) return verdict(itemBegins(c, i));
  if (isQuote(code)) return verdict(shortItem(c, i, code));
  return verdict(i > after && isDigit(code));
}

/** After `"a" `, is the quoted text that begins at `index` an item of its own? It is when a separator follows it. */
function shortItem(c: Cursor, index: number, open: number): boolean {
  const closers = quoteClosers(open);
  const limit = Math.min(c.end, index + 200);
  if (isComma(c.at(index + 1)) || c.at(index + 1) === CODE.closeBracket) return false;
  for (let i = index + 1; i < limit; i += 1) {
    const code = c.at(i);
    if (code === CODE.newline) return false;
    if (code === CODE.backslash) i += 1;
    else if (isCloser(closers, code)) {
      const next = c.at(c.skipSpace(i + 1));
      return (
        i > index + 1 && (next === -1 || isComma(next) || next === CODE.closeBracket || isQuote(next) || isDigit(next))
      );
    }
  }
  return false;
}

/** True when nothing but closers stands from `index` to the end. */
function endsText(c: Cursor, index: number): boolean {
  let i = index;
  while (c.at(i) === CODE.closeBracket || c.at(i) === CODE.closeBrace) i = c.skipSpace(i + 1);
  return c.at(i) === -1;
}

function verdict(ends: boolean): Verdict {
  return ends ? 'end' : 'inner';
}

/** True when the quote at `quote` stands where a new key would: after a comma or a line break. */
function separates(c: Cursor, quote: number, start: number): boolean {
  let i = quote - 1;
  while (i >= start && isSpace(c.at(i))) {
    if (c.at(i) === CODE.newline) return true;
    i -= 1;
  }
  return i >= start && isComma(c.at(i));
}

/** The closing quote is missing: the text ends before the separator that stands in front of `quote`. */
function endBefore(c: Cursor, start: number, quote: number, inner: number): StringEnd {
  c.secondLooks -= 1;
  let i = quote;
  while (i > start && isSpace(c.at(i - 1))) i -= 1;
  if (i > start && isComma(c.at(i - 1))) i -= 1;
  return { contentEnd: i, next: i, closed: 'missing', inner };
}

/** No closing quote before the end: cut off, unless the closers of what is open stand at the end of the text. */
function withoutQuote(c: Cursor, start: number, inner: number): StringEnd {
  let i = c.end;
  let depth = c.frames.length;
  while (i > start && depth > 0) {
    const code = c.at(i - 1);
    if (code === CODE.closeBrace || code === CODE.closeBracket) depth -= 1;
    else if (!isSpace(code)) break;
    i -= 1;
  }
  if (depth === 0 && c.frames.length > 0) {
    while (i > start && isSpace(c.at(i - 1))) i -= 1;
    c.cutString();
    return { contentEnd: i, next: i, closed: 'missing', inner };
  }
  return { contentEnd: c.end, next: c.end, closed: 'cut', inner };
}

/** `C:\` or `C:\\` at the beginning: a Windows path, in which a backslash is a backslash. */
function isDrivePath(c: Cursor, start: number): boolean {
  const letter = c.at(start) | 32;
  return letter >= 97 && letter <= 122 && c.at(start + 1) === CODE.colon && c.at(start + 2) === CODE.backslash;
}
