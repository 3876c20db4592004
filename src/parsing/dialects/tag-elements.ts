import { isList } from '../../json/depth.ts';
import { type Building, type Json, type JsonObject, type JsonSchema, isJsonObject, setOwn } from '../../json/json.ts';
import type { DialectSource } from './dialect.ts';
import { takesOnlyText, textValue, valueEnd } from './tag-values.ts';

/** How deep elements may stand in each other. */
const DEEPEST = 32;
const ELEMENT = /^<([\p{L}_][\p{L}\p{N}_.-]{0,100})>/u;
const LONGEST_ELEMENT = 110;

/** What a format writes before every tag, and what closes a call. */
interface Around {
  readonly prefix: string;
  readonly closeCall: readonly string[];
  readonly openParameter: string;
}

/** The arguments of a call. `end` is where its closing tag begins, or the end of the text. */
export interface Body {
  readonly args: JsonObject;
  readonly end: number;
  readonly complete: boolean;
}

/** `<city>Paris</city>`: elements that are named like their parameter. Anything else between them cannot be read. */
export function readElements(
  source: DialectSource,
  call: { readonly name: string; readonly end: number },
  around: Around,
): Body {
  const args: Building = {};
  let complete = true;
  let at = source.skipSpace(call.end);
  for (;;) {
    if (source.past(at, around.closeCall) > at) return { args, end: at, complete };
    const element = elementAt(source, at, around);
    if (element === undefined || Object.hasOwn(args, element.name)) {
      return { args, end: source.next(at, ...around.closeCall), complete: false };
    }
    complete = complete && element.sure;
    const schema = source.tools.argument(call.name, element.name);
    setOwn(args, element.name, elementValue(source, element.raw, schema, around.prefix));
    at = source.skipSpace(element.end);
  }
}

interface Element {
  readonly name: string;
  readonly raw: string;
  readonly end: number;
  readonly sure: boolean;
}

function elementAt(source: DialectSource, at: number, { prefix, openParameter }: Around): Element | undefined {
  if (!source.text.startsWith(prefix, at)) return undefined;
  const from = at + prefix.length;
  const open = ELEMENT.exec(source.text.slice(from, from + LONGEST_ELEMENT));
  const name = open?.[1];
  if (open === null || name === undefined) return undefined;
  // The tag of a parameter, without the name that it has to have.
  if (openParameter.trimEnd() === `${prefix}<${name}`) return undefined;
  const start = from + open[0].length;
  const tags = { open: `${prefix}${open[0]}`, close: `${prefix}</${name}>`, before: [`${prefix}<`], named: true };
  const { end, past, sure } = valueEnd(source, start, tags);
  return past === end ? undefined : { name, raw: source.text.slice(start, end), end: past, sure };
}

/**
 * An element's text, or the elements in it. Tags with a prefix are hardly text; others are where nothing says that the
 * parameter is more.
 */
function elementValue(source: DialectSource, raw: string, schema: JsonSchema | undefined, prefix: string): Json {
  const isText = schema === undefined ? prefix === '' : takesOnlyText(schema, true);
  const inner = isText ? undefined : elementsOf(source, raw, { prefix, schema, depth: 0 });
  return inner ?? textValue(source, { schema, raw, layout: 'none' });
}

interface Inside {
  readonly prefix: string;
  readonly schema: JsonSchema | undefined;
  readonly depth: number;
}

/** Elements in an element: those named `item` are a list, others an object; undefined for anything else. */
function elementsOf(source: DialectSource, raw: string, { prefix, schema, depth }: Inside): Json | undefined {
  const members: (readonly [string, Json])[] = [];
  let rest = raw.trim();
  if (depth > DEEPEST || !rest.startsWith(`${prefix}<`)) return undefined;
  while (rest !== '') {
    const open = rest.startsWith(prefix)
      ? ELEMENT.exec(rest.slice(prefix.length, prefix.length + LONGEST_ELEMENT))
      : null;
    if (open?.[1] === undefined) return undefined;
    const [tag, name] = open;
    const start = prefix.length + tag.length;
    const closing = `${prefix}</${name}>`;
    const close = closeOf(rest, start, `${prefix}${tag}`, closing);
    if (close < 0) return undefined;
    const text = rest.slice(start, close);
    const member = memberSchema(schema, name);
    const inner = takesOnlyText(member, true)
      ? undefined
      : elementsOf(source, text, { prefix, schema: member, depth: depth + 1 });
    members.push([name, inner ?? textValue(source, { schema: member, raw: text, layout: 'none' })]);
    rest = rest.slice(close + closing.length).trim();
  }
  return asList(members, schema) ?? asObject(members);
}

/** Where the element that begins before `start` is closed, elements of the same name in it left out. */
function closeOf(text: string, start: number, open: string, closing: string): number {
  let close = text.indexOf(closing, start);
  for (let inner = text.indexOf(open, start); inner >= 0 && inner < close; inner = text.indexOf(open, inner + 1)) {
    close = text.indexOf(closing, close + 1);
  }
  return close;
}

function asList(members: readonly (readonly [string, Json])[], schema: JsonSchema | undefined): Json | undefined {
  const [first] = members;
  if (first === undefined || members.some(([name]) => name !== first[0])) return undefined;
  const named = first[0] === 'item' && !declares(schema, 'item');
  return named || members.length > 1 ? members.map(([, value]) => value) : undefined;
}

/** The members as an object; undefined where one of them stands twice. */
function asObject(members: readonly (readonly [string, Json])[]): Json | undefined {
  const out: Building = {};
  for (const [name, value] of members) {
    if (Object.hasOwn(out, name)) return undefined;
    setOwn(out, name, value);
  }
  return out;
}

function declares(schema: JsonSchema | undefined, name: string): boolean {
  return isJsonObject(schema) && isJsonObject(schema['properties']) && Object.hasOwn(schema['properties'], name);
}

/** What a schema says of an element in a value of it: one of its properties, or an item of a list. */
function memberSchema(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { properties, items } = schema;
  const found = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : items;
  if (isJsonObject(found) || typeof found === 'boolean') return found;
  const options = [schema['anyOf'], schema['oneOf']].flatMap((list) => (isList(list) ? list : []));
  for (const option of options) {
    const inOption = isJsonObject(option) ? memberSchema(option, name) : undefined;
    if (inOption !== undefined) return inOption;
  }
  return undefined;
}
