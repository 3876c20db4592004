import { isJsonObject } from '../../json/json.ts';
import type { Finished } from './scene.ts';

const MAX_LINES = 20;
const MAX_CHARS = 1200;

/** One sentence, or a quotation, that reports the outcome of a call. */
export function phraseResult({ tool, result }: Finished): string {
  if (!result.ok) return `\`${tool}\` failed: ${sentence(result.text)}`;
  const { data, text } = result;
  if (text.trim() === '' || text === 'null' || text === '{}' || text === '[]')
    return `\`${tool}\` came back with nothing.`;
  if (isJsonObject(data)) return `\`${tool}\` says: ${sentence(phraseObject(data))}`;
  if (Array.isArray(data))
    return `\`${tool}\` lists ${String(data.length)}: ${sentence(data.map(phraseValue).join('; '))}`;
  if (!text.trim().includes('\n')) return `\`${tool}\` says: ${sentence(text)}`;
  return `\`${tool}\` gave:\n${firstLines(text, MAX_LINES)}\nThat is all it gave.`;
}

/** The first lines of a text, with a word on how many are left out. */
export function firstLines(text: string, count: number): string {
  const lines = text.trimEnd().split('\n');
  const shown = lines.slice(0, count).join('\n').slice(0, MAX_CHARS);
  return lines.length > count ? `${shown}\n… and ${String(lines.length - count)} more lines` : shown;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1) ?? ''}`;
}

function phraseObject(value: { readonly [key: string]: unknown }): string {
  return Object.entries(value)
    .map(([key, inner]) => `${key} ${phraseValue(inner)}`)
    .join(', ');
}

function phraseValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isJsonObject(value)) return `(${phraseObject(value)})`;
  return Array.isArray(value) ? value.map(phraseValue).join('; ') : JSON.stringify(value);
}

function sentence(text: string): string {
  const short = text.trim().slice(0, MAX_CHARS);
  return /[.!?]$/.test(short) ? short : `${short}.`;
}
