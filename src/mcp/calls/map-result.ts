import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';

const ALL_FOR_USER = 'The result is for the user alone, who has got it; nothing of it is for you.';

/**
 * Maps the result of `tools/call` to the result format. One text part is `data` as text; several parts, images, audio and
 * resources are a list of parts; structured content wins, and what is no text then stands in `parts`. `isError` makes it
 * an error with the text as its words. What the server wants only the user to have (`annotations.audience`) stands in
 * `forUser`, which no model is told. Never throws.
 */
export function mapResult(raw: JsonObject): ToolResult {
  const forUser = contentOf(raw).filter(isForUser).map(toPart);
  const parts = contentOf(raw)
    .filter((item) => !isForUser(item))
    .map(toPart);
  const kept = forUser.length === 0 ? {} : { forUser };
  const text = parts
    .flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n');
  const others = parts.filter((part) => part.type !== 'text');
  if (raw.isError === true) {
    const data = raw.structuredContent ?? (others.length === 0 ? undefined : others);
    const wordless = forUser.length === 0 ? 'the tool reported an error without a message' : ALL_FOR_USER;
    return { status: 'error', error: text === '' ? wordless : text, ...(data === undefined ? {} : { data }), ...kept };
  }
  if (raw.structuredContent !== undefined) {
    const { structuredContent: data } = raw;
    return { status: 'success', data, ...(others.length === 0 ? {} : { parts: others }), ...kept };
  }
  // Servers of the first protocol version answer so.
  if (raw.toolResult !== undefined) return { status: 'success', data: raw.toolResult };
  if (parts.length === 0)
    return { status: 'success', ...(forUser.length === 0 ? {} : { message: ALL_FOR_USER, forUser }) };
  return { status: 'success', data: parts.length === 1 && others.length === 0 ? text : parts, ...kept };
}

function contentOf(raw: JsonObject): readonly Json[] {
  return isList(raw.content) ? raw.content : [];
}

function isForUser(item: Json): boolean {
  const annotations = isJsonObject(item) ? item.annotations : undefined;
  const audience = isJsonObject(annotations) ? annotations.audience : undefined;
  return audience !== undefined && isList(audience) && audience.length > 0 && !audience.includes('assistant');
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
