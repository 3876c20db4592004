/**
 * Owns: the life of one call of an MCP server, from being made to being settled: whether it waits, is sent, rests, is sent
 * again or is over. Does not own: the connection, the link, what is sent, and the call's time limits.
 *
 * I1 A call is settled once; what comes later changes nothing.
 * I2 A call is sent at most twice, and a second time only after the first attempt was lost. An attempt that the server
 *    turned away until later does not count. A call that continues what the server has begun continues as often as its
 *    time allows.
 * I3 A call that may not be repeated is never sent again once a request of it may have reached the server.
 * I4 A call that has waited long enough for a connection that is not being attempted is rejected. A lost call first
 *    causes one more connection attempt.
 */
import { withOutput } from '../contract/assign.ts';
import { setup } from 'xstate';
import { assign } from '../contract/assign.ts';
import { leaf } from '../../actors/leaf.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortLived } from '../contract/short-lived.ts';

/** How an attempt was lost. */
export interface McpCallLoss {
  /** The server may have begun to carry it out. */
  readonly delivered: boolean;
  /** `continues`: nothing is begun by sending it again. Otherwise whether it may be carried out twice. */
  readonly repeat: 'continues' | 'allowed' | 'forbidden';
}

/** The outcome of one attempt. */
export type McpCallOutcome =
  | { readonly kind: 'answered' }
  /** Nothing can be made better by sending it again. */
  | { readonly kind: 'failed' }
  /** The server turned it away until later. */
  | { readonly kind: 'postponed'; readonly waitMs: number }
  /** The token was refused; `isFinal`: there is no other token. */
  | ({ readonly kind: 'unauthorized'; readonly isFinal: boolean } & McpCallLoss)
  | ({ readonly kind: 'lost' } & McpCallLoss);

/** What a call knows of itself: plain JSON. */
export interface McpCallContext {
  /** Identifies the call. */
  readonly call: number;
  /** How long it waits for a connection that is not being attempted, in milliseconds. */
  readonly patienceMs: number;
  /** The longest time that it may rest all in all, in milliseconds. */
  readonly mostRestMs: number;
  /** The connection is not being attempted at the moment. */
  readonly isIdle: boolean;
  /** The link that it is under way on; null while it waits. */
  readonly generation: number | null;
  readonly attempts: number;
  /** A request of it may have reached the server. */
  readonly delivered: boolean;
  readonly postponements: number;
  readonly restedMs: number;
  /** How long it rests now. */
  readonly restMs: number;
}

/** What a call is made with. */
export type McpCallInput = Pick<McpCallContext, 'call' | 'patienceMs' | 'mostRestMs' | 'isIdle'>;

/** What happens to a call. */
export type McpCallEvent =
  /** There is a link to send it on. */
  | { readonly type: 'link.opened'; readonly generation: number }
  | ({ readonly type: 'link.lost'; readonly generation: number } & McpCallLoss)
  /** The connection is no longer being attempted. */
  | { readonly type: 'connection.idle' }
  | { readonly type: 'connection.tried' }
  /** The connection is out of use. */
  | { readonly type: 'call.refused' }
  | { readonly type: 'call.cancelled' }
  | { readonly type: 'time.over' };

/** How often a server may turn one call away until later. */
const MOST_POSTPONEMENTS = 5;

/** Sends a call once, on a link. */
export interface McpCallSender {
  send(attempt: { readonly call: number; readonly generation: number }, signal: AbortSignal): Promise<McpCallOutcome>;
}

/** One attempt of a call. It never fails: what goes wrong is an outcome. */
export const sendMcpCall = (sender: McpCallSender) =>
  leaf('sendMcpCall', 'once', (attempt: Parameters<McpCallSender['send']>[0], { signal }) =>
    sender.send(attempt, signal),
  );

const machine = setup({
  types: {
    context: {} as McpCallContext,
    input: {} as McpCallInput,
    events: {} as McpCallEvent,
  },
  actors: {
    sendMcpCall: sendMcpCall({
      send: () => Promise.reject(new Error('This machine has no MCP client: provide its actors.')),
    }),
  },
  guards: {
    connectionIsTried: ({ context }) => !context.isIdle,
    wasSentBefore: ({ context }) => context.attempts > 0,
    isStale: ({ context }, generation: number) => generation !== context.generation,
    wasAnswered: (_, { kind }: McpCallOutcome) => kind === 'answered',
    mayRest: ({ context }, outcome: McpCallOutcome) =>
      outcome.kind === 'postponed' &&
      context.postponements < MOST_POSTPONEMENTS &&
      context.restedMs + outcome.waitMs < context.mostRestMs,
    hasNoOtherToken: ({ context }, outcome: McpCallOutcome) =>
      outcome.kind === 'unauthorized' && (outcome.isFinal || context.attempts > 1),
    mayBeSentAgain: ({ context }, outcome: McpCallOutcome) => maySendAgain(context, lossIn(outcome)),
    wasLost: (_, outcome: McpCallOutcome) => lossIn(outcome) !== null,
  },
  actions: {
    noteIdle: assign({ isIdle: true }),
    noteTried: assign({ isIdle: false }),
    takeLink: assign(({ context }, generation: number) => ({ generation, attempts: context.attempts + 1 })),
    leaveLink: assign({ generation: null }),
    noteDelivery: assign(({ context }, outcome: McpCallOutcome) => ({
      delivered: context.delivered || lossIn(outcome)?.delivered === true,
    })),
    postpone: assign(({ context }, outcome: McpCallOutcome) => {
      const restMs = outcome.kind === 'postponed' ? outcome.waitMs : 0;
      const { attempts, postponements, restedMs } = context;
      return { attempts: attempts - 1, postponements: postponements + 1, restedMs: restedMs + restMs, restMs };
    }),
  },
  delays: {
    patience: ({ context }) => context.patienceMs,
    rest: ({ context }) => context.restMs,
  },
}).createMachine({
  id: 'mcpCall',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({
    ...input,
    generation: null,
    attempts: 0,
    delivered: false,
    postponements: 0,
    restedMs: 0,
    restMs: 0,
  }),
  initial: 'WAITING',
  on: {
    'connection.idle': { actions: 'noteIdle' },
    'connection.tried': { actions: 'noteTried' },
    'call.refused': '.REFUSED',
    'call.cancelled': '.CANCELLED',
    'time.over': '.TIMED_OUT',
  },
  states: {
    WAITING: {
      initial: 'PATIENT',
      entry: 'leaveLink',
      on: {
        'link.opened': {
          target: 'UNDER_WAY',
          actions: { type: 'takeLink', params: ({ event }) => event.generation },
        },
      },
      states: {
        PATIENT: {
          after: {
            patience: [
              { guard: 'connectionIsTried', target: 'IMPATIENT' },
              { guard: 'wasSentBefore', target: 'DEMANDING' },
              { target: '#mcpCall.REFUSED' },
            ],
          },
        },
        IMPATIENT: { on: { 'connection.idle': '#mcpCall.REFUSED' } },
        DEMANDING: { on: { 'connection.idle': '#mcpCall.REFUSED' } },
      },
    },
    UNDER_WAY: {
      initial: 'SENT',
      on: {
        'link.lost': [
          { guard: { type: 'isStale', params: ({ event }) => event.generation } },
          {
            guard: { type: 'mayBeSentAgain', params: ({ event }) => lossOf(event) },
            target: 'WAITING',
            actions: { type: 'noteDelivery', params: ({ event }) => lossOf(event) },
          },
          { target: 'LOST', actions: { type: 'noteDelivery', params: ({ event }) => lossOf(event) } },
        ],
      },
      states: {
        SENT: {
          invoke: {
            id: 'sendMcpCall',
            src: 'sendMcpCall',
            input: ({ context }) => ({ call: context.call, generation: context.generation ?? 0 }),
            onDone: [
              { guard: withOutput('wasAnswered'), target: '#mcpCall.ANSWERED' },
              { guard: withOutput('mayRest'), target: 'RESTING', actions: withOutput('postpone') },
              { guard: withOutput('hasNoOtherToken'), target: '#mcpCall.FAILED' },
              { guard: withOutput('mayBeSentAgain'), target: '#mcpCall.WAITING', actions: withOutput('noteDelivery') },
              { guard: withOutput('wasLost'), target: '#mcpCall.LOST', actions: withOutput('noteDelivery') },
              { target: '#mcpCall.FAILED' },
            ],
            onError: '#mcpCall.FAILED',
          },
        },
        RESTING: { after: { rest: '#mcpCall.WAITING' } },
      },
    },
    ANSWERED: { type: 'final' },
    FAILED: { type: 'final' },
    LOST: { type: 'final' },
    REFUSED: { type: 'final' },
    CANCELLED: { type: 'final' },
    TIMED_OUT: { type: 'final' },
  },
});

/** Carries one call through: it waits for a link, is sent, and is sent again where that is safe. */
export const mcpCallMachine = shortLived(machine);

/** Whether a call is sent again after its link was lost. */
function maySendAgain({ attempts, delivered }: McpCallContext, loss: McpCallLoss | null): boolean {
  if (loss === null) return false;
  if (loss.repeat === 'continues') return true;
  return attempts < 2 && (loss.repeat === 'allowed' || !(delivered || loss.delivered));
}

/** How an attempt was lost; null if it was not. */
function lossIn(outcome: McpCallOutcome): McpCallLoss | null {
  return 'repeat' in outcome ? outcome : null;
}

function lossOf({ delivered, repeat }: McpCallLoss): McpCallOutcome {
  return { kind: 'lost', delivered, repeat };
}
