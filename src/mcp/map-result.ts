import { type Json, type JsonObject, isJsonObject } from '../parsing/json.ts';
import type { ToolResult } from '../tools/result.ts';

/**
 * Maps the result of `tools/call` to the result format. One text part is `data` as text; several parts, images, audio and
 * resources are a list of parts; structured content wins, and what is no text then stands in `parts`. `isError` makes it
 * an error with the text as its words. Never throws.
 */
export function mapResult(raw: JsonObject): ToolResult {
  const parts = contentOf(raw).map(toPart);
  const text = parts
    .flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n');
  const others = parts.filter((part) => part.type !== 'text');
  if (raw.isError === true) {
    const data = raw.structuredContent ?? (others.length === 0 ? undefined : others);
    const error = text === '' ? 'the tool reported an error without a message' : text;
    return { status: 'error', error, ...(data === undefined ? {} : { data }) };
  }
  if (raw.structuredContent !== undefined) {
    return { status: 'success', data: raw.structuredContent, ...(others.length === 0 ? {} : { parts: others }) };
  }
  // Servers of the first protocol version answer so.
  if (raw.toolResult !== undefined) return { status: 'success', data: raw.toolResult };
  if (parts.length === 0) return { status: 'success' };
  return { status: 'success', data: parts.length === 1 && others.length === 0 ? text : parts };
}

function contentOf(raw: JsonObject): readonly Json[] {
  return isList(raw.content) ? raw.content : [];
}

/** One part of a result as data: the protocol's own form without what only clients with a screen need. */
function toPart(item: Json): JsonObject {
  if (!isJsonObject(item)) return { type: 'unknown', value: item };
  if (item.type === 'resource' && isJsonObject(item.resource)) return { type: 'resource', ...item.resource };
  const { _meta, annotations: _annotations, ...part } = item;
  return part;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
