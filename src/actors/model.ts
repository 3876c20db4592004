import { isTwin } from '../json/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../json/json.ts';

/**
 * A piece of a message. Images and files (documents, audio) are sent to models that take them; `url` is a `data:` address,
 * or one that the server can read.
 */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly filename?: string };

/** A tool call inside an assistant message, as the model wrote it. */
export interface MessageToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/**
 * What a model needs back, unchanged, with the message that its reply became: reasoning, signatures. Only that model
 * understands it, and it is never sent to another one.
 */
export interface ProviderState {
  /** The `id` of the model that it belongs to. */
  readonly model: string;
  readonly data: Json;
}

/** One message of a conversation. `toolCallId` and `name` belong to the role `tool`, `providerState` to `assistant`. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly Part[];
  readonly toolCalls?: readonly MessageToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
  readonly providerState?: ProviderState;
}

/** What a model receives about a tool. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** How tool calls travel: as the protocol's own `tool_calls`, or as a JSON envelope in the reply's text. */
export type ToolCalling = 'native' | 'json';

/** One request to a model. The system prompt is its first and only `system` message. */
export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly toolCalling: ToolCalling;
  /** Native mode only; absent or empty: no tools are offered. */
  readonly tools?: readonly ModelTool[];
  readonly parallelToolCalls?: boolean;
  /** The schema of the reply's text, for servers that can enforce one: of the envelope in json mode, else of the answer. */
  readonly responseSchema?: JsonObject;
  /** The server is to enforce all of `responseSchema`, if it can; absent: it is a hint. */
  readonly strictSchema?: boolean;
  readonly stream: boolean;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** Tokens that a reply cost. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** The part of `inputTokens` that was read from a cache; absent if the server does not report it. */
  readonly cachedInputTokens?: number;
  /** The part of `outputTokens` that was spent on reasoning; absent if the server does not report it. */
  readonly reasoningTokens?: number;
}

/** Speed figures, where the server gives them or they could be measured. Times in milliseconds. */
export interface ReplyStats {
  readonly timeToFirstTokenMs?: number;
  readonly tokensPerSecond?: number;
}

/** A model's reply. Empty or absent `arguments` mean `{}`; a missing `id` is made up by the machine. */
export interface ModelReply {
  readonly content: string;
  readonly toolCalls?: readonly {
    readonly id?: string;
    readonly name: string;
    readonly arguments?: string | JsonObject | null;
  }[];
  readonly usage?: Usage;
  /**
   * `length` means cut off, `refusal` that `content` is the model's refusal, `content_filter` that a filter stopped it;
   * other values are the server's own words.
   */
  readonly finishReason?: string;
  /** What the server marked as reasoning. It becomes the thought. */
  readonly reasoning?: string;
  /** What the model needs back with its tool calls. It is kept with the message unchanged. */
  readonly providerState?: ProviderState;
  /** The model that answered, for `usage.byModel`. Absent: the `id` of the model that was asked. */
  readonly model?: string;
  readonly stats?: ReplyStats;
  /** Things the user should know, such as a parameter that the server refused. */
  readonly warnings?: readonly string[];
}

/** A piece of a reply while it arrives. */
export interface ModelToken {
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly text: string;
  /** Position of the tool call that an `arguments` piece belongs to. */
  readonly callIndex?: number;
  /** The tool that it calls, if its name has already arrived. */
  readonly tool?: string;
}

/** What a model may use while it answers. */
export interface ModelIo {
  readonly signal: AbortSignal;
  readonly onToken?: (token: ModelToken) => void;
  /** Time limit for connecting, in milliseconds. */
  readonly connectMs?: number;
  /** Longest silence in milliseconds. Absent: the user gave none, the model's own default holds. */
  readonly responseMs?: number;
}

/**
 * The port to a language model: one method. `complete` rejects with a {@link ModelError} (any other error counts as a
 * failure without a status) and must stop when `signal` aborts.
 */
export interface Model {
  complete(request: ModelRequest, io: ModelIo): Promise<ModelReply>;
  /** Shown in outputs and written into recordings, such as `ollama:qwen2.5:7b`. */
  readonly id?: string | undefined;
  /** How this model takes tool calls; absent: native. */
  readonly toolCalling?: ToolCalling | undefined;
  /** True once one of its replies had native tool calls. Absent: Signalbox keeps track itself, for this object. */
  readonly callsNatively?: boolean | undefined;
  /** True if it accepts images: those in tool results are then sent to it. Default false: it receives their type and size. */
  readonly takesImages?: boolean | undefined;
  /** True if it accepts files in a user's message, such as PDF. Default false. */
  readonly takesFiles?: boolean | undefined;
  /** True when the server takes tools and a schema of the reply in one request. Default false. */
  readonly takesSchemaWithTools?: boolean | undefined;
  /** How many tokens the model's context holds, where that is known. */
  readonly contextSize?: number | undefined;
  /** True when the model enforces `connectMs` and `responseMs` itself; otherwise Signalbox does. */
  readonly keepsTime?: boolean | undefined;
  /**
   * Warnings about the server, such as a context size that is too small. Called alongside the agent's first request,
   * which does not wait for it; must never throw.
   */
  check?(needs: { readonly minContextSize: number; readonly signal: AbortSignal }): Promise<readonly string[]>;
}

/** Stable codes for the ways in which a model request can fail. */
export type ModelErrorCode =
  | 'connect-failed'
  | 'timeout'
  | 'aborted'
  | 'auth'
  | 'model-not-found'
  | 'endpoint-not-found'
  | 'rate-limited'
  | 'quota-exhausted'
  | 'bad-request'
  | 'server-error'
  | 'bad-response'
  | 'context-overflow'
  | 'content-filter'
  | 'no-native-tools'
  | 'malformed-tool-call'
  | 'no-model'
  | 'live-forbidden'
  | 'circuit-open'
  | 'model-error';

/** A failed model request: a stable `code`, and the server's message about it. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: ModelErrorCode;
  readonly status: number | undefined;
  /** The server's `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** More about it, JSON-safe: the malformed text of a `malformed-tool-call`, for one. */
  readonly data: Json | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    more: {
      readonly status?: number | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly data?: Json | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
    this.data = more.data;
  }

  static override [Symbol.hasInstance](error: unknown): boolean {
    return super[Symbol.hasInstance](error) || (this === ModelError && isTwin(error, 'ModelError', 'retryAfterMs'));
  }
}
