/**
 * Owns: the life of the connection to one MCP server: when to connect, list, doubt, wait, give up and try again.
 * Does not own: the links themselves, and the calls that travel on them.
 *
 * I1 READY means: connected, and the tools were listed over this very link.
 * I2 Each attempt is a new generation; what an older one reports is dropped.
 * I3 Failures in a row are counted until a call was answered or the link has held for a while, so that a server which
 *    starts and dies again and again runs into the limit, too.
 */
import { assign, setup } from 'xstate';
import { type McpGeneration, type McpGreeting, connectMcp } from '../actors/connect-mcp.ts';
import type { LeafError } from '../actors/journal.ts';
import { leafErrorOf } from '../actors/leaf.ts';
import { listMcpTools } from '../actors/list-mcp-tools.ts';
import type { McpTool } from '../actors/mcp-calls.ts';
import { pingMcp } from '../actors/ping-mcp.ts';
import { isJsonObject } from '../parsing/json.ts';
import { type Backoff, backoffMs } from '../recovery/backoff.ts';
import { MOST_MICROSTEPS } from './most-microsteps.ts';

/** How patient a connection is. Times in milliseconds. */
export interface McpConnectionLimits {
  /** Failures in a row before it gives up. */
  readonly maxFailures: number;
  /** The wait before attempt after attempt. With full jitter, so that many clients of one server do not come back at once. */
  readonly backoff: Backoff;
  /** How long announcements of a changed list are gathered before it is fetched again. */
  readonly settleMs: number;
  /** How long a connection that gave up rests before a call may make it try once more. */
  readonly coolDownMs: number;
  /** A link that has held this long has proved itself. */
  readonly provenMs: number;
}

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
  readonly error: LeafError | null;
}

/** What a connection is told. Events of a link carry its generation. */
export type McpConnectionEvent =
  | { readonly type: 'connection.wanted' }
  | { readonly type: 'connection.stopped' }
  | { readonly type: 'call.wanted' }
  | { readonly type: 'link.lost'; readonly generation: number; readonly error: LeafError }
  | { readonly type: 'link.doubted'; readonly generation: number }
  | { readonly type: 'link.proved'; readonly generation: number }
  | { readonly type: 'tools.changed'; readonly generation: number }
  | { readonly type: 'tools.wanted' };

const DEFAULT_LIMITS: McpConnectionLimits = {
  maxFailures: 8,
  backoff: { kind: 'exponential', baseMs: 500, factor: 2, maxMs: 30_000, jitter: 1 },
  settleMs: 100,
  coolDownMs: 1000,
  provenMs: 10_000,
};

/** A server that asks to be left alone for longer is tried again all the same. */
const MOST_ASKED_MS = 300_000;

/** Codes that a further attempt cannot mend by itself. */
const HOPELESS: ReadonlySet<string> = new Set(['spawn-failed', 'protocol-error', 'limit-exceeded']);

const AFTER_FAILURE = [
  { guard: 'needsAuth', target: '#mcpConnection.AUTH_REQUIRED', actions: 'keepError' },
  { guard: 'isHopeless', target: '#mcpConnection.FAILED', actions: 'countFailure' },
  { guard: 'wasLastAttempt', target: '#mcpConnection.FAILED', actions: 'countFailure' },
  { target: '#mcpConnection.BACKING_OFF', actions: 'countFailure' },
] as const;

/** An event of an older link is taken and changes nothing. */
const AFTER_LOSS = [{ guard: 'isStale' }, ...AFTER_FAILURE] as const;

const notProvided = (): Promise<never> =>
  Promise.reject(new Error('This machine has no MCP client: provide its actors.'));

/**
 * Keeps one MCP server connected, and tells when it cannot. It outlives runs, takes its clock from `createActor`, and
 * ends never: after FAILED, AUTH_REQUIRED and STOPPED it can be asked again.
 */
export const mcpConnectionMachine = setup({
  types: {
    context: {} as McpConnectionContext,
    input: {} as { readonly server: string; readonly seed?: number; readonly limits?: Partial<McpConnectionLimits> },
    events: {} as McpConnectionEvent,
  },
  actors: {
    connectMcp: connectMcp({ connect: notProvided }),
    listMcpTools: listMcpTools({ listTools: notProvided }),
    pingMcp: pingMcp({ ping: notProvided }),
  },
  guards: {
    isStale: ({ context, event }) => 'generation' in event && event.generation !== context.generation,
    isCurrent: ({ context, event }) => 'generation' in event && event.generation === context.generation,
    isOutdated: ({ context }) => context.announced > context.heeded,
    needsAuth: ({ event }) => leafErrorOf(event).code === 'auth-required',
    isHopeless: ({ event }) => HOPELESS.has(leafErrorOf(event).code),
    wasLastAttempt: ({ context }) => context.failures + 1 >= context.limits.maxFailures,
  },
  actions: {
    beginGeneration: assign({ generation: ({ context }) => context.generation + 1, greeting: null }),
    keepGreeting: assign((_, greeting: McpGreeting) => ({ greeting })),
    heedAnnouncements: assign({ heeded: ({ context }) => context.announced }),
    noteAnnouncement: assign({ announced: ({ context }) => context.announced + 1 }),
    keepTools: assign(({ context }, tools: readonly McpTool[]) => ({
      tools,
      listings: context.listings + 1,
      error: null,
    })),
    keepError: assign({ error: ({ event }) => leafErrorOf(event) }),
    countFailure: assign({ failures: ({ context }) => context.failures + 1, error: ({ event }) => leafErrorOf(event) }),
    forgetFailures: assign({ failures: 0 }),
    allowOneAttempt: assign({ failures: ({ context }) => context.limits.maxFailures - 1 }),
  },
  delays: {
    backoff: ({ context }) =>
      Math.max(
        backoffMs(context.limits.backoff, context.failures, context.seed + context.generation),
        Math.min(MOST_ASKED_MS, askedMs(context.error)),
      ),
    settle: ({ context }) => context.limits.settleMs,
    coolDown: ({ context }) => context.limits.coolDownMs,
    proven: ({ context }) => context.limits.provenMs,
  },
}).createMachine({
  id: 'mcpConnection',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({
    server: input.server,
    limits: { ...DEFAULT_LIMITS, ...input.limits },
    generation: 0,
    failures: 0,
    seed: input.seed ?? 0,
    greeting: null,
    tools: [],
    listings: 0,
    announced: 0,
    heeded: 0,
    error: null,
  }),
  initial: 'IDLE',
  on: {
    'connection.stopped': '.STOPPED',
    'tools.changed': { guard: 'isCurrent', actions: 'noteAnnouncement' },
  },
  states: {
    IDLE: { on: { 'connection.wanted': 'CONNECTING', 'call.wanted': 'CONNECTING' } },
    CONNECTING: {
      entry: 'beginGeneration',
      invoke: {
        id: 'connectMcp',
        src: 'connectMcp',
        input: ({ context }) => linkOf(context),
        onDone: { target: 'DISCOVERING', actions: { type: 'keepGreeting', params: ({ event }) => event.output } },
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    DISCOVERING: {
      entry: 'heedAnnouncements',
      invoke: {
        id: 'listMcpTools',
        src: 'listMcpTools',
        input: ({ context }) => linkOf(context),
        onDone: { target: 'READY', actions: { type: 'keepTools', params: ({ event }) => event.output } },
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    READY: {
      initial: 'LISTED',
      after: { proven: { actions: 'forgetFailures' } },
      on: {
        'link.lost': AFTER_LOSS,
        'link.doubted': { guard: 'isCurrent', target: 'SUSPECT' },
        'link.proved': { guard: 'isCurrent', actions: 'forgetFailures' },
      },
      states: {
        LISTED: {
          always: { guard: 'isOutdated', target: 'SETTLING' },
          on: { 'tools.wanted': 'REFRESHING' },
        },
        SETTLING: {
          after: { settle: 'REFRESHING' },
          on: { 'tools.wanted': 'REFRESHING' },
        },
        REFRESHING: {
          entry: 'heedAnnouncements',
          invoke: {
            id: 'listMcpTools',
            src: 'listMcpTools',
            input: ({ context }) => linkOf(context),
            onDone: { target: 'LISTED', actions: { type: 'keepTools', params: ({ event }) => event.output } },
            onError: { target: '#mcpConnection.SUSPECT', actions: 'keepError' },
          },
        },
      },
    },
    SUSPECT: {
      invoke: {
        id: 'pingMcp',
        src: 'pingMcp',
        input: ({ context }) => linkOf(context),
        onDone: 'READY',
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    BACKING_OFF: {
      after: { backoff: 'CONNECTING' },
      on: { 'connection.wanted': 'CONNECTING' },
    },
    FAILED: {
      initial: 'RESTING',
      on: { 'connection.wanted': { target: 'CONNECTING', actions: 'forgetFailures' } },
      states: {
        RESTING: { after: { coolDown: 'RESTED' }, on: { 'call.wanted': 'DEMANDED' } },
        DEMANDED: { after: { coolDown: { target: '#mcpConnection.CONNECTING', actions: 'allowOneAttempt' } } },
        RESTED: { on: { 'call.wanted': { target: '#mcpConnection.CONNECTING', actions: 'allowOneAttempt' } } },
      },
    },
    AUTH_REQUIRED: { on: { 'connection.wanted': 'CONNECTING' } },
    STOPPED: { on: { 'connection.wanted': { target: 'CONNECTING', actions: 'forgetFailures' } } },
  },
});

/** How long the server asked to be left alone. */
function askedMs(error: LeafError | null): number {
  const data = error?.data;
  const ms = isJsonObject(data) ? data.retryAfterMs : 0;
  return typeof ms === 'number' ? ms : 0;
}

function linkOf({ server, generation }: McpConnectionContext): McpGeneration {
  return { server, generation };
}
