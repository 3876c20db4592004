import type { Json } from './json.ts';

/** An object under construction. */
export type Building = Record<string, Json>;

/** Sets a property of the object itself, whatever its name: `__proto__` becomes a plain key, as in `JSON.parse`. */
export function setOwn(target: Building, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}
