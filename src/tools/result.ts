import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';

/** What a tool call gives. A bare value that a tool returns becomes the `data` of a success. */
export interface ToolResult {
  readonly status: 'success' | 'error' | 'partial';
  readonly message?: string;
  readonly data?: Json;
  /** What the model should do next. */
  readonly instruction?: string;
  readonly error?: string;
  readonly suggestion?: string;
  readonly [extra: string]: Json | undefined;
}

const STATUSES: ReadonlySet<unknown> = new Set(['success', 'error', 'partial']);

/** The one predicate of what an error is: status `error`, a bare `{ error }`, or MCP's `isError`. */
export function isErrorResult(value: Json | ToolResult): boolean {
  if (!isJsonObject(value)) return false;
  if (value.status === 'error' || value.isError === true) return true;
  return value.status === undefined && typeof value.error === 'string' && value.error !== '';
}

/** Brings whatever a tool returned into the result format. Never throws. */
export function toToolResult(value: Json): ToolResult {
  if (!isJsonObject(value)) return { status: 'success', data: value };
  if (isToolResult(value)) return value;
  if (isErrorResult(value)) return { ...value, status: 'error', error: errorText(value) };
  return { status: 'success', data: value };
}

function isToolResult(value: JsonObject): value is JsonObject & ToolResult {
  return STATUSES.has(value.status);
}

function errorText(value: JsonObject): string {
  if (typeof value.error === 'string') return value.error;
  if (typeof value.message === 'string') return value.message;
  return 'the tool reported an error without a message';
}
