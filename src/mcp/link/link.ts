import type { McpTool } from '../../actors/mcp/mcp-calls.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { McpAnswers } from '../questions/answers.ts';
import type { McpTarget } from '../config/config.ts';
import type { McpLimits } from '../config/server-limits.ts';

/** What a server said of itself when the link was made. */
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

/** Why a link failed. The words are for people; programs look at `kind` and `delivered`. */
export type LinkFaultKind =
  | 'not-found' // there is no such command, or it may not be started
  | 'exited' // the server's process ended
  | 'unreachable' // no connection, or it broke
  | 'auth' // 401 or 403
  | 'scope' // 403: our token lacks a scope, which `data.scopes` names
  | 'session' // the server does not know our session any more
  | 'refused' // an HTTP status that says no to this request
  | 'protocol' // not MCP, or a version that we do not speak
  | 'answer' // the server answered with a JSON-RPC error, or with something that is no answer
  | 'limit' // what it sent is larger than the configuration allows
  | 'aborted'; // we gave up ourselves

/** A failure on a link. `delivered: false` promises that the server cannot have begun to carry out the request. */
export class LinkFault extends Error {
  override readonly name = 'LinkFault';
  readonly kind: LinkFaultKind;
  readonly delivered: boolean;
  readonly data: JsonObject;

  constructor(
    kind: LinkFaultKind,
    message: string,
    more: { readonly delivered: boolean; readonly data?: JsonObject; readonly cause?: unknown },
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.kind = kind;
    this.delivered = more.delivered;
    this.data = more.data ?? {};
  }
}

/** The platform's `fetch`, in words that need neither its types nor Node's. */
export type FetchFunction = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** How far a call has come, as the server tells it. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a server has lists of. */
export type McpList = 'tools' | 'resources' | 'prompts';

/** Something odd that a server did and that was survived. */
export interface McpOddity {
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
  setTimeout: (fn, ms) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
  clearTimeout: (cancel) => {
    if (typeof cancel === 'function') Reflect.apply(cancel, undefined, []);
  },
};

/** What a link tells its owner, and what it may use. */
export interface LinkIo {
  readonly signal: AbortSignal;
  readonly clock: McpClock;
  readonly limits: McpLimits;
  /** Whether a tool is wanted, by the server's own name for it. */
  readonly isWanted: (tool: string) => boolean;
  readonly answers: McpAnswers;
  /** Puts a token on requests to the server; left out where none is wanted. */
  readonly authorize?: ((inner: FetchFunction) => FetchFunction) | undefined;
  /** The link is dead. Said at most once. */
  readonly onDown: (fault: LinkFault) => void;
  /** Something broke that need not mean death: a ping should decide. */
  readonly onDoubt: (reason: string) => void;
  /** The server says that one of its lists is another one now. */
  readonly onListChanged: (list: McpList) => void;
  readonly onOddity: (oddity: McpOddity) => void;
  /** The server tells something else that nobody asked for. */
  readonly onNotification: (method: string, params: JsonObject) => void;
}

/** How one request is made. */
export interface RequestIo {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: McpProgress) => void;
  /** Progress is told until this aborts, also after an answer that is a task: it goes on then. */
  readonly lasting?: AbortSignal;
  /** For `_meta` of the request, beside what the protocol itself puts there. */
  readonly meta?: JsonObject;
}

/** How a tool is called. */
export interface ToolRequestIo extends RequestIo {
  /** Asks the server to run it as a task, and to keep that for so many milliseconds. */
  readonly task?: { readonly ttl: number };
}

/** One live connection to one server: made once, never revived. All methods reject with a {@link LinkFault}. */
export interface McpLink {
  readonly info: McpServerInfo;
  /** All pages. A tool that makes no sense is left out and reported as an oddity. */
  listTools(io: RequestIo): Promise<readonly McpTool[]>;
  /** The raw answer to `tools/call`. */
  callTool(tool: string, args: JsonObject, io: ToolRequestIo): Promise<JsonObject>;
  /** Any other request by its method, `resources/read` for one. */
  request(method: string, params: JsonObject, io: RequestIo): Promise<Json>;
  ping(io: RequestIo): Promise<void>;
  /** Tells the server something that it gives no answer to. Never rejects: who is gone need not know. */
  notify(method: string): Promise<void>;
  /** Ends the link and all that was started for it. Never rejects; takes at most 5 s. */
  close(how: 'gently' | 'at-once'): Promise<void>;
}

/** Makes a link: the port behind which the SDK stands. */
export type Dial = (server: string, target: McpTarget, io: LinkIo) => Promise<McpLink>;
