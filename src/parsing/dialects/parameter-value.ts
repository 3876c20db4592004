import type { Json } from '../json.ts';
import { parseStrict } from '../strict-json.ts';

const WORDS = new Map<string, Json>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/**
 * The value of a parameter that stands as plain text between tags. What is JSON becomes its value; a number only when
 * it would be written back the same, so that `007` and `1.50` stay text until a schema asks for a number.
 */
export function parameterValue(raw: string, maxDepth: number): Json {
  const text = raw.replace(/^\r?\n/, '').replace(/\r?\n[ \t]*$/, '');
  const trimmed = text.trim();
  const word = WORDS.get(trimmed);
  if (word !== undefined) return word;
  const first = trimmed.charCodeAt(0);
  if (first === 34) return text;
  const parsed = parseStrict(trimmed, maxDepth);
  if (parsed === undefined) return text;
  return typeof parsed.value === 'number' && String(parsed.value) !== trimmed ? text : parsed.value;
}
