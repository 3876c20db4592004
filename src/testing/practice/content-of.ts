import { isJsonObject, type JsonObject } from '../../json/json.ts';

/** A message's text, whichever form it has. */
export function contentOf(message: JsonObject | undefined): string {
  const content: unknown = message?.['content'];
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n');
}
