import { CODE, isQuote } from './characters.ts';
import type { Cursor } from './cursor.ts';

/** Turns the raw text of a string into what it means. Escapes that no language knows keep their backslash. */
export function decodeString(c: Cursor, from: number, to: number): string {
  const raw = c.text.slice(from, to);
  c.steps += to - from;
  if (CONTROL.test(raw))
    c.repair('control-character', 'a line break or tab inside a string was kept as it stands', 0, from);
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

/** In a Windows path every backslash stands for itself; a doubled one is one that was escaped properly. */
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
  if (at + 6 > raw.length && /^[0-9a-fA-F]*$/.test(hex)) return { text: '', length: raw.length - at };
  c.repair('unknown-escape', 'an incomplete \\u escape was kept as text', 1, from + at);
  return { text: '\\u', length: 2 };
}
