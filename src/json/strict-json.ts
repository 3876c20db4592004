import { isWithinDepth } from './depth.ts';
import type { Json } from './json.ts';

/** Valid JSON, exactly as `JSON.parse` reads it; undefined for anything else and for what is nested too deep. */
export function parseStrict(text: string, maxDepth: number): { readonly value: Json } | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isWithinDepth(value, maxDepth) ? { value } : undefined;
  } catch {
    return undefined;
  }
}
