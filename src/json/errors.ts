import type { Json, JsonSchema } from './json.ts';

/** One thing that is wrong with a value. `path` is a JSON Pointer such as `/city/0`; the empty path is the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** How bad an escalation is. It only ever rises on its way up. */
export type Severity = 'low' | 'medium' | 'high' | 'critical';

/** The arguments could not be read as a JSON object, or were cut off by the model's length limit. */
export interface InvalidArgs {
  readonly kind: 'invalid-args';
  readonly tool?: string;
  readonly rawArgs: string;
  readonly parseError: string;
  readonly expectedSchema?: JsonSchema;
  /** The arguments were cut off; in a run, by the length limit: JSON left open for another reason merely cannot be read. */
  readonly truncated: boolean;
}

/** The arguments are JSON, but do not fit the tool's schema or its own check. */
export interface DeserializationError {
  readonly kind: 'deserialization';
  readonly tool?: string;
  readonly rawValue: Json;
  readonly issues: readonly Issue[];
  readonly expectedSchema?: JsonSchema;
  /** The tool's own `validateArgs` rejected them; otherwise they do not fit the schema. */
  readonly own?: boolean;
}

/** The tool ran and failed. `timedOut` and `outcomeUnknown` say that it is unknown whether its effect took place. */
export interface ExecutionError {
  readonly kind: 'execution';
  readonly tool?: string;
  readonly args: Json;
  readonly cause: { readonly name: string; readonly message: string; readonly code?: string };
  readonly timedOut: boolean;
  readonly outcomeUnknown?: boolean;
  /** How long the failed side asks to wait before another attempt, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The model named a tool that is not registered, or a name that fits several. */
export interface UnknownTool {
  readonly kind: 'unknown-tool';
  readonly name: string;
  readonly suggestions: readonly string[];
}

/** Something on the way (a step, a fixer, a child agent) declared that it cannot repair this. */
export interface EscalationError {
  readonly kind: 'escalation';
  readonly source: string;
  readonly reason: string;
  readonly severity: Severity;
  readonly originalError?: ToolError;
  readonly attempts: number;
}

/** All that can go wrong with a tool call, discriminated on `kind`; always JSON-safe. */
export type ToolError = InvalidArgs | DeserializationError | ExecutionError | UnknownTool | EscalationError;

/** Whether an error is of the class of this name in another copy of the package, as a workspace may hold two. */
export function isTwin(error: unknown, name: string, member: string): boolean {
  return error instanceof Error && error.name === name && Object.hasOwn(error, member);
}
