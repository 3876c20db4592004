import { isJsonObject, type Json, type JsonSchema } from '../../json/json.ts';
import { parseStrict, isList } from '../../json/depth.ts';
import type { DialectSource } from './dialect-source.ts';

const WORDS = new Map<string, Json>([
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
export interface RawValue {
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
  const word = WORDS.get(trimmed);
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
