import { isList } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';

/** The arguments with every placeholder replaced, or the first placeholder that names nothing. */
export type Resolved = { readonly ok: true; readonly args: Json } | { readonly ok: false; readonly reason: string };

const PLACEHOLDER = /^\$(?:PREV|STEP_(\d+))\.(.+)$/s;

/**
 * Puts results of earlier steps into a step's arguments: a whole string `$PREV.field` or `$STEP_n.field` (from 0), at any
 * depth, becomes the value itself, its type kept. What is put in is not scanned again.
 */
export function resolvePlaceholders(args: Json, results: readonly ToolResult[]): Resolved {
  try {
    return { ok: true, args: resolve(args, results) };
  } catch (error) {
    if (error instanceof Unresolved) return { ok: false, reason: error.message };
    throw error;
  }
}

class Unresolved extends Error {}

function resolve(value: Json, results: readonly ToolResult[]): Json {
  if (typeof value === 'string') return resolveText(value, results);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((item) => resolve(item, results));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member, results)]));
}

function resolveText(text: string, results: readonly ToolResult[]): Json {
  const match = PLACEHOLDER.exec(text);
  if (match === null) return text;
  const [, step, field = ''] = match;
  const index = step === undefined ? results.length - 1 : Number(step);
  const result = results[index];
  if (result === undefined) {
    throw new Unresolved(
      `${text} names the result of a step that has not run; ${results.length} step(s) have, counted from 0`,
    );
  }
  const found = fieldOf(result, field);
  if (found === undefined) throw new Unresolved(`${text} names nothing: the result has ${fieldsOf(result)}`);
  return found;
}

/** Looks in `data`, then in the result itself. The field is one flat key. */
function fieldOf(result: ToolResult, field: string): Json | undefined {
  const { data } = result;
  if (isJsonObject(data) && Object.hasOwn(data, field)) return data[field];
  return Object.hasOwn(result, field) ? result[field] : undefined;
}

function fieldsOf(result: ToolResult): string {
  const keys = [...(isJsonObject(result.data) ? Object.keys(result.data) : []), ...Object.keys(result)];
  return `the fields ${[...new Set(keys)].slice(0, 20).join(', ')}`;
}
