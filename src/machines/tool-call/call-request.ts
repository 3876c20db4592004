import type { Spent } from '../contract/run-result.ts';
import { digest } from '../../json/digest.ts';
import type { ToolError } from '../../json/errors.ts';
import { type Json, type JsonObject, isJsonObject, utf8Bytes } from '../../json/json.ts';
import type { Denial } from '../../tools/error-text.ts';
import { lookUp } from '../../tools/lookup.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { ToolSpec } from '../../tools/spec.ts';

/** A call that the model asked for, in a reply or as a step of a plan. */
export interface CallRequest {
  /** Ours, unique in the run. */
  readonly callId: string;
  /** The name as the model wrote it. */
  readonly tool: string;
  readonly args: Json;
  /** Set if the arguments could not be read, or were cut off: such a call never runs. */
  readonly unreadable: { readonly raw: string; readonly reason: string; readonly truncated: boolean } | null;
  /** The id under which the conversation knows this call; null where there are no native tool calls. */
  readonly toolCallId: string | null;
}

/** How a call ended. Every call of a reply has exactly one outcome. */
export type CallOutcome =
  | (CallEnd & { readonly kind: 'tool.succeeded' })
  | (CallEnd & { readonly kind: 'tool.failed'; readonly error: ToolError })
  | (CallEnd & { readonly kind: 'tool.denied'; readonly denial: Denial })
  | (CallEnd & { readonly kind: 'tool.escalated'; readonly error: ToolError })
  | (CallEnd & { readonly kind: 'tool.thrown'; readonly reason: string });

interface CallEnd {
  readonly callId: string;
  /** The registered name, or the model's where none fits. */
  readonly tool: string;
  readonly args: Json;
  readonly result: ToolResult;
  /** The tool's function was called at least once. */
  readonly ran: boolean;
  /** What agents below this call used; left out where there was none. */
  readonly spent?: Spent;
}

const RAW_KEPT = 1000;

/** A call with arguments beyond the limit is one that cannot be read. */
export function boundedCall(call: CallRequest, maxBytes: number): CallRequest {
  const raw = call.unreadable === null ? JSON.stringify(call.args) : '';
  // A character has three bytes at most.
  if (3 * raw.length <= maxBytes || utf8Bytes(raw) <= maxBytes) return call;
  const reason = `they are larger than the limit of ${maxBytes} bytes`;
  return { ...call, args: null, unreadable: { raw: raw.slice(0, RAW_KEPT), reason, truncated: false } };
}

/** The same for the same tool with the same arguments, whatever the order of their keys. */
export function callKey(tools: readonly ToolSpec[], request: CallRequest): string {
  const found = lookUp(tools, request.tool);
  const name = found.ok ? found.spec.name : request.tool;
  return `${name}(${request.unreadable === null ? digest(request.args) : `?${digest(request.unreadable.raw)}`})`;
}

/** True for a tool that is made to be asked again and again. */
export function isPolling(tools: readonly ToolSpec[], request: CallRequest): boolean {
  const found = lookUp(tools, request.tool);
  return found.ok && found.spec.polling;
}

/** The arguments as an object, which they are once they were checked. */
export function asArguments(args: Json): JsonObject {
  return isJsonObject(args) ? args : {};
}
