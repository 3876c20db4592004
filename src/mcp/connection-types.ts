import type { McpLoginStatus } from './config/auth.ts';
import type { AnyActorRef } from 'xstate';
import type { McpLogMessage } from './connection-news.ts';
import type { McpAnswers } from './config/answers.ts';
import type { Dial, McpClock, McpServerInfo } from './wire/link.ts';
import type { McpConnectionLimits } from '../machines/mcp/mcp-connection.ts';
import { DEFAULT_MCP_LIMITS, type McpLimits } from './config/server-limits.ts';
import type { Environment } from '../models/endpoint/environment.ts';
import {
  type McpCallOptions,
  type McpCompletion,
  type McpPrompt,
  type McpRequestOptions,
  type McpResourceContent,
  REQUEST_OPTIONS,
} from './calls/requests.ts';
import type { McpServer } from './config/config.ts';
import type { McpError, McpTool } from '../actors/mcp/mcp-calls.ts';
import { type JsonObject, memberOf } from '../json/json.ts';
import type { ToolResult } from '../tools/result.ts';
import type { McpResourceUpdate } from './calls/subscriptions.ts';
import type { McpLogin } from '../actors/mcp/mcp-auth.ts';
import { optionsOf } from '../json/known-options.ts';

/**
 * Where a connection stands. Calls are sent in READY, and in AUTHORIZING where only more scopes are asked for; in the last
 * four nothing is tried until it is asked for, but a login that is made elsewhere is noticed.
 */
export type McpState =
  | 'IDLE'
  | 'CONNECTING'
  | 'DISCOVERING'
  | 'READY'
  | 'SUSPECT'
  | 'BACKING_OFF'
  /** A token is obtained without a person. */
  | 'REFRESHING'
  /** A person signs in; {@link McpLoginStep} is the progress. */
  | 'AUTHORIZING'
  | 'FAILED'
  | 'NEEDS_LOGIN'
  | 'AUTH_REQUIRED'
  | 'STOPPED';

/** How far a sign-in is. In AWAITING_USER a person has to open an address. */
export type McpLoginStep = 'DISCOVERING' | 'REGISTERING' | 'AWAITING_USER' | 'EXCHANGING';

/** What a connection emits to its listeners. */
export type McpConnectionNews =
  | {
      readonly type: 'mcp.changed';
      readonly server: string;
      readonly state: McpState;
      readonly previous: McpState;
      /** In AUTHORIZING: how far it is. */
      readonly step: McpLoginStep | null;
      /** Why, where something went wrong. */
      readonly error: { readonly code: string; readonly message: string } | null;
    }
  | {
      /** The list of tools has changed; the names are the server's own. */
      readonly type: 'mcp.tools';
      readonly server: string;
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
    }
  | {
      /** The server's resources or prompts have changed: list them again if you use them. */
      readonly type: 'mcp.list';
      readonly server: string;
      readonly list: 'resources' | 'prompts';
    }
  | ({
      /** The server wrote into its log. At most twenty a second are emitted. */
      readonly type: 'mcp.log';
      readonly server: string;
    } & McpLogMessage)
  | {
      /** The server broke the protocol in a way that does no harm. After the first twenty only every thousandth is emitted. */
      readonly type: 'mcp.warning';
      readonly server: string;
      readonly kind: string;
      readonly message: string;
      readonly count: number;
    };

/** What a connection may be given beside its configuration. */
export interface McpConnectionOptions extends McpAnswers {
  /** Where all of the connection's timers run; an XState `SimulatedClock` fits. */
  readonly clock?: McpClock | undefined;
  /** Fixes the random waits before reconnects. Default: a new seed for each connection. */
  readonly seed?: number | undefined;
  /** How patient it is, and in `mcp` how much the server may make its host keep. */
  readonly limits?: (Partial<McpConnectionLimits> & { readonly mcp?: Partial<McpLimits> | undefined }) | undefined;
  /** How long a call waits for a connection that is down and not being tried at the moment. Default 4 000 ms. */
  readonly patienceMs?: number | undefined;
  /** The variables for `${VAR}` in the configuration. Default: the process's environment. */
  readonly env?: Environment | undefined;
  /** Connects to servers instead of the built-in client. */
  readonly dial?: Dial | undefined;
  /** False: a login that is missing is not prepared, so no port is opened and nothing registered before `login()`. Default true. */
  readonly offersLogin?: boolean | undefined;
}

/** How a connection's tools are listed. */
interface ListToolsOptions extends McpRequestOptions {
  /** Asks the server again. Default false. */
  readonly refresh?: boolean;
}

/** A connection to one MCP server, which reconnects by itself until it is disconnected. */
export interface McpConnection {
  readonly name: string;
  readonly server: McpServer;
  readonly state: McpState;
  /** What went wrong last; null when all is well. */
  readonly error: McpError | null;
  /** What the server reported about itself; null while it is not connected. */
  readonly info: McpServerInfo | null;
  /** The tools as they were listed last, filtered by the configuration. */
  readonly tools: readonly McpTool[];
  /** What exceeded the limits and was shortened or left out: one sentence each, twenty at most. */
  readonly warnings: readonly string[];
  /** The machine that keeps the connection, for drawing and inspection; events sent to it are not checked. */
  readonly actor: AnyActorRef;

  /** Connects and lists the tools. True if that worked, false if the attempt failed, after which it keeps trying; never rejects. */
  connect(): Promise<boolean>;
  /** Ends the connection and every process that was started for it, within 5 s. `connect()` starts again. */
  disconnect(): Promise<void>;
  isConnected(): boolean;
  /** The tools; `refresh` asks the server again. Connects when needed; rejects with an {@link McpError}. */
  listTools(options?: ListToolsOptions): Promise<readonly McpTool[]>;
  /** Calls a tool by the server's own name for it. Never rejects: a call that failed is an error result with a `code`. */
  callTool(tool: string, args?: JsonObject, options?: McpCallOptions): Promise<ToolResult>;
  /** The same, but rejects with an {@link McpError} when there is no result. */
  call(tool: string, args: JsonObject, options?: McpCallOptions): Promise<ToolResult>;
  /** Reads a resource; rejects with an {@link McpError}. */
  readResource(uri: string, options?: McpRequestOptions): Promise<readonly McpResourceContent[]>;
  /** All resources; none where the server offers no resources at all. */
  listResources(options?: McpRequestOptions): Promise<readonly JsonObject[]>;
  /** All patterns of resources, each with a `uriTemplate` to be filled in. */
  listResourceTemplates(options?: McpRequestOptions): Promise<readonly JsonObject[]>;
  /** Fetches a prompt, filled in with the arguments; rejects with an {@link McpError}. */
  getPrompt(name: string, args?: Readonly<Record<string, string>>, options?: McpRequestOptions): Promise<McpPrompt>;
  listPrompts(options?: McpRequestOptions): Promise<readonly JsonObject[]>;
  /**
   * What the server proposes for an argument of a prompt, or a variable of a resource template, that begins with `value`.
   * `given`: arguments that have their values already. None where the server offers no completion.
   *
   * @example
   * const { values } = await files.complete({ prompt: 'review' }, { name: 'language', value: 'py' });
   */
  complete(
    of: { readonly prompt: string } | { readonly resource: string },
    argument: { readonly name: string; readonly value: string; readonly given?: Readonly<Record<string, string>> },
    options?: McpRequestOptions,
  ): Promise<McpCompletion>;
  /**
   * Calls the listener when a resource, or a part of it, has changed; read the resource to see how. It is subscribed again
   * after each reconnect, and the listener is then called with `missed: true`; what it throws is ignored. The returned
   * function unsubscribes. Rejects with an {@link McpError} if the server offers no subscriptions or refuses this one.
   */
  subscribeResource(
    uri: string,
    listener: (update: McpResourceUpdate) => unknown,
    options?: McpRequestOptions,
  ): Promise<() => Promise<void>>;
  /** Names other folders to the server, now and after reconnects. It must have been given `roots` to be notified at once. */
  setRoots(folders: readonly string[]): void;
  /** The sign-in that waits for a person, with the address to open; null while there is none. */
  readonly pendingLogin: McpLogin | null;
  /**
   * Has a person sign in, now or again. Resolves true once there is a token and the server is usable, false if that failed;
   * never rejects. The address is in `pendingLogin` as soon as `mcp.changed` reports the step AWAITING_USER; nothing is
   * opened by itself.
   */
  login(): Promise<boolean>;
  /**
   * Takes the address on which a person's browser has ended, if it did not come back by itself. False: it does not belong
   * to a pending sign-in.
   */
  answerLogin(address: string): boolean;
  /** Ends the sign-in that waits for a person, if there is one. */
  cancelLogin(): void;
  /** Disconnects, and forgets the tokens of this login, here and in the store. The server is not notified. */
  logout(): Promise<void>;
  /** The stored login, without its tokens; null for a server without a personal login. */
  loginStatus(): Promise<McpLoginStatus | null>;
  /** Listens to one kind of news; the returned function ends it. */
  on<T extends McpConnectionNews['type']>(
    type: T,
    listener: (news: Extract<McpConnectionNews, { readonly type: T }>) => void,
  ): () => void;
  [Symbol.asyncDispose](): Promise<void>;
}

const checkOptions = optionsOf<McpConnectionOptions>('createMcpConnection', 'docs/mcp.md', {
  clock: true,
  seed: true,
  limits: true,
  patienceMs: true,
  env: true,
  dial: true,
  offersLogin: true,
  roots: true,
  elicit: true,
  sample: true,
});
const checkLimits = optionsOf<McpConnectionLimits & { mcp: unknown }>('createMcpConnection: limits', 'docs/mcp.md', {
  maxFailures: true,
  backoff: true,
  settleMs: true,
  coolDownMs: true,
  provenMs: true,
  loginMs: true,
  mcp: true,
});
const checkServerLimits = optionsOf<McpLimits>('createMcpConnection: limits.mcp', 'docs/mcp.md', DEFAULT_MCP_LIMITS);

/** Refuses what `listTools` does not take. */
export const checkListing = optionsOf<ListToolsOptions>('listTools', 'docs/mcp.md', {
  refresh: true,
  ...REQUEST_OPTIONS,
});

/** Refuses options of a connection that are not known. */
export function checkConnectionOptions(options: McpConnectionOptions): void {
  checkOptions(options);
  checkLimits(options.limits);
  checkServerLimits(options.limits?.mcp);
}

/** States in which a link may exist. */
export const LIVE: ReadonlySet<McpState> = new Set(['CONNECTING', 'DISCOVERING', 'READY', 'SUSPECT', 'REFRESHING']);
/** States after which a try to connect has failed. */
export const GIVEN_UP: ReadonlySet<McpState> = new Set([
  'BACKING_OFF',
  'FAILED',
  'NEEDS_LOGIN',
  'AUTH_REQUIRED',
  'STOPPED',
]);

/** The state of a connection's machine, without those inside it. */
export function topLevel(value: unknown): McpState {
  const key = typeof value === 'string' ? value : Object.keys(Object(value))[0];
  return STATES.find((known) => known === key) ?? 'IDLE';
}

const STATES: readonly McpState[] = [
  ...(['IDLE', 'CONNECTING', 'DISCOVERING', 'READY', 'SUSPECT'] as const),
  ...(['BACKING_OFF', 'REFRESHING', 'AUTHORIZING', 'FAILED', 'NEEDS_LOGIN', 'AUTH_REQUIRED', 'STOPPED'] as const),
];

const STEPS: readonly McpLoginStep[] = ['DISCOVERING', 'REGISTERING', 'AWAITING_USER', 'EXCHANGING'];

/** How far the sign-in is; null while there is none. */
export function loginStep(value: unknown): McpLoginStep | null {
  const inner = memberOf(value, 'AUTHORIZING');
  return STEPS.find((known) => known === inner) ?? null;
}
