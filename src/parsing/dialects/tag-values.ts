import { isList, parseStrict } from '../../json/depth.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { DialectSource } from './dialect.ts';

/** The tags around a value that stands as plain text. */
interface ValueTags {
  readonly open: string;
  readonly close: string;
  /** What may stand behind a value: the next one, or the end of the call. */
  readonly before: readonly string[];
  /** The tags are named like their parameter, so that hardly two values have the same. */
  readonly named?: boolean;
}

/** How many closing tags inside one value are looked at before the first is taken for its end. */
const MOST_NESTED = 64;

/** Where a value ends, and where its closing tag does. It is not sure where the text may have been cut inside it. */
interface ValueEnd {
  readonly end: number;
  readonly past: number;
  readonly sure: boolean;
}

/**
 * Where the value that begins at `from` ends. The text may hold closing tags of its own: one ends the value only where
 * the call continues or ends behind it, and where the tags inside are in balance, as far as they can be. Without any such
 * tag the value ends where the call does.
 */
export function valueEnd(source: DialectSource, from: number, tags: ValueTags): ValueEnd {
  let first: number | undefined;
  let opened = 0;
  let counted = from;
  const next = (at: number): number =>
    tags.named === true ? source.seek(at, tags.close) : source.next(at, tags.close);
  let close = next(from);
  for (let closed = 0; close < source.end && closed < MOST_NESTED; closed += 1) {
    const past = close + tags.close.length;
    if (opened < MOST_NESTED) opened += countBetween(source, tags, counted, close);
    counted = close;
    if (callContinues(source, past, tags.before)) {
      if (opened <= closed) return { end: close, past, sure: true };
      first ??= close;
    }
    close = next(past);
  }
  if (first !== undefined) return { end: first, past: first + tags.close.length, sure: false };
  const end = source.next(from, ...tags.before);
  return { end, past: end, sure: false };
}

/** How many tags are opened between two offsets. More than may be closed are not counted. */
function countBetween(source: DialectSource, { open, named }: ValueTags, from: number, to: number): number {
  const next = (at: number): number => (named === true ? source.seek(at, open, to) : source.next(at, open));
  let count = 0;
  for (let at = next(from); at < to && count < MOST_NESTED; at = next(at + open.length)) count += 1;
  return count;
}

function callContinues(source: DialectSource, from: number, before: readonly string[]): boolean {
  const at = source.skipSpace(from);
  return at >= source.end || source.past(at, before) > at;
}

const SECTION = '<![CDATA[';
const SECTION_END = ']]>';

/**
 * The text of a value that stands in a `<![CDATA[…]]>` section; undefined for any other. Only the closing tag behind it
 * makes `]]>` the end of the value, and only where no section inside is open. A section that ends where the next begins
 * holds what neither could hold alone.
 */
export function sectionEnd(
  source: DialectSource,
  from: number,
  close: string,
): { readonly raw: string; readonly past: number; readonly sure: boolean } | undefined {
  const start = source.skipSpace(from);
  if (!source.text.startsWith(SECTION, start)) return undefined;
  let opened = 0;
  let at = start + SECTION.length;
  let counted = at;
  let first: { readonly end: number; readonly past: number } | undefined;
  for (let closed = 0; closed < MOST_NESTED; closed += 1) {
    const end = source.next(at, SECTION_END);
    if (end >= source.end) break;
    if (opened < MOST_NESTED) opened += countBetween(source, { open: SECTION, close, before: [] }, counted, end);
    counted = end;
    at = end + SECTION_END.length;
    const next = source.skipSpace(at);
    if (!source.text.startsWith(close, next)) continue;
    first ??= { end, past: next + close.length };
    if (opened <= closed) return { raw: sectionText(source, start, end), past: next + close.length, sure: true };
  }
  const end = first?.end ?? source.end;
  return { raw: sectionText(source, start, end), past: first?.past ?? source.end, sure: false };
}

function sectionText(source: DialectSource, start: number, end: number): string {
  return source.text.slice(start + SECTION.length, end).replaceAll(SECTION_END + SECTION, '');
}

/**
 * True when a closing tag that nothing opened follows a call, anywhere in the message: the call's own one stood inside a
 * value, so that the value was cut there and it is unknown where it ends.
 */
export function closesAgain(
  source: DialectSource,
  from: number,
  closers: readonly string[],
  openers: readonly string[],
): boolean {
  return source.balance(openers, closers).closesTooMuch(from);
}

/** The literals of Python, which models write where JSON has its own. */
export const PYTHON_WORDS = new Map<string, Json>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/**
 * Which line breaks around a value are layout. `none`: all of it is the value · `lines`: values stand on lines of their
 * own, so that one before it is left out, and one behind it where both stand.
 */
export type Layout = 'none' | 'lines';

/** A value as it stands between its tags. */
interface RawValue {
  readonly schema: JsonSchema | undefined;
  readonly raw: string;
  /** What the tag itself says of the type: `string="true"`. */
  readonly isText?: boolean | undefined;
  readonly layout: Layout;
}

/** The value of a tool's parameter that stands as plain text between tags. */
export function parameterValue(
  source: DialectSource,
  { tool, key, ...raw }: Omit<RawValue, 'schema'> & { readonly tool: string; readonly key: string },
): Json {
  return textValue(source, { ...raw, schema: source.tools.argument(tool, key) });
}

/**
 * A value that stands as plain text. Where the schema asks for text it is that text; any other is read as JSON. Where
 * nothing is known of the type, what is JSON becomes its value, a number only when it would be written back the same,
 * so that `007` and `1.50` stay text until a schema asks for a number.
 */
export function textValue(source: DialectSource, { schema, raw, isText, layout }: RawValue): Json {
  const text = unframed(raw, layout);
  if (isText ?? takesOnlyText(schema)) return text;
  const trimmed = text.trim();
  if (takesOnlyText(schema, true)) return trimmed === 'null' ? null : text;
  const word = PYTHON_WORDS.get(trimmed);
  if (word !== undefined) return word;
  if (trimmed.charCodeAt(0) === 34) return text;
  const parsed = parseStrict(trimmed, source.maxDepth);
  if (parsed === undefined) return text;
  return typeof parsed.value === 'number' && String(parsed.value) !== trimmed ? text : parsed.value;
}

function unframed(raw: string, layout: Layout): string {
  const framed = layout === 'none' ? null : /^\r?\n/.exec(raw);
  if (framed === null) return raw;
  const end = /\r?\n[ \t]*$/.exec(raw);
  if (end !== null && end.index >= framed[0].length) return raw.slice(framed[0].length, end.index);
  return raw.slice(framed[0].length);
}

/** True for a schema that takes a string and nothing else; `orNull` lets null stand beside it. */
export function takesOnlyText(schema: JsonSchema | undefined, orNull = false): boolean {
  if (!isJsonObject(schema)) return false;
  const { type } = schema;
  const options = schema['anyOf'] ?? schema['oneOf'];
  if (type === undefined && isList(options)) {
    const kinds = options.filter((option) => !(orNull && isJsonObject(option) && option['type'] === 'null'));
    return kinds.length > 0 && kinds.every((option) => isJsonObject(option) && takesOnlyText(option, orNull));
  }
  if (type === undefined && isList(schema['enum'])) return schema['enum'].every((value) => typeof value === 'string');
  if (!isList(type)) return type === 'string';
  return type.includes('string') && type.every((kind) => kind === 'string' || (orNull && kind === 'null'));
}
