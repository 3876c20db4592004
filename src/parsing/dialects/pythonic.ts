import type { Json } from '../json.ts';
import { type Building, setOwn } from '../own-property.ts';
import type { Repair, ToolCallRequest } from '../reply.ts';
import { isJsonObject } from '../json.ts';
import { CODE, isComma, isWordCode } from '../tolerant/characters.ts';
import { Cursor } from '../tolerant/cursor.ts';
import { parseValue } from '../tolerant/parse-value.ts';
import type { Dialect } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';

const LONGEST_NAME = 200;

/** `[f(a=1), g(b="x")]` or `f(a=1)` at the beginning of a line, for registered names. Read from its first bracket on. */
export const pythonic: Dialect = {
  name: 'pythonic',
  markers: ['('],
  read: (source, at) => {
    const head = headBefore(source, at);
    const opening = head === undefined ? 'none' : openingOf(source, head.from);
    if (head === undefined || opening === 'none') return undefined;
    const calls: ToolCallRequest[] = [];
    const repairs: Repair[] = [];
    let complete = true;
    let { name } = head;
    let paren = at;
    for (;;) {
      const c = new Cursor(source.text, {
        from: paren + 1,
        to: source.end,
        maxDepth: source.maxDepth,
        landmarks: source.landmarks,
      });
      c.frames.push('call');
      const args = readArguments(c);
      source.effort += c.steps;
      calls.push({ name, args, complete: c.complete });
      repairs.push(...c.repairs.filter(({ kind }) => !NATURAL.has(kind)));
      complete = complete && c.complete;
      const next = groupGoesOn(source, c.pos);
      if (next === undefined) {
        if (opening === 'line' && c.complete && !endsLine(source, c.pos)) return undefined;
        return { calls, complete, repairs, end: c.pos, from: head.from };
      }
      ({ name, paren } = next);
    }
  },
};

/** In Python these are no mistakes. */
const NATURAL = new Set(['quotes', 'literal', 'tuple', 'separator', 'unquoted-key']);

interface Head {
  readonly name: string;
  readonly from: number;
}

/** The registered name before a bracket: `name(`, also with the underscores that Markdown escapes. */
function headBefore(source: DialectSource, paren: number): Head | undefined {
  let from = paren;
  while (from > 0 && paren - from < LONGEST_NAME && isNameCode(source.text.charCodeAt(from - 1))) from -= 1;
  source.steps += paren - from;
  const name = source.text.slice(from, paren).replaceAll('\\_', '_');
  if (name === '') return undefined;
  if (source.has(name)) return { name, from };
  const tail = name.replace(/^(?:functions|tools|default_api|api)\./, '');
  return tail !== name && source.has(tail) ? { name: tail, from } : undefined;
}

function isNameCode(code: number): boolean {
  return isWordCode(code) || code === CODE.dot || code === CODE.backslash || code === CODE.minus;
}

/** How a group of calls begins: in a list, on a line of its own, or not at all. */
type Opening = 'list' | 'line' | 'none';

const LINE_START = /^[ \t]*(?:[`>][ \t]*|<[^<>]{1,40}>[ \t]*)*(?:[\w.]+[ \t]*=[ \t]*)?(?:print\(|await )?[({ \t]*$/;
const FARTHEST_LEFT = 60;

/** A label such as `result =`, a fence or `print(` may stand before a group; other words make it prose. */
function openingOf(source: DialectSource, from: number): Opening {
  const before = source.text.slice(Math.max(0, from - FARTHEST_LEFT), from);
  source.steps += before.length;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  if (/\[\s*$/.test(before) || (/\[/.test(line) && /\),\s*$/.test(line))) return 'list';
  const wholeLine = line.length < before.length || from <= FARTHEST_LEFT;
  return wholeLine && LINE_START.test(line) ? 'line' : 'none';
}

const LINE_END = /^[\s;,)`\]]*(?:#.*|\/\/.*)?$/;

/** A call on a line of its own has nothing behind it but punctuation or a comment. */
function endsLine(source: DialectSource, from: number): boolean {
  const newline = source.next(from, '\n');
  const rest = source.text.slice(from, Math.min(newline, from + 200));
  source.steps += rest.length;
  return LINE_END.test(rest);
}

/** The next call of the group: after commas, closers of other brackets or a line break. */
function groupGoesOn(
  source: DialectSource,
  from: number,
): { readonly name: string; readonly paren: number } | undefined {
  let i = source.skip(from);
  while (isComma(source.text.charCodeAt(i)) || source.text.charCodeAt(i) === CODE.semicolon) i = source.skip(i + 1);
  const paren = source.next(i, '(');
  if (paren >= source.end || paren - i > LONGEST_NAME) return undefined;
  const head = headBefore(source, paren);
  return head?.from === i ? { name: head.name, paren } : undefined;
}

/** Named arguments become an object; a single object is taken as the arguments; other positions stay a list. */
function readArguments(c: Cursor): Json {
  const named: Building = {};
  const positions: Json[] = [];
  for (;;) {
    c.skip();
    const code = c.at(c.pos);
    if (code === -1) {
      c.cut();
      break;
    }
    if (code === CODE.closeParen) {
      c.pos += 1;
      break;
    }
    if (isComma(code)) {
      c.pos += 1;
      continue;
    }
    const key = keyword(c);
    const at = c.pos;
    if (key === undefined) positions.push(parseValue(c, 'item'));
    else setOwn(named, key, parseValue(c, 'argument'));
    if (c.refused) break;
    if (c.pos === at) c.pos += 1;
  }
  if (positions.length === 0) return named;
  const [first] = positions;
  return positions.length === 1 && isJsonObject(first)
    ? { ...first, ...named }
    : [...positions, ...(Object.keys(named).length > 0 ? [named] : [])];
}

/** Moves over `key=` and returns the key. */
function keyword(c: Cursor): string | undefined {
  let i = c.pos;
  while (isNameCode(c.at(i))) i += 1;
  const after = c.skipSpace(i);
  if (i === c.pos || c.at(after) !== CODE.equals || c.at(after + 1) === CODE.equals) return undefined;
  const key = c.text.slice(c.pos, i).replaceAll('\\_', '_');
  c.pos = after + 1;
  return key;
}
