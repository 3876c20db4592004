import { noteSpelling } from '../../json/depth.ts';
import { type Building, type Json, isJsonObject, setOwn } from '../../json/json.ts';
import type { ToolCallRequest } from '../calls/call-forms.ts';
import { CODE, isComma, isWordCode } from '../repair/characters.ts';
import { Cursor } from '../repair/cursor.ts';
import { parseValue } from '../repair/parse-value.ts';
import type { Repair } from '../repair/repairs.ts';
import type { Dialect, DialectSource } from './dialect.ts';

const LONGEST_NAME = 200;

/** `[f(a=1), g(b="x")]` or `f(a=1)` at the beginning of a line, for registered names. Read from its first bracket on. */
export const pythonic: Dialect = {
  name: 'pythonic',
  markers: ['('],
  read: (source, at) => {
    const isCall = (name: string): boolean => source.has(name);
    const head = headBefore(source, at, isCall);
    const opening = head === undefined ? 'none' : openingOf(source, head.from);
    if (head === undefined || opening === 'none') return undefined;
    const group = readGroup(source, { name: head.name, paren: at }, isCall);
    if (opening === 'line' && group.closed && !endsLine(source, group.end)) return undefined;
    return { ...group, from: head.from };
  },
};

/** A format that stands marks around such calls. */
interface Row {
  readonly name: string;
  readonly open: string;
  readonly close: string;
  /** Behind the mark may stand code of any kind: only a call of a registered tool is one. */
  readonly code?: boolean;
}

const ROWS: readonly Row[] = [
  // Olmo 3: `<function_calls>` and one call per line, or several on one.
  { name: 'olmo', open: '<function_calls>', close: '</function_calls>' },
  // LFM2: `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`.
  { name: 'lfm2', open: '<|tool_call_start|>', close: '<|tool_call_end|>' },
  // Llama 3, tools that come with it: `<|python_tag|>brave_search.call(query="x")`.
  { name: 'llama', open: '<|python_tag|>', close: '<|eom_id|>', code: true },
  // Llama 4: `<|python_start|>[f(a=1)]<|python_end|>`.
  { name: 'llama4', open: '<|python_start|>', close: '<|python_end|>' },
];

/** Python calls between their own marks: the block ends at its mark even if the names are not registered. */
export const MARKED_PYTHONIC: readonly Dialect[] = ROWS.map((row) => ({
  name: row.name,
  markers: [row.open],
  read: (source, at) => {
    let from = source.skipSpace(at + row.open.length);
    if (source.text.charCodeAt(from) === CODE.openBracket) from = source.skipSpace(from + 1);
    const paren = source.next(from, '(');
    const head = paren - from > LONGEST_NAME ? undefined : headBefore(source, paren, isName);
    if (paren >= source.end || head?.from !== from || (row.code === true && !source.has(head.name))) return undefined;
    const group = readGroup(source, { name: head.name, paren }, isName);
    const bracket = source.skipSpace(group.end);
    const end = source.text.charCodeAt(bracket) === CODE.closeBracket ? bracket + 1 : group.end;
    const past = source.past(source.skipSpace(end), [row.close]);
    return { ...group, end: past > source.skipSpace(end) ? past : end };
  },
}));

function isName(name: string): boolean {
  return /^[\p{L}_]/u.test(name);
}

interface Group {
  readonly calls: readonly ToolCallRequest[];
  readonly repairs: readonly Repair[];
  readonly complete: boolean;
  readonly end: number;
  /** The last call's bracket was closed. */
  readonly closed: boolean;
}

/** Calls one after the other, as long as `isCall` knows their names. */
function readGroup(
  source: DialectSource,
  first: { readonly name: string; readonly paren: number },
  isCall: (name: string) => boolean,
): Group {
  const calls: ToolCallRequest[] = [];
  const repairs: Repair[] = [];
  let complete = true;
  let { name, paren } = first;
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
    const next = nextInGroup(source, c.pos, isCall);
    if (next === undefined) return { calls, complete, repairs, end: c.pos, closed: c.complete };
    ({ name, paren } = next);
  }
}

/** In Python these are not mistakes. */
const NATURAL = new Set(['quotes', 'literal', 'tuple', 'separator', 'unquoted-key']);

interface Head {
  readonly name: string;
  readonly from: number;
}

/** The known name before a bracket: `name(`, also with the underscores that Markdown escapes. */
function headBefore(source: DialectSource, paren: number, isCall: (name: string) => boolean): Head | undefined {
  let from = paren;
  while (from > 0 && paren - from < LONGEST_NAME && isNameCode(source.text.charCodeAt(from - 1))) from -= 1;
  source.steps += paren - from;
  const name = source.text.slice(from, paren).replaceAll('\\_', '_');
  if (name === '') return undefined;
  const tail = name.replace(/^(?:functions|tools|default_api|api)\./, '');
  if (source.has(name)) return { name, from };
  if (source.has(tail)) return { name: tail, from };
  // In running text `f.call(…)` is JavaScript.
  const called = isCall === isName ? name.replace(/\.call$/, '') : name;
  if (source.has(called)) return { name: called, from };
  return isCall(name) ? { name, from } : undefined;
}

function isNameCode(code: number): boolean {
  return isWordCode(code) || code === CODE.dot || code === CODE.backslash || code === CODE.minus;
}

const LINE_START = /^[ \t]*(?:[`>][ \t]*|<[^<>]{1,40}>[ \t]*)*(?:[\w.]+[ \t]*=[ \t]*)?(?:print\(|await )?[({ \t]*$/;
const FARTHEST_LEFT = 60;

/** A label such as `result =`, a fence or `print(` may stand before a group; other words make it prose. */
function openingOf(source: DialectSource, from: number): 'list' | 'line' | 'none' {
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
function nextInGroup(
  source: DialectSource,
  from: number,
  isCall: (name: string) => boolean,
): { readonly name: string; readonly paren: number } | undefined {
  let i = source.skipSpace(from);
  while (isComma(source.text.charCodeAt(i)) || source.text.charCodeAt(i) === CODE.semicolon)
    i = source.skipSpace(i + 1);
  const paren = source.next(i, '(');
  if (paren >= source.end || paren - i > LONGEST_NAME) return undefined;
  const head = headBefore(source, paren, isCall);
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
    const value = parseValue(c, key === undefined ? 'item' : 'argument');
    if (key === undefined) positions.push(value);
    else setOwn(named, key, value);
    if (key !== undefined) noteSpelling(named, key, value, c.written);
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
