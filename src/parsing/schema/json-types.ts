import { isList } from '../../json/depth.ts';
import type { Json, JsonObject } from '../../json/json.ts';

/** The types that JSON Schema knows. */
type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

/** The type of a value; a number without a fraction is an integer, however it was written. */
export function typeOf(value: Json): JsonType {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    case 'string':
      return 'string';
    default:
      return 'object';
  }
}

/** True when a value of type `actual` is one where `wanted` is asked for. */
export function typeFits(actual: JsonType, wanted: Json | undefined): boolean {
  return actual === wanted || (actual === 'integer' && wanted === 'number');
}

const TYPES: ReadonlySet<Json> = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']);

/** The types that a schema names; undefined when it names none, or one that JSON Schema does not know, such as `any`. */
export function typesOf({ type }: JsonObject): readonly Json[] | undefined {
  const types = isList(type) ? type : [type ?? null];
  return types.length > 0 && types.every((one) => TYPES.has(one)) ? types : undefined;
}

/** Equality of JSON values: the order of keys does not matter, 1 and 1.0 are the same. */
export function jsonEquals(a: Json, b: Json, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || depth > 256) return false;
  if (isList(a))
    return isList(b) && a.length === b.length && a.every((item, i) => jsonEquals(item, b[i] ?? null, depth + 1));
  if (isList(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !jsonEquals(a[key] ?? null, b[key] ?? null, depth + 1)) return false;
  }
  return true;
}
