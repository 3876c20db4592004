import { type Json, isJsonObject } from '../../../json/json.ts';

/** A text member of a JSON value; empty where there is none. */
export function textAt(value: Json | undefined, key: string): string {
  const member = isJsonObject(value) ? value[key] : undefined;
  return typeof member === 'string' ? member : '';
}
