import type { Json, JsonObject } from '../../json/json.ts';
import type { McpLimits } from '../config/server-limits.ts';
import type { McpAnswers } from '../config/answers.ts';
import type { Fetch } from '../../models/endpoint/endpoint.ts';
import type { LinkFault } from './faults.ts';
import type { McpTool } from '../../actors/mcp/mcp-calls.ts';
import { afterLimit } from '../../actors/deadline.ts';
import type { McpTarget } from '../config/config.ts';

/** What a server reported about itself when the link was made. */
export interface McpServerInfo {
  /** The server's own name, not the one in the configuration. */
  readonly title: string;
  readonly version: string;
  readonly protocolVersion: string;
  /** Text for the system prompt, where the server has one. */
  readonly instructions?: string;
  readonly capabilities: JsonObject;
  readonly transport: 'stdio' | 'streamable' | 'sse';
}

/** How far a call has come, as the server reports it. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a server has lists of. */
export type McpList = 'tools' | 'resources' | 'prompts';

/** Something odd that a server did and that was survived. */
export interface ProtocolWarning {
  readonly kind:
    | 'noise'
    | 'bad-message'
    | 'too-large'
    | 'limit'
    | 'unexpected'
    | 'bad-tool'
    | 'bad-result'
    | 'unanswered';
  readonly message: string;
}

/** The part of a clock that links and calls need; XState's clocks have it. */
export interface McpClock {
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

/** The clock of the process. */
export const REAL_CLOCK: McpClock = {
  setTimeout: (fn, ms) => afterLimit(ms, fn),
  clearTimeout: (cancel) => {
    if (typeof cancel === 'function') Reflect.apply(cancel, undefined, []);
  },
};

/** What a link reports to its owner, and what it may use. */
export interface LinkIo {
  readonly signal: AbortSignal;
  readonly clock: McpClock;
  readonly limits: McpLimits;
  /** Whether a tool is wanted, by the server's own name for it. */
  readonly isWanted: (tool: string) => boolean;
  readonly answers: McpAnswers;
  /** Puts a token on requests to the server; left out where none is wanted. */
  readonly authorize?: ((inner: Fetch) => Fetch) | undefined;
  /** The link is dead. Called at most once. */
  readonly onDown: (fault: LinkFault) => void;
  /** Something broke that need not mean death: a ping should decide. */
  readonly onDoubt: (reason: string) => void;
  /** The server reports that one of its lists has changed. */
  readonly onListChanged: (list: McpList) => void;
  readonly onWarning: (warning: ProtocolWarning) => void;
  /** Another notification from the server. */
  readonly onNotification: (method: string, params: JsonObject) => void;
}

/** How one request is made. */
export interface RequestIo {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: McpProgress) => void;
  /** Progress is reported until this aborts, also after an answer that is a task: it continues then. */
  readonly lasting?: AbortSignal;
  /** For `_meta` of the request, beside what the protocol itself puts there. */
  readonly meta?: JsonObject;
  /** Sent with it over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a tool is called. */
export interface ToolRequestIo extends RequestIo {
  /** Asks the server to run it as a task, and to keep that for so many milliseconds. */
  readonly task?: { readonly ttl: number };
}

/** One live connection to one server: made once, never revived. All methods reject with a {@link LinkFault}. */
export interface McpLink {
  readonly info: McpServerInfo;
  /** All pages. A tool that makes no sense is left out and reported as an warning. */
  listTools(io: RequestIo): Promise<readonly McpTool[]>;
  /** The raw answer to `tools/call`. */
  callTool(tool: string, args: JsonObject, io: ToolRequestIo): Promise<JsonObject>;
  /** Any other request by its method, `resources/read` for one. */
  request(method: string, params: JsonObject, io: RequestIo): Promise<Json>;
  ping(io: RequestIo): Promise<void>;
  /** Sends the server a notification. Never rejects: a server that is gone need not receive it. */
  notify(method: string): Promise<void>;
  /** Ends the link and all that was started for it. Never rejects; takes at most 5 s. */
  close(how: 'gently' | 'at-once'): Promise<void>;
}

/** Makes a link: the port behind which the SDK stands. */
export type Dial = (server: string, target: McpTarget, io: LinkIo) => Promise<McpLink>;

/**
 * Bounds a piece of work on a clock: the signal fires when `outer` does or when the time is up. `release` must be called when it
 * is done.
 */
export function limitTime(clock: McpClock, ms: number, outer: AbortSignal) {
  const controller = new AbortController();
  let over = false;
  const abort = (): void => controller.abort();
  const timer = clock.setTimeout(() => {
    over = true;
    abort();
  }, ms);
  if (outer.aborted) abort();
  outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    isOver: (): boolean => over,
    release: (): void => {
      clock.clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
