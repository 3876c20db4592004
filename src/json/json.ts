/** Any value that survives `JSON.stringify` and `JSON.parse` unchanged: what crosses every boundary of Signalbox. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A JSON Schema (2020-12 or draft 7) as plain data. `true` allows everything, `false` nothing. */
export type JsonSchema = JsonObject | boolean;

/** True for a JSON object: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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

/** The value of a JSON text; undefined for any other text. */
export function parsedText(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
