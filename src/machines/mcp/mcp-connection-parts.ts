import { setup } from 'xstate';
import { assign } from '../contract/assign.ts';
import type { LeafError } from '../../actors/journal.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import {
  listMcpTools,
  pingMcp,
  type McpGeneration,
  type McpGreeting,
  connectMcp,
} from '../../actors/mcp/connect-mcp.ts';
import {
  type McpLogin,
  awaitLogin,
  discoverAuth,
  exchangeCode,
  refreshToken,
  registerClient,
  watchLogin,
} from '../../actors/mcp/mcp-auth.ts';
import type { McpTool } from '../../actors/mcp/mcp-calls.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { type Backoff, backoffMs } from '../../recovery/backoff.ts';

/** How patient a connection is. Times in milliseconds. */
export interface McpConnectionLimits {
  /** Consecutive failures before it stops trying. */
  readonly maxFailures: number;
  /** The wait before attempt after attempt. With full jitter, so that many clients of one server do not come back at once. */
  readonly backoff: Backoff;
  /** How long announcements of a changed list are gathered before it is fetched again. */
  readonly settleMs: number;
  /** How long a failed connection rests before a call may make it try again. */
  readonly coolDownMs: number;
  /** A link that has held this long has proved itself. */
  readonly provenMs: number;
  /** How long a person is waited for at a login. */
  readonly loginMs: number;
}

/**
 * Who can get a token: no one (`none`), a person (`login`; `stored-login`: where that happens elsewhere), or the
 * credentials of the configuration alone (`credentials`).
 */
export type McpAuthKind = 'none' | 'login' | 'stored-login' | 'credentials';

/** What a connection knows of itself: plain JSON. */
export interface McpConnectionContext {
  readonly server: string;
  readonly limits: McpConnectionLimits;
  /** Counts the attempts; the number of the newest link. */
  readonly generation: number;
  readonly failures: number;
  /** What the waits are drawn from. */
  readonly seed: number;
  readonly greeting: McpGreeting | null;
  readonly tools: readonly McpTool[];
  /** Counts the lists that were fetched. */
  readonly listings: number;
  /** Counts the server's announcements that its list has changed. */
  readonly announced: number;
  /** How many announcements there were when the newest list was asked for. */
  readonly heeded: number;
  readonly auth: McpAuthKind;
  /** Tokens that the server refused in a row. */
  readonly refusals: number;
  /** How often in a row the server asked for more scopes. */
  readonly stepUps: number;
  /** The scopes that the server has asked for by name. */
  readonly scopes: readonly string[];
  /** The sign-in that waits for a person; null while there is none. */
  readonly login: McpLogin | null;
  readonly error: LeafError | null;
}

/** What a connection is started with. */
export interface McpConnectionInput {
  readonly server: string;
  readonly seed?: number;
  readonly limits?: Partial<McpConnectionLimits>;
  /** Default `none`. */
  readonly auth?: McpAuthKind;
}

/** The events of a connection. Events of a link carry its generation. */
export type McpConnectionEvent =
  | { readonly type: 'connection.wanted' }
  | { readonly type: 'connection.stopped' }
  | { readonly type: 'call.wanted' }
  | { readonly type: 'link.lost'; readonly generation: number; readonly error: LeafError }
  | { readonly type: 'link.doubted'; readonly generation: number }
  | { readonly type: 'link.proved'; readonly generation: number }
  | { readonly type: 'tools.changed'; readonly generation: number }
  | { readonly type: 'tools.wanted' }
  | { readonly type: 'scope.missing'; readonly generation: number; readonly error: LeafError }
  | { readonly type: 'login.wanted' }
  | { readonly type: 'login.cancelled' };

const DEFAULT_LIMITS: McpConnectionLimits = {
  maxFailures: 8,
  backoff: { kind: 'exponential', baseMs: 500, factor: 2, maxMs: 30_000, jitter: 1 },
  settleMs: 100,
  coolDownMs: 1000,
  provenMs: 10_000,
  loginMs: 600_000,
};

const MAX_REFUSALS = 2;
const MAX_STEP_UPS = 2;
const MAX_SCOPES = 100;

/** A server that asks for a longer pause is still tried again after this time. */
const MOST_ASKED_MS = 300_000;

/** Codes that a further attempt cannot fix by itself. */
const HOPELESS: ReadonlySet<string> = new Set(['spawn-failed', 'protocol-error', 'limit-exceeded', 'auth-failed']);
/** Codes after which nothing is tried before it is asked for. */
const REFUSED: ReadonlySet<string> = new Set(['auth-required', 'insufficient-scope']);

const notProvided = (): Promise<never> =>
  Promise.reject(new Error('This machine has no MCP client: provide its actors.'));

/** The guards, actions and actors of the mcpConnection machine; the drawing is in mcp-connection.ts. */
export const mcpConnectionParts = setup({
  types: {
    context: {} as McpConnectionContext,
    input: {} as McpConnectionInput,
    events: {} as McpConnectionEvent,
  },
  actors: {
    connectMcp: connectMcp({ connect: notProvided }),
    listMcpTools: listMcpTools({ listTools: notProvided }),
    pingMcp: pingMcp({ ping: notProvided }),
    refreshToken: refreshToken({ refresh: notProvided }),
    discoverAuth: discoverAuth({ discover: notProvided }),
    registerClient: registerClient({ register: notProvided }),
    awaitLogin: awaitLogin({ awaitLogin: notProvided }),
    exchangeCode: exchangeCode({ exchange: notProvided }),
    watchLogin: watchLogin({ watchLogin: notProvided }),
  },
  guards: {
    isStale: ({ context, event }) => 'generation' in event && event.generation !== context.generation,
    isCurrent: ({ context, event }) => 'generation' in event && event.generation === context.generation,
    isOutdated: ({ context }) => context.announced > context.heeded,
    needsAuth: ({ event }) => REFUSED.has(leafErrorOf(event).code),
    mayRefresh: ({ context, event }) =>
      context.auth !== 'none' && context.refusals < MAX_REFUSALS && meansToken(leafErrorOf(event)),
    mayRequestScopes: ({ context, event }) => canStepUp(context, leafErrorOf(event)),
    needsLogin: ({ context, event }) => isByLogin(context) && needsPerson(leafErrorOf(event)),
    mayOfferLogin: ({ context, event }) => leafErrorOf(event).code === 'login-required' && context.auth === 'login',
    canSignIn: ({ context }) => isByLogin(context),
    hasSession: ({ context }) => context.greeting !== null,
    mayAskForScopes: ({ context, event }) =>
      lacksScope(context) && leafErrorOf(event).code === 'login-required' && context.auth === 'login',
    onlyScopesMissing: ({ context }) => lacksScope(context),
    cannotRecover: ({ event }) => HOPELESS.has(leafErrorOf(event).code),
    wasLastAttempt: ({ context }) => context.failures + 1 >= context.limits.maxFailures,
  },
  actions: {
    beginGeneration: assign({ generation: ({ context }) => context.generation + 1, greeting: null }),
    keepGreeting: assign((_, greeting: McpGreeting) => ({ greeting })),
    markListCurrent: assign({ heeded: ({ context }) => context.announced }),
    noteListChange: assign({ announced: ({ context }) => context.announced + 1 }),
    keepTools: assign(({ context }, tools: readonly McpTool[]) => ({
      tools,
      listings: context.listings + 1,
      error: null,
    })),
    keepError: assign({ error: ({ event }) => leafErrorOf(event) }),
    countFailure: assign({
      failures: ({ context }) => context.failures + 1,
      refusals: 0,
      error: ({ event }) => leafErrorOf(event),
    }),
    forgetFailures: assign({ failures: 0, refusals: 0, stepUps: 0 }),
    countRefusal: assign({ refusals: ({ context }) => context.refusals + 1 }),
    countStepUp: assign({
      stepUps: ({ context }) => context.stepUps + 1,
      scopes: ({ context, event }) => [...new Set([...context.scopes, ...scopesIn(leafErrorOf(event))])],
    }),
    dropSession: assign({ greeting: null }),
    keepLogin: assign((_, login: McpLogin) => ({ login })),
    forgetLogin: assign({ login: null }),
    forgetRefusals: assign({ refusals: 0, error: null }),
    noteNoLogin: assign({
      error: ({ context: { server } }) => ({
        code: 'login-required',
        message: `Nobody signed in at MCP server '${server}'.`,
      }),
    }),
    allowOneAttempt: assign({ failures: ({ context }) => context.limits.maxFailures - 1 }),
  },
  delays: {
    backoff: ({ context }) =>
      Math.max(
        backoffMs(context.limits.backoff, context.failures, context.seed + context.generation),
        Math.min(MOST_ASKED_MS, askedMs(context.error)),
      ),
    debounce: ({ context }) => context.limits.settleMs,
    cooldown: ({ context }) => context.limits.coolDownMs,
    stable: ({ context }) => context.limits.provenMs,
    login: ({ context }) => context.limits.loginMs,
  },
});

/** What a connection knows before anything happened. */
export function startOf({ server, limits, seed = 0, auth = 'none' }: McpConnectionInput): McpConnectionContext {
  return {
    server,
    limits: { ...DEFAULT_LIMITS, ...limits },
    generation: 0,
    failures: 0,
    seed,
    greeting: null,
    tools: [],
    listings: 0,
    announced: 0,
    heeded: 0,
    auth,
    refusals: 0,
    stepUps: 0,
    scopes: [],
    login: null,
    error: null,
  };
}

/** The link that a leaf works on. */
export function linkOf({ server, generation }: McpConnectionContext): McpGeneration {
  return { server, generation };
}

/** How long the server asked to be left alone. */
function askedMs(error: LeafError | null): number {
  const data = error?.data;
  const ms = isJsonObject(data) ? data.retryAfterMs : 0;
  return typeof ms === 'number' ? ms : 0;
}

/** A call or a list was refused for lack of scopes; the token is otherwise valid. */
function lacksScope({ error, greeting }: McpConnectionContext): boolean {
  return error?.code === 'insufficient-scope' && greeting !== null;
}

/** Our token was refused. A 403 means that it is valid, but that this is not allowed. */
function meansToken({ code, data }: LeafError): boolean {
  return code === 'auth-required' && !(isJsonObject(data) && data.status === 403);
}

function needsPerson(error: LeafError): boolean {
  return error.code === 'login-required' || meansToken(error);
}

function isByLogin({ auth }: McpConnectionContext): boolean {
  return auth === 'login' || auth === 'stored-login';
}

/** More scopes are asked for only where the server names them, and some of them are new. */
function canStepUp({ auth, stepUps, scopes }: McpConnectionContext, error: LeafError): boolean {
  if (error.code !== 'insufficient-scope' || auth === 'none' || stepUps >= MAX_STEP_UPS) return false;
  if (scopes.length >= MAX_SCOPES) return false;
  return scopesIn(error).some((scope) => !scopes.includes(scope));
}

/** The scopes that an error names. */
function scopesIn({ data }: LeafError): readonly string[] {
  const named: Json | undefined = isJsonObject(data) ? data.scopes : undefined;
  return Array.isArray(named) ? named.filter((scope) => typeof scope === 'string') : [];
}
