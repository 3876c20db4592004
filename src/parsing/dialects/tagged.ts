import { callsOf } from '../calls-of.ts';
import { isJsonObject, type Json } from '../json.ts';
import { type Building, setOwn } from '../own-property.ts';
import type { ToolCallRequest } from '../reply.ts';
import type { Dialect, DialectReading } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';
import { parameterValue, takesOnlyText } from './parameter-value.ts';
import { closesAgain, valueEnd } from './tag-values.ts';

/** How a format writes a call as tags: one around the call, one around each parameter. */
interface Tags {
  /** What begins a call; the tag goes on to `>`. */
  readonly openCall: readonly string[];
  readonly closeCall: readonly string[];
  readonly openParameter: string;
  readonly closeParameter: string;
  /** What stands before every tag, of elements that are named like their parameter too. */
  readonly prefix: string;
  /** The name in a tag, from the text behind its opening piece up to `>`. */
  readonly name: (tag: string) => string;
}

interface Row extends Tags {
  readonly dialect: string;
}

const attribute = (tag: string): string => /\bname\s*=\s*["']([^"']*)["']/.exec(tag)?.[1] ?? '';

/** The names that model families put before `invoke` and `parameter`. */
const PREFIXES = ['', 'steptml:', '｜DSML｜', '|DSML|', 'minimax:', 'antml:'];

const ROWS: readonly Row[] = [
  // MiniMax, Step3, DeepSeek's DSML and others: `<invoke name="f"><parameter name="key">value</parameter></invoke>`.
  ...PREFIXES.map((prefix) => ({
    dialect: 'invoke-tags',
    openCall: [`<${prefix}invoke`],
    closeCall: [`</${prefix}invoke>`],
    openParameter: `<${prefix}parameter`,
    closeParameter: `</${prefix}parameter>`,
    prefix: '',
    name: attribute,
  })),
  // Qwen3-Coder, Llama and Seed: `<function=name><parameter=key>value</parameter></function>`, or JSON inside.
  {
    dialect: 'function-tags',
    openCall: ['<function='],
    closeCall: ['</function>', '</tool_call>'],
    openParameter: '<parameter=',
    closeParameter: '</parameter>',
    prefix: '',
    name: (tag) => tag.trim().replace(/^["']|["']$/g, ''),
  },
];

/** The formats that write every parameter as an element of its own. */
export const TAGGED: readonly Dialect[] = ROWS.map((row) => ({
  name: row.dialect,
  markers: row.openCall,
  read: (source, at) => readCall(source, at, row),
}));

const LONGEST_TAG = 400;
/** How deep elements may stand in each other. */
const DEEPEST = 32;

/** A tag that opens a call or a parameter. */
interface OpenTag {
  readonly name: string;
  readonly end: number;
  /** `<invoke name="f"/>`. */
  readonly empty: boolean;
  readonly isText?: boolean;
}

/** The arguments between the tags of a call. `end` is where its closing tag begins, or the end of the text. */
interface Body {
  readonly args: Json;
  readonly end: number;
  readonly complete: boolean;
}

function readCall(source: DialectSource, at: number, tags: Tags): DialectReading | undefined {
  const tag = openTag(source, at, tags.openCall, tags);
  if (tag === undefined || tag.name === '') return undefined;
  const { end, ...call } = callBody(source, tag, tags);
  return { calls: [call], complete: call.complete, repairs: [], end };
}

function callBody(source: DialectSource, tag: OpenTag, tags: Tags): ToolCallRequest & { readonly end: number } {
  const { name } = tag;
  if (tag.empty) return { name, args: {}, complete: true, end: tag.end };
  const json = source.value(tag.end, ...tags.closeCall, ...tags.openCall);
  if (json !== undefined) {
    const end = source.past(source.skip(json.end), tags.closeCall);
    const [named] = isJsonObject(json.value) ? callsOf(json.value, json.complete) : [];
    const args = named?.name === name ? named.args : json.value;
    return { name, args, complete: json.complete, end };
  }
  const { args, end, complete } = readParameters(source, tag, tags) ?? readElements(source, tag, tags);
  const past = source.past(end, tags.closeCall);
  const closers = [tags.closeParameter, ...tags.closeCall.slice(0, 1)];
  const openers = [tags.openParameter, ...tags.openCall];
  return { name, args, complete: complete && !closesAgain(source, past, closers, openers), end: past };
}

function openTag(source: DialectSource, at: number, pieces: readonly string[], tags: Tags): OpenTag | undefined {
  const from = source.past(at, pieces);
  const close = source.next(from, '>');
  if (from === at || close >= source.end || close - at > LONGEST_TAG) return undefined;
  const inside = source.text.slice(from, close);
  const text = /\bstring\s*=\s*["'](true|false)["']/.exec(inside)?.[1];
  return {
    name: tags.name(inside.replace(/\/$/, '')).trim(),
    end: close + 1,
    empty: inside.endsWith('/'),
    ...(text === undefined ? {} : { isText: text === 'true' }),
  };
}

/** `<parameter name="key">value</parameter>…`; undefined where no such tag stands before the call ends. */
function readParameters(source: DialectSource, call: OpenTag, tags: Tags): Body | undefined {
  const args: Building = {};
  const marks = {
    open: tags.openParameter,
    close: tags.closeParameter,
    before: [tags.openParameter, ...tags.closeCall, ...tags.openCall],
  };
  let at = source.skip(call.end);
  if (!source.text.startsWith(tags.openParameter, at)) return undefined;
  while (source.text.startsWith(tags.openParameter, at)) {
    const tag = openTag(source, at, [tags.openParameter], tags);
    if (tag === undefined || tag.name === '') return { args, end: source.next(at, ...tags.closeCall), complete: false };
    const value = tag.empty ? { end: tag.end, past: tag.end } : valueEnd(source, tag.end, marks);
    const raw = tag.empty ? '' : source.text.slice(tag.end, value.end);
    setOwn(args, tag.name, parameterValue(source, { tool: call.name, key: tag.name, raw, isText: tag.isText }));
    at = source.skip(value.past);
    if (at >= source.end) return { args, end: source.end, complete: false };
  }
  return { args, end: at, complete: source.past(at, tags.closeCall) > at };
}

/** `<city>Paris</city>`: elements that are named like their parameter. Anything else between them cannot be read. */
function readElements(source: DialectSource, call: OpenTag, tags: Tags): Body {
  const args: Building = {};
  let at = source.skip(call.end);
  for (;;) {
    if (source.past(at, tags.closeCall) > at) return { args, end: at, complete: true };
    const element = elementAt(source, at, tags);
    if (element === undefined) return { args, end: source.next(at, ...tags.closeCall), complete: false };
    setOwn(args, element.name, elementValue(source, element.raw, { tool: call.name, key: element.name }, tags));
    at = source.skip(element.end);
  }
}

interface Element {
  readonly name: string;
  readonly raw: string;
  readonly end: number;
}

const ELEMENT = /^<([\p{L}_][\p{L}\p{N}_.-]{0,100})>/u;

function elementAt(source: DialectSource, at: number, tags: Tags): Element | undefined {
  if (!source.text.startsWith(tags.prefix, at)) return undefined;
  const from = at + tags.prefix.length;
  const open = ELEMENT.exec(source.text.slice(from, from + 110));
  const name = open?.[1];
  if (open === null || name === undefined) return undefined;
  const start = from + open[0].length;
  const closing = `${tags.prefix}</${name}>`;
  const close = source.next(start, closing);
  if (close >= source.end || close > source.next(start, ...tags.closeCall)) return undefined;
  return { name, raw: source.text.slice(start, close), end: close + closing.length };
}

/** An element's text, or the elements in it: those named `item` are a list, others an object. */
function elementValue(
  source: DialectSource,
  raw: string,
  { tool, key }: { readonly tool: string; readonly key: string },
  tags: Tags,
): Json {
  const inner = raw.trimStart().startsWith(`${tags.prefix}<`) ? elementsOf(source, raw, tags) : undefined;
  const schema = source.tools.argument(tool, key);
  const isText = schema === undefined || takesOnlyText(schema, true);
  return inner === undefined || isText ? parameterValue(source, { tool, key, raw }) : inner;
}

function elementsOf(source: DialectSource, raw: string, tags: Tags, depth = 0): Json | undefined {
  if (depth > DEEPEST) return undefined;
  const members: (readonly [string, Json])[] = [];
  let rest = raw.trim();
  while (rest !== '') {
    if (!rest.startsWith(tags.prefix)) return undefined;
    const open = ELEMENT.exec(rest.slice(tags.prefix.length, tags.prefix.length + 110));
    if (open?.[1] === undefined) return undefined;
    const start = tags.prefix.length + open[0].length;
    const closing = `${tags.prefix}</${open[1]}>`;
    const close = rest.indexOf(closing, start);
    if (close < 0) return undefined;
    const text = rest.slice(start, close);
    const inner = elementsOf(source, text, tags, depth + 1);
    const scalar = parameterValue(source, { tool: '', key: '', raw: text });
    members.push([open[1], text.trim() === '' || inner === undefined ? scalar : inner]);
    rest = rest.slice(close + closing.length).trim();
  }
  if (members.length === 0) return undefined;
  if (members.every(([name]) => name === 'item')) return members.map(([, value]) => value);
  const out: Building = {};
  for (const [name, value] of members) setOwn(out, name, value);
  return out;
}
