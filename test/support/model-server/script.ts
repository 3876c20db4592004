import type { IncomingHttpHeaders } from 'node:http';

/** A tool call in a scripted reply. Text arguments are sent as they are, an object as JSON text. */
export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

/** A reply in the form of Chat Completions; it is streamed when the request asks for a stream. */
export interface ScriptedReply {
  readonly content?: string | null;
  readonly toolCalls?: readonly ScriptedCall[];
  readonly reasoning?: string;
  /** OpenAI's own field for a refusal, beside or instead of the content. */
  readonly refusal?: string | null;
  readonly finishReason?: string;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** Wait before the first byte. */
  readonly delayMs?: number;
  /** Wait so long after each event of the stream. */
  readonly paceMs?: number;
  /** Answer with plain JSON even when a stream was asked for. */
  readonly noStream?: true;
  /** Close the socket after this many events of the stream, or halfway through a plain reply. */
  readonly breakOffAfter?: number;
  /** Leave the connection open after the end of the stream. */
  readonly neverEnds?: true;
  /** Go silent after this many events of the stream, the socket staying open. */
  readonly stallAfter?: number;
  /** With `stallAfter`: the rest is sent when this resolves. */
  readonly continues?: Promise<unknown>;
}

/** An HTTP answer as it is: errors, and bodies that no server should send. */
export interface ScriptedHttp {
  readonly status: number;
  /** Text goes out as it is, anything else as JSON. A list of texts goes out in as many pieces. */
  readonly body?: unknown;
  readonly pieces?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}

/** What the server does instead of answering. */
export type ScriptedSilence = { readonly hang: true } | { readonly closeSocket: true };

/** One answer of the script; a function gets the request and returns any of the others. */
export type Scripted =
  | string
  | ScriptedReply
  | ScriptedHttp
  | ScriptedSilence
  | ((request: RecordedRequest) => Scripted | Promise<Scripted>);

/** A chat request as it came in. */
export interface RecordedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  /** The raw body. */
  readonly text: string;
  readonly body: RequestBody;
}

/** The fields of a request that tests look at; everything else is there too. */
export interface RequestBody {
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly { readonly type: string; readonly function: { readonly name: string } }[];
  readonly [field: string]: unknown;
}

/** A message on the wire. */
export interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}
