import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { FitContext } from './fit-context.ts';
import { jsonEquals } from './json-types.ts';

/** Checks what limits a value without changing it: ranges, lengths, counts, patterns, uniqueness. */
export function checkBounds(value: Json, schema: JsonObject, context: FitContext): void {
  if (typeof value === 'number') checkNumber(value, schema, context);
  else if (typeof value === 'string') checkString(value, schema, context);
  else if (isList(value)) checkList(value, schema, context);
  else if (isJsonObject(value)) checkCount(value, schema, context);
}

function bound(schema: JsonObject, key: string): number | undefined {
  const found = schema[key];
  return typeof found === 'number' ? found : undefined;
}

function checkNumber(value: number, schema: JsonObject, context: FitContext): void {
  const min = bound(schema, 'minimum');
  const max = bound(schema, 'maximum');
  const above = bound(schema, 'exclusiveMinimum') ?? (schema['exclusiveMinimum'] === true ? min : undefined);
  const below = bound(schema, 'exclusiveMaximum') ?? (schema['exclusiveMaximum'] === true ? max : undefined);
  if (min !== undefined && value < min) context.issue(`must be at least ${min}, got ${value}`);
  if (max !== undefined && value > max) context.issue(`must be at most ${max}, got ${value}`);
  if (above !== undefined && value <= above) context.issue(`must be more than ${above}, got ${value}`);
  if (below !== undefined && value >= below) context.issue(`must be less than ${below}, got ${value}`);
  const step = bound(schema, 'multipleOf');
  if (step !== undefined && step > 0 && !isMultiple(value, step))
    context.issue(`must be a multiple of ${step}, got ${value}`);
}

/** 0.3 is a multiple of 0.1, whatever binary fractions say. */
function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0;
  const ratio = value / step;
  return Math.abs(ratio - Math.round(ratio)) <= 4 * Number.EPSILON * Math.max(1, Math.abs(ratio));
}

function checkString(value: string, schema: JsonObject, context: FitContext): void {
  const min = bound(schema, 'minLength');
  const max = bound(schema, 'maxLength');
  if (min !== undefined || max !== undefined) {
    const length = countCharacters(value);
    if (min !== undefined && length < min) context.issue(`must have at least ${min} characters, has ${length}`);
    if (max !== undefined && length > max) context.issue(`must have at most ${max} characters, has ${length}`);
  }
  const pattern = schema['pattern'];
  if (typeof pattern === 'string' && !matchesPattern(pattern, value))
    context.issue(`must match the pattern ${pattern}`);
}

/** JSON Schema counts code points, not UTF-16 units. */
function countCharacters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) count -= 1;
  }
  return count;
}

function checkList(value: readonly Json[], schema: JsonObject, context: FitContext): void {
  const min = bound(schema, 'minItems');
  const max = bound(schema, 'maxItems');
  if (min !== undefined && value.length < min) context.issue(`must have at least ${min} items, has ${value.length}`);
  if (max !== undefined && value.length > max) context.issue(`must have at most ${max} items, has ${value.length}`);
  if (schema['uniqueItems'] === true && hasTwins(value)) context.issue('must not hold the same item twice');
}

function hasTwins(items: readonly Json[]): boolean {
  const scalars = new Set<Json>();
  const others: Json[] = [];
  for (const item of items) {
    if (typeof item === 'object' && item !== null) {
      if (others.length < 500 && others.some((other) => jsonEquals(other, item))) return true;
      others.push(item);
    } else if (scalars.has(item)) return true;
    else scalars.add(item);
  }
  return false;
}

function checkCount(value: JsonObject, schema: JsonObject, context: FitContext): void {
  const min = bound(schema, 'minProperties');
  const max = bound(schema, 'maxProperties');
  if (min === undefined && max === undefined) return;
  const count = Object.keys(value).length;
  if (min !== undefined && count < min) context.issue(`must have at least ${min} properties, has ${count}`);
  if (max !== undefined && count > max) context.issue(`must have at most ${max} properties, has ${count}`);
}

/**
 * Describes how a text breaks the `format` of its schema, for the four formats of elicitation: `email`, `uri`, `date`,
 * `date-time`. Null when it does not, and for formats that are not known.
 */
export function formatProblem(value: Json, schema: Json | undefined): string | null {
  if (typeof value !== 'string' || !isJsonObject(schema)) return null;
  switch (schema.format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(value) ? null : 'expected an e-mail address';
    case 'uri':
      return URL.canParse(value) ? null : 'expected an address such as https://example.com';
    case 'date':
      return isDate(value) ? null : 'expected a date such as 2026-01-31';
    case 'date-time':
      return isDateTime(value) ? null : 'expected a time such as 2026-01-31T09:00:00Z';
    default:
      return null;
  }
}

const HOUR = '(?:[01]\\d|2[0-3])';
/** A minute may have a leap second. */
const DATE_TIME = new RegExp(`^(.{10})[Tt ]${HOUR}:[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-]${HOUR}:[0-5]\\d)$`);

/** `2026-02-30` has the form of a date and is not one. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const isDateTime = (text: string): boolean => isDate(DATE_TIME.exec(text)?.[1] ?? '');

/** Patterns are compiled once; a schema has few of them. */
const compiled = new Map<string, Pattern>();
const MOST_PATTERNS = 500;

interface Pattern {
  readonly regex: RegExp | undefined;
  /** The longest text on which the expression surely ends in time. */
  readonly maxLength: number;
}

/**
 * True when the text matches the pattern of a schema. Patterns that are invalid, or that could run forever on this text,
 * are not applied: they count as matched, because a model cannot correct a schema's mistakes.
 */
export function matchesPattern(source: string, text: string): boolean {
  const { regex, maxLength } = compile(source);
  if (regex === undefined || text.length > maxLength) return true;
  return regex.test(text);
}

function compile(source: string): Pattern {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const pattern = analyse(source);
  if (compiled.size >= MOST_PATTERNS) compiled.clear();
  compiled.set(source, pattern);
  return pattern;
}

function analyse(source: string): Pattern {
  const regex = toRegExp(source);
  if (regex === undefined || source.length > 2_000) return { regex: undefined, maxLength: 0 };
  const { unbounded, nested } = countQuantifiers(source);
  if (nested) return { regex, maxLength: 20 };
  const degree = unbounded + (source.startsWith('^') ? 0 : 1);
  return { regex, maxLength: degree <= 1 ? 1_000_000 : degree === 2 ? 5_000 : degree === 3 ? 300 : 60 };
}

function toRegExp(source: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags);
    } catch {
      // An expression of another dialect may still be one without the flag.
    }
  }
  return undefined;
}

/** Counts `*`, `+` and `{n,}`, and says whether one stands inside a group that is itself repeated. */
function countQuantifiers(source: string): { readonly unbounded: number; readonly nested: boolean } {
  const groups: boolean[] = [];
  let unbounded = 0;
  let nested = /\\[1-9]|\\k</.test(source);
  let current = false;
  for (let i = 0; i < source.length; i += 1) {
    const char = source[i];
    if (char === '\\') i += 1;
    else if (char === '[') i = classEnd(source, i);
    else if (char === '(') {
      groups.push(current);
      current = false;
    } else if (char === ')') {
      const repeated = isRepeated(source, i + 1);
      const inside: boolean = current;
      if (repeated && inside) nested = true;
      current = (groups.pop() ?? false) || inside;
    } else if (char === '|') current = current || groups.length > 0;
    else if (isUnbounded(source, i)) {
      unbounded += 1;
      current = true;
    }
  }
  return { unbounded, nested };
}

function classEnd(source: string, at: number): number {
  let i = at + 1;
  if (source[i] === '^') i += 1;
  if (source[i] === ']') i += 1;
  while (i < source.length && source[i] !== ']') i += source[i] === '\\' ? 2 : 1;
  return i;
}

function isUnbounded(source: string, at: number): boolean {
  const char = source[at];
  return char === '*' || char === '+' || (char === '{' && /^\{\d+,(?:\d{3,})?\}/.test(source.slice(at, at + 20)));
}

function isRepeated(source: string, at: number): boolean {
  return isUnbounded(source, at) || /^\{\d*[2-9]\d*|^\{\d{2}/.test(source.slice(at, at + 8));
}
