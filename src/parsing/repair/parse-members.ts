import { noteSpelling } from '../../json/depth.ts';
import { type Building, type Json, setOwn } from '../../json/json.ts';
import { CODE, isColon, isComma, isQuote, isSpace, isWordCode } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { isMarkup, keyBegins } from './look-ahead.ts';
import { parseString } from './parse-string.ts';
import type { Role } from './string-end.ts';

/** Reads the members of an object whose brace is already behind the cursor, up to and with its closing brace. */
export function parseMembers(c: Cursor, parseValue: (c: Cursor, role: Role) => Json): Json {
  const out: Building = {};
  const loneKeys: string[] = [];
  let members = 0;
  let separated = true;
  for (;;) {
    c.skip();
    const code = c.at(c.pos);
    if (code === -1) {
      const inside = c.cutInside || c.frames.length > 1;
      c.cut();
      c.cutInside = inside;
      c.hanging ||= separated;
      break;
    }
    if (code === CODE.closeBrace) {
      c.pos += 1;
      if (!reopens(c)) break;
      continue;
    }
    if (isMarkup(c, c.pos)) {
      c.cut();
      break;
    }
    if (isComma(code) || code === CODE.semicolon) {
      if (code === CODE.semicolon) c.repair('semicolon', 'a semicolon was read as a comma', 0);
      else if (separated || nextIsBrace(c)) c.repair('extra-comma', 'an extra comma was removed', 0);
      separated = true;
      c.pos += 1;
      continue;
    }
    if (code === CODE.closeBracket || code === CODE.closeParen) {
      closeUnclosed(c, code);
      break;
    }
    if (code === CODE.openBrace && c.frames.slice(0, -1).includes('list')) {
      c.repair('missing-brace', 'the closing brace of an object is missing', 2);
      break;
    }
    if (code === CODE.openBracket) {
      parseValue(c, 'member');
      c.repair('stray-list', 'a list where a key belongs was left out', 2);
      if (c.refused) break;
      continue;
    }
    const key = parseKey(c, code);
    if (key === undefined) continue;
    if (!separated && members + loneKeys.length > 0) {
      c.repair('missing-comma', 'a comma is missing between two members', 1);
    }
    separated = false;
    const separator = parseSeparator(c);
    if (!separator) {
      if (c.at(c.pos) === -1 && !key.quoted) {
        c.cutHanging();
        break;
      }
      if (endsMember(c)) {
        if (key.quoted) loneKeys.push(key.text);
        if (c.at(c.pos) !== -1) c.repair('missing-value', 'a key has no value', 2);
        if (c.at(c.pos) === -1) {
          c.hanging = true;
          setOwn(out, key.text, null);
        }
        continue;
      }
      c.repair('missing-colon', 'a colon is missing after a key', 1);
    }
    if (separator || key.quoted || isQuote(c.at(c.pos))) c.pairs += 1;
    members += 1;
    setOwn(out, key.text, noteSpelling(out, key.text, parseValue(c, 'member'), c.written));
    if (c.refused) break;
  }
  if (members === 0 && loneKeys.length > 0 && c.complete) {
    c.repair('set', 'a set was read as a list', 1);
    return loneKeys;
  }
  for (const key of loneKeys) if (!Object.hasOwn(out, key)) setOwn(out, key, null);
  return out;
}

function nextIsBrace(c: Cursor): boolean {
  return c.at(c.skipSpace(c.pos + 1)) === CODE.closeBrace;
}

/** `{"a": 1}, "b": 2}`: the outermost brace was closed too early when a key follows it. */
function reopens(c: Cursor): boolean {
  if (c.frames.length !== 1) return false;
  const comma = c.skipSpace(c.pos);
  const key = c.skipSpace(comma + 1);
  if (!isComma(c.at(comma)) || !isQuote(c.at(key)) || c.at(key) === -1 || !keyBegins(c, key)) return false;
  if (c.at(c.skipSpace(key + 1)) === -1) return false;
  c.repair('early-close', 'a brace that closed too early was left out', 2);
  return true;
}

/** A bracket of another kind: it closes what is around the object, or replaces the missing brace. */
function closeUnclosed(c: Cursor, code: number): void {
  c.repair('missing-brace', 'the closing brace of an object is missing', 2);
  const around = c.frames.slice(0, -1);
  const wanted = code === CODE.closeBracket ? 'list' : 'tuple';
  if (!around.includes(wanted) && !around.includes('call')) c.pos += 1;
}

interface Key {
  readonly text: string;
  readonly quoted: boolean;
}

function parseKey(c: Cursor, code: number): Key | undefined {
  if (isQuote(code)) return parseQuotedKey(c);
  const from = c.pos;
  let i = from;
  while (i < c.end && isKeyCode(c.at(i))) i += 1;
  if (i === from) {
    c.repair('stray-character', `a stray ${c.text.charAt(from)} was left out`, 2);
    c.pos += 1;
    return undefined;
  }
  c.pos = i;
  const text = c.text.slice(from, i).replaceAll('\\_', '_');
  const next = c.skipSpace(i);
  if (isQuote(c.at(next)) && keyBegins(c, next) && next > i) {
    c.repair('stray-words', 'words that belong to no member were left out', 3, from);
    return undefined;
  }
  c.repair('unquoted-key', 'a key without quotes', 0, from);
  if (isQuote(c.at(i))) c.pos += 1;
  return { text, quoted: false };
}

function isKeyCode(code: number): boolean {
  return isWordCode(code) || code === CODE.minus || code === CODE.dot || code === CODE.backslash || code === 64;
}

function parseQuotedKey(c: Cursor): Key | undefined {
  const at = c.pos;
  const raw = parseString(c, 'key');
  if (!c.complete && c.pos >= c.end) return undefined;
  const stray = /^\s*([\w$-]+)\s*:\s*$/.exec(raw);
  if (stray?.[1] !== undefined && c.text.charCodeAt(c.pos - 1) === c.text.charCodeAt(at)) {
    c.repair('missing-quote', 'the closing quote of a key is missing', 1, at);
    c.pos -= 1;
    return { text: stray[1], quoted: true };
  }
  return { text: raw.includes('\n') ? raw.trimEnd() : raw, quoted: true };
}

/** Moves over `:`, `=`, `=>`, `:=` or `->`; false when none of them is there. */
function parseSeparator(c: Cursor): boolean {
  c.skip();
  const code = c.at(c.pos);
  if (isColon(code)) {
    c.pos += 1;
    if (c.at(c.pos) === CODE.equals) c.pos += 1;
    if (code !== CODE.colon) c.repair('separator', 'a full-width colon was read as a colon', 0);
    return true;
  }
  const arrow = code === CODE.minus && c.at(c.pos + 1) === CODE.greater;
  if (code !== CODE.equals && !arrow) return false;
  c.repair('separator', 'a sign other than a colon follows a key', 0);
  c.pos += 1;
  if (c.at(c.pos) === CODE.greater) c.pos += 1;
  return true;
}

function endsMember(c: Cursor): boolean {
  const code = c.at(c.pos);
  return code === -1 || isComma(code) || code === CODE.closeBrace || code === CODE.closeBracket || isSpace(code);
}
