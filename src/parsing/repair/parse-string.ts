import { CODE, isQuote, isWordCode } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { type Role, findStringEnd } from './string-end.ts';

/** Reads the string at the cursor, whichever quotes it uses, and leaves the cursor behind it. */
export function parseString(c: Cursor, role: Role): string {
  c.quoted += 1;
  const triple = tripleQuote(c);
  if (triple !== undefined) return triple;
  const at = c.pos;
  const open = c.at(at);
  if (open !== CODE.doubleQuote) c.repair('quotes', 'a string was not in double quotes', 0, at);
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
function withoutHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

/** `"""text"""` or `'''text'''`, taken literally. */
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

/** Turns the raw text of a string into what it means. Escapes that no language knows keep their backslash. */
function decodeString(c: Cursor, from: number, to: number): string {
  const raw = c.text.slice(from, to);
  c.steps += to - from;
  if (CONTROL.test(raw)) c.repair('control-character', 'a line break or tab inside a string was kept', 0, from);
  const first = raw.indexOf('\\');
  if (first < 0) return raw;
  const pathEnd = drivePathEnd(raw);
  if (pathEnd > 0) c.repair('path', 'the backslashes of a Windows path were kept', 1, from);
  let out = '';
  let i = 0;
  while (i < raw.length) {
    const slash = raw.indexOf('\\', i);
    if (slash < 0) return out + raw.slice(i);
    out += raw.slice(i, slash);
    const step = slash < pathEnd ? literalBackslash(raw, slash) : escapeAt(c, raw, slash, from);
    out += step.text;
    i = slash + step.length;
  }
  return out;
}

// oxlint-disable-next-line no-control-regex -- control characters are what this looks for
const CONTROL = /[\u0000-\u001f]/;

interface Decoded {
  readonly text: string;
  readonly length: number;
}

/** In a Windows path every backslash is literal; a doubled one is one that was escaped properly. */
function literalBackslash(raw: string, at: number): Decoded {
  return { text: '\\', length: raw.charCodeAt(at + 1) === CODE.backslash ? 2 : 1 };
}

const DRIVE_PATH = /^[A-Za-z]:\\(?![\\"'`])/;
/** A backslash that begins no escape of JSON. Without one, the text is taken as JSON writes it. */
const NO_ESCAPE = /\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/;

function drivePathEnd(raw: string): number {
  if (!DRIVE_PATH.test(raw)) return 0;
  const stop = raw.search(/[\n"<>|*?,;]/);
  const end = stop < 0 ? raw.length : stop;
  return NO_ESCAPE.test(raw.slice(0, end)) ? end : 0;
}

function escapeAt(c: Cursor, raw: string, at: number, from: number): Decoded {
  if (at + 1 >= raw.length) return { text: '', length: 1 };
  const code = raw.charCodeAt(at + 1);
  const known = KNOWN_ESCAPES.get(code);
  if (known !== undefined) return { text: known, length: 2 };
  if (code === 117) return unicodeEscape(c, raw, at, from);
  if (code === CODE.newline || isQuote(code) || code === CODE.underscore) {
    c.repair('needless-escape', `the backslash before ${JSON.stringify(raw[at + 1])} was left out`, 0, from + at);
    return { text: raw.charAt(at + 1), length: 2 };
  }
  c.repair('unknown-escape', `the unknown escape \\${raw.charAt(at + 1)} was kept as text`, 1, from + at);
  return { text: raw.slice(at, at + 2), length: 2 };
}

const KNOWN_ESCAPES = new Map<number, string>([
  [34, '"'],
  [92, '\\'],
  [47, '/'],
  [98, '\b'],
  [102, '\f'],
  [110, '\n'],
  [114, '\r'],
  [116, '\t'],
]);

function unicodeEscape(c: Cursor, raw: string, at: number, from: number): Decoded {
  const hex = raw.slice(at + 2, at + 6);
  if (/^[0-9a-fA-F]{4}$/.test(hex)) return { text: String.fromCharCode(parseInt(hex, 16)), length: 6 };
  const isCut = from + raw.length >= c.end;
  if (isCut && at + 6 > raw.length && /^[0-9a-fA-F]*$/.test(hex)) return { text: '', length: raw.length - at };
  c.repair('unknown-escape', 'an incomplete \\u escape was kept as text', 1, from + at);
  return { text: '\\u', length: 2 };
}
