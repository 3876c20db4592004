import type { Json } from './json.ts';

/** True when no list or object in `value` is nested deeper than `limit`. Looks no deeper than that itself. */
function isWithinDepth(value: Json, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (limit <= 0) return false;
  if (isList(value)) {
    for (const item of value) if (typeof item === 'object' && !isWithinDepth(item, limit - 1)) return false;
    return true;
  }
  for (const key in value) {
    const member = value[key];
    if (typeof member === 'object' && !isWithinDepth(member, limit - 1)) return false;
  }
  return true;
}

/** `Array.isArray` for JSON values, which TypeScript does not narrow when lists are readonly. */
export function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** Valid JSON, exactly as `JSON.parse` reads it; undefined for anything else and for what is nested too deep. */
export function parseStrict(text: string, maxDepth: number): { readonly value: Json } | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isWithinDepth(value, maxDepth) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** True for what JSON can hold: no dates, functions, cycles or infinities, and nothing nested deeper than `depth`. */
export function isJson(value: unknown, depth: number): value is Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth <= 0) return false;
  if (isList(value)) return value.every((item) => isJson(item, depth - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).every((member) => isJson(member, depth - 1));
}
