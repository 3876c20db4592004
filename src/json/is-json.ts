import { isList } from './depth.ts';
import type { Json } from './json.ts';

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
