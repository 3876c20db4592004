import type { Json, JsonObject } from '../../src/parsing/index.ts';
import { isJsonObject } from '../../src/parsing/index.ts';

/** How a value is written down. The default writes indented JSON; a damage model changes what it damages. */
export interface Style {
  readonly string: (text: string) => string;
  readonly key: (key: string) => string;
  readonly literal: (value: null | boolean | number) => string;
  readonly colon: string;
  readonly comma: (index: number, inList: boolean) => string;
  readonly open: string;
  readonly newline: string;
  readonly indent: string;
  /** What stands before a closer, after the last item. */
  readonly last: string;
  /** What stands behind the last item of a list. */
  readonly lastItem: string;
}

export const JSON_STYLE: Style = {
  string: (text) => JSON.stringify(text),
  key: (key) => JSON.stringify(key),
  literal: (value) => JSON.stringify(value),
  colon: ': ',
  comma: () => ',',
  open: '',
  newline: '\n',
  indent: '  ',
  last: '',
  lastItem: '',
};

/** Writes a value in a style. */
export function printJson(value: Json, changes: Partial<Style> = {}): string {
  return print(value, { ...JSON_STYLE, ...changes }, 0);
}

function print(value: Json, style: Style, depth: number): string {
  if (typeof value === 'string') return style.string(value);
  if (typeof value !== 'object' || value === null) return style.literal(value);
  const inside = style.newline + style.indent.repeat(depth + 1);
  const after = style.newline + style.indent.repeat(depth);
  const isObject = isJsonObject(value);
  const items = isObject ? members(value, style, depth) : value.map((item) => print(item, style, depth + 1));
  if (items.length === 0) return isObject ? '{}' : '[]';
  const body = items.map((item, i) => item + (i < items.length - 1 ? style.comma(i, !isObject) : '')).join(inside);
  const tail = style.last + (isObject ? '' : style.lastItem);
  return `${isObject ? '{' : '['}${style.open}${inside}${body}${tail}${after}${isObject ? '}' : ']'}`;
}

function members(value: JsonObject, style: Style, depth: number): readonly string[] {
  return Object.entries(value).map(([key, member]) => style.key(key) + style.colon + print(member, style, depth + 1));
}

/** How Python writes a text: single quotes unless it holds one and no double quote. */
export function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r');
  return quote + escaped.replaceAll(quote, `\\${quote}`) + quote;
}

/** How Python writes what is neither text nor container. */
export function pythonLiteral(value: null | boolean | number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}
