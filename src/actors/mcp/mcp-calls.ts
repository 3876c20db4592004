import type { JsonObject, JsonSchema } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Effects } from '../../tools/spec.ts';
import type { Usage } from '../model.ts';

/** MCP's hints about a tool. They are the server's claims, not proofs. */
export interface McpToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as an MCP server lists it. */
export interface McpTool {
  readonly name: string;
  /** The name for people, where the server gives one. */
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Whether a call of it runs as a task. Absent: never. */
  readonly taskSupport?: 'optional' | 'required';
  readonly annotations?: McpToolAnnotations;
}

/** How a call can fail before there is a result. `unknown-outcome`: it may or may not have been carried out. */
export type McpErrorCode =
  | 'not-connected'
  | 'lost-before-send'
  | 'unknown-outcome'
  | 'timeout'
  | 'cancelled'
  | 'protocol-error'
  | 'auth-required'
  | 'login-required'
  | 'insufficient-scope'
  | 'auth-failed'
  | 'forbidden'
  | 'spawn-failed'
  | 'queue-full'
  | 'limit-exceeded'
  | 'page-required';

/**
 * A failed MCP request: a stable `code`, and the server it concerns. `data` is JSON with more: `stderr` (the
 * last 64 KB that a stdio server wrote), `status` of an HTTP answer, `exitCode`, `rpcCode`.
 */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly code: McpErrorCode;
  readonly server: string;
  readonly data: JsonObject;

  constructor(code: McpErrorCode, server: string, message: string, cause?: unknown, data: JsonObject = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.server = server;
    this.data = data;
  }
}

/** What a server asked while a call was under way, and what it was answered. */
export type McpQuestion =
  | {
      readonly phase: 'asked';
      readonly kind: 'elicitation' | 'sampling';
      readonly server: string;
      readonly message: string;
      /** The page that a person is to open, and its origin, where that is what it asks. */
      readonly url?: string;
      readonly origin?: string;
    }
  | {
      readonly phase: 'answered';
      readonly kind: 'elicitation' | 'sampling';
      readonly server: string;
      readonly action: 'accept' | 'decline' | 'cancel';
      /** What was sent to the server with `accept`; secrets that were typed are replaced by marks. */
      readonly content: JsonObject;
      readonly usage: Usage | null;
    };

/** The part of MCP that the leaf for tool calls uses. Rejects with an {@link McpError}; a tool's own error is a result. */
export interface McpCalls {
  callTool(
    server: string,
    tool: string,
    args: JsonObject,
    io: {
      readonly signal: AbortSignal;
      readonly timeoutMs?: number;
      /** What repeating the call would do, as far as the run knows: its server may not list the tool any more. */
      readonly effects?: Effects;
      /** The trace that the run belongs to. */
      readonly traceparent?: string;
      readonly onProgress?: (progress: {
        readonly progress: number;
        readonly total?: number;
        readonly message?: string;
      }) => void;
      /** Receives the server's questions during the call, and their answers. */
      readonly onQuestion?: (question: McpQuestion) => void;
      /** Receives secrets that a person typed during the call: they must not appear anywhere. */
      readonly onHidden?: (text: string) => void;
    },
  ): Promise<ToolResult>;
}
