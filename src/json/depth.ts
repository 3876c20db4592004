import type { Json } from './json.ts';

/** True when no list or object in `value` is nested deeper than `limit`. Looks no deeper than that itself. */
export function isWithinDepth(value: Json, limit: number): boolean {
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
