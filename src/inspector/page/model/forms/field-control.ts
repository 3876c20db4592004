import { type JsonObject, type Json, isJsonObject } from '../../../../json/json.ts';
import { typesOf } from '../../../../parsing/schema/json-types.ts';

/** What a member of a form is filled in with. `json` takes everything that the others do not. */
export type Control = 'text' | 'long' | 'date' | 'number' | 'check' | 'choice' | 'json';

const LONG_TEXT = 160;

/** What a value of this schema is filled in with, where it is none of a few choices. */
export function controlOf(schema: JsonObject): Control {
  const [type, more] = typesOf(schema) ?? [];
  if (more !== undefined || 'anyOf' in schema || 'oneOf' in schema || 'allOf' in schema) return 'json';
  if (type === 'boolean') return 'check';
  if (type === 'number' || type === 'integer') return 'number';
  if (type !== 'string') return 'json';
  if (schema.format === 'date') return 'date';
  const { minLength, maxLength, contentMediaType } = schema;
  const long = [minLength, maxLength].some((length) => typeof length === 'number' && length >= LONG_TEXT);
  return long || contentMediaType !== undefined ? 'long' : 'text';
}

/** What may be put into a field, in words; empty where the control says it. */
export function fieldHint(schema: JsonObject, control: Control, nullable: boolean): string {
  const or = nullable && control !== 'choice' ? ['or null'] : [];
  return [...wordsOf(schema, control), ...or].join(', ');
}

function wordsOf(schema: JsonObject, control: Control): readonly string[] {
  switch (control) {
    case 'number':
      return [schema.type === 'integer' ? 'whole number' : 'number', ...range(schema), ...steps(schema.multipleOf)];
    case 'text':
    case 'long':
      return [...format(schema.format), ...lengths(schema)];
    case 'json':
      return [jsonWords(schema)];
    case 'date':
    case 'check':
    case 'choice':
      return [];
  }
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): readonly string[] {
  const least = meant(minimum);
  const most = meant(maximum);
  const above = meant(exclusiveMinimum);
  const below = meant(exclusiveMaximum);
  if (least !== null && most !== null) return [`${least} to ${most}`];
  return [
    ...(least === null ? [] : [`at least ${least}`]),
    ...(above === null ? [] : [`more than ${above}`]),
    ...(most === null ? [] : [`at most ${most}`]),
    ...(below === null ? [] : [`less than ${below}`]),
  ];
}

/** Null for no bound, and for one that only says what a number can hold. */
function meant(bound: Json | undefined): number | null {
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : null;
}

function steps(multipleOf: Json | undefined): readonly string[] {
  return typeof multipleOf === 'number' && multipleOf !== 1 ? [`in steps of ${multipleOf}`] : [];
}

const FORMATS: { readonly [format: string]: string } = {
  email: 'e-mail address',
  uri: 'address such as https://example.com',
  'date-time': 'time such as 2026-01-31T09:00:00Z',
  uuid: 'UUID',
};

function format(name: Json | undefined): readonly string[] {
  if (typeof name !== 'string') return [];
  return [Object.hasOwn(FORMATS, name) ? (FORMATS[name] ?? name) : name];
}

function lengths({ minLength, maxLength }: JsonObject): readonly string[] {
  const least = typeof minLength === 'number' && minLength > 1 ? minLength : null;
  const most = meant(maxLength);
  if (least !== null && most !== null)
    return [least === most ? `${most} characters` : `${least} to ${most} characters`];
  if (most !== null) return [`at most ${most} characters`];
  return least === null ? [] : [`at least ${least} characters`];
}

const PLURALS: { readonly [type: string]: string } = {
  string: 'texts',
  number: 'numbers',
  integer: 'whole numbers',
  boolean: 'booleans',
  object: 'objects',
};

function jsonWords(schema: JsonObject): string {
  const [type, more] = typesOf(schema) ?? [];
  if (more !== undefined) return 'JSON';
  if (type === 'object') return 'object, as JSON';
  if (type !== 'array') return 'JSON';
  const item = isJsonObject(schema.items) ? schema.items.type : undefined;
  const items = typeof item === 'string' && Object.hasOwn(PLURALS, item) ? ` of ${PLURALS[item]}` : '';
  return `list${items}, as JSON`;
}
