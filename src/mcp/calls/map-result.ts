import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { ProtocolWarning } from '../wire/link.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import type { Issue } from '../../json/errors.ts';

const ALL_FOR_USER = 'The result is for the user alone, who has got it; nothing of it is for you.';

/**
 * Maps the result of `tools/call` to the result format. One text part is `data` as text; several parts, images, audio and
 * resources are a list of parts; structured content wins, and what is not text then stands in `parts`. `isError` makes it
 * an error with the text as its message. What the server intends only for the user (`annotations.audience`) is in
 * `forUser`, which no model receives. Never throws.
 */
export function mapResult(raw: JsonObject): ToolResult {
  const forUser = contentOf(raw).filter(isForUser).map(toPart);
  const parts = contentOf(raw)
    .filter((item) => !isForUser(item))
    .map(toPart);
  const kept = forUser.length === 0 ? {} : { forUser };
  const textOfPart = ({ type, text: own }: JsonObject): string | null =>
    type === 'text' && typeof own === 'string' ? own : null;
  const text = parts.flatMap((part) => textOfPart(part) ?? []).join('\n');
  const others = parts.filter((part) => textOfPart(part) === null);
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

interface Output {
  readonly tool: string;
  /** What the server answered. */
  readonly raw: JsonObject;
  readonly outputSchema: JsonSchema;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

/**
 * Checks the structured content of a result against the tool's output schema. A result that does not match is kept,
 * because the tool has run: it becomes `partial`, its message says what is wrong, and it is reported.
 */
export function checkStructured(result: ToolResult, { tool, raw, outputSchema, onWarning }: Output): ToolResult {
  if (result.status !== 'success') return result;
  const issues = brokenPromise(raw, outputSchema);
  if (issues === null) return result;
  const message = `The server broke its promise about the output of '${tool}' (${issues}). Take the data with care.`;
  onWarning({ kind: 'bad-result', message });
  return { ...result, status: 'partial', message };
}

function brokenPromise({ structuredContent }: JsonObject, schema: JsonSchema): string | null {
  if (structuredContent === undefined) return 'it has an output schema and gave no structured content';
  if (!isJsonObject(structuredContent)) return 'its structured content is not an object';
  const issues = issuesOf(structuredContent, schema);
  return issues.length === 0 ? null : issues.slice(0, MOST_ISSUES).map(textOf).join('; ');
}

const MOST_ISSUES = 3;

function textOf({ path, message }: Issue): string {
  return path === '' ? message : `${path}: ${message}`;
}
