/** Reading what models write: replies, JSON and tool-call arguments, however broken. No Node imports. */
import '../platform.ts';
export { parseReply } from './reply/parse-reply.ts';
export type { ParseReplyOptions, TextCalls } from './reply/reply-source.ts';
export { recoverJson, type RecoverJsonOptions } from './recover/recover-json.ts';
export type { RecoveredJson } from './recover/read-values.ts';
export { createReplyStream, type PartialReply, type ReplyStream } from './stream/reply-stream.ts';
export { checkArguments, parseToolCallArguments, recoverArguments } from './calls/arguments.ts';
export type { CheckedArguments, ToolCallArguments } from './calls/arguments.ts';
export type { Limits, Repair } from './repair/repairs.ts';
export type { ToolName } from './calls/registered-tools.ts';
export type { SchemaLike } from './schema/schema-like.ts';
export { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../json/json.ts';
export type {
  DeserializationError,
  EscalationError,
  ExecutionError,
  InvalidArgs,
  Issue,
  Severity,
  ToolError,
  UnknownTool,
} from '../json/errors.ts';
export type { PlanStep, ToolCallRequest } from './calls/call-forms.ts';
export type { Reply, Strategy } from './reply/envelope.ts';
