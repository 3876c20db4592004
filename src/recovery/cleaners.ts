import type { Json } from '../json/json.ts';
import { recoverJson } from '../parsing/recover/recover-json.ts';
import { isJsonObject } from '../json/json.ts';

/** Takes Markdown fences off argument text; null when there are none. */
export function trimFences(text: string): string | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith('```') || !trimmed.endsWith('```') || trimmed.length < 6) return null;
  const firstLine = trimmed.indexOf('\n');
  return firstLine === -1 ? trimmed.slice(3, -3).trim() : trimmed.slice(firstLine + 1, -3).trim();
}

/** Takes commas away that stand before a closing bracket, outside of strings; null when there are none. */
export function trailingCommas(text: string): string | null {
  let result = '';
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (inString && char === '\\') {
      result += char + (text[++at] ?? '');
      continue;
    }
    if (char === '"') inString = !inString;
    if (char === ',' && !inString && /^\s*[}\]]/.test(text.slice(at + 1, at + 100))) continue;
    result += char;
  }
  return result === text ? null : result;
}

/** The parser's own repair of JSON; null when it finds no object, or only a part of one. */
export function repairJson(text: string): { readonly [key: string]: Json } | null {
  const recovered = recoverJson(text);
  return recovered.ok && recovered.complete && isJsonObject(recovered.value) ? recovered.value : null;
}

const DRIVE_OR_PATH = /^(?:[A-Za-z]:)?[^\s:]*\\[^\s:]*$/;

/** Turns backslashes into slashes in every string that looks like a path; null when there is none. */
export function normalizePathSeparators(value: Json): Json | null {
  const result = normalized(value);
  return JSON.stringify(result) === JSON.stringify(value) ? null : result;
}

function normalized(value: Json): Json {
  if (typeof value === 'string') return DRIVE_OR_PATH.test(value) ? value.replaceAll('\\', '/') : value;
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normalized(member)]));
  return typeof value === 'object' && value !== null ? value.map((item) => normalized(item)) : value;
}
