import { CODE, isWordCode } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { decodeString } from './decode-string.ts';
import { findStringEnd } from './string-end.ts';
import type { Role } from './string-end.ts';

/** Reads the string at the cursor, whichever quotes it uses, and leaves the cursor behind it. */
export function parseString(c: Cursor, role: Role): string {
  c.quoted += 1;
  const triple = tripleQuote(c);
  if (triple !== undefined) return triple;
  const at = c.pos;
  const open = c.at(at);
  if (open !== CODE.doubleQuote) c.repair('quotes', 'a string did not use double quotes', 0, at);
  let start = at + 1;
  let doubled = false;
  if (role !== 'key' && c.at(start) === open && opensTwice(c, start + 1)) {
    c.repair('doubled-quote', 'a doubled quote was read as one', 1, at);
    start += 1;
    doubled = true;
  }
  const end = findStringEnd(c, start, open, role);
  c.pos = end.next;
  if (doubled && c.at(c.pos) === open) c.pos += 1;
  if (end.inner > 0) c.repair('inner-quotes', 'quotes inside a string were not escaped', 1, at);
  if (end.closed === 'missing') c.repair('missing-quote', 'the closing quote of a string is missing', 2, at);
  if (end.closed === 'cut') c.cutString();
  const layout = c.trimsLayout && end.closed === 'quote' ? layoutAtEnd(c, start, end.contentEnd) : 0;
  if (layout > 0) c.repair('layout', 'the line break before a closing quote was left out', 1, at);
  const text = decodeString(c, start, end.contentEnd - layout);
  return end.closed === 'cut' ? withoutHalfPair(text) : text;
}

/** How many characters at the end of a text are a line break with white space behind it. */
function layoutAtEnd(c: Cursor, start: number, end: number): number {
  let i = end;
  while (i > start && (c.at(i - 1) === CODE.space || c.at(i - 1) === CODE.tab)) i -= 1;
  if (i === start || c.at(i - 1) !== CODE.newline) return 0;
  return end - i + (c.at(i - 2) === CODE.return ? 2 : 1);
}

/** `""value"`: an empty string would be followed by a separator, not by text. */
function opensTwice(c: Cursor, index: number): boolean {
  const code = c.at(index);
  return isWordCode(code) || code === CODE.openParen || code === CODE.openBracket;
}

/** A text cut between the two halves of a character loses the first half too. */
export function withoutHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

/** `"""text"""` or `'''text'''`, taken as it stands. */
function tripleQuote(c: Cursor): string | undefined {
  const mark = c.text.slice(c.pos, c.pos + 3);
  if ((mark !== '"""' && mark !== "'''") || c.pos + 3 >= c.end) return undefined;
  const close = c.text.indexOf(mark, c.pos + 3);
  if (close < 0 || close >= c.end) return undefined;
  const at = c.pos;
  c.pos = close + 3;
  c.repair('triple-quotes', 'a triple-quoted string was read as a string', 0, at);
  return decodeString(c, at + 3, close);
}
