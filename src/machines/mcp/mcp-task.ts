/**
 * Owns: the life of one tool call that its MCP server runs as a task. Does not own: the connection, and the call's time
 * limits.
 *
 * I1 A task is begun once: as soon as its id is known, a new connection continues with that task.
 * I2 SUCCEEDED has a result of the tool, never the word that there is a task.
 * I3 While waiting for a result that needs someone's answer first, the status is still polled: a server that answers is at work.
 * I4 An abandoned call cancels its task, even if the task's id arrives only afterwards.
 */
import { withOutput } from '../contract/assign.ts';
import { setup, stateIn } from 'xstate';
import { assign } from '../contract/assign.ts';
import type { LeafError } from '../../actors/journal.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import {
  type McpTask,
  type McpTaskBegun,
  beginMcpTask,
  cancelMcpTask,
  fetchMcpTask,
  pollMcpTask,
} from '../../actors/mcp/mcp-task-calls.ts';
import type { JsonObject } from '../../json/json.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortLived } from '../contract/short-lived.ts';

/** What a call knows of its task: plain JSON. */
export interface McpTaskContext {
  /** Null until the server has given it an id. */
  readonly task: McpTask | null;
  /** The raw result of the tool, once there is one. */
  readonly result: JsonObject | null;
  readonly error: LeafError | null;
}

/** The events of a call. */
export type McpTaskEvent =
  /** There is a connection to continue with. */
  | { readonly type: 'link.opened' }
  /** The connection on which it was under way is gone. */
  | { readonly type: 'link.lost' }
  | { readonly type: 'call.cancelled' };

/** The shortest polling interval, in milliseconds, even if the server asks for a shorter one. */
const SHORTEST_POLL_MS = 100;
const LONGEST_POLL_MS = 30_000;
/** How long to wait for the id of an abandoned task, and for its cancellation. */
const GOODBYE_MS = 5000;

const notProvided = (): Promise<never> =>
  Promise.reject(new Error('This machine has no MCP client: provide its actors.'));

/** Without an answer from the server the connection failed: the task may continue, and so does the call on the next one. */
const AFTER_FAILURE = [
  { guard: 'wasRefused', target: '#mcpTask.FAILED', actions: 'keepError' },
  { target: '#mcpTask.UNLINKED' },
] as const;

const machine = setup({
  types: {
    context: {} as McpTaskContext,
    input: {} as { readonly task: McpTask | null },
    events: {} as McpTaskEvent,
  },
  actors: {
    beginMcpTask: beginMcpTask({ begin: notProvided }),
    pollMcpTask: pollMcpTask({ status: notProvided }),
    fetchMcpTask: fetchMcpTask({ result: notProvided }),
    cancelMcpTask: cancelMcpTask({ cancel: notProvided }),
  },
  guards: {
    hasTaskId: ({ context }) => context.task !== null,
    wasRefused: ({ event }) => leafErrorOf(event).code === 'answer',
    isCancelled: stateIn({ BEGINNING: 'UNWANTED' }),
    wasAnsweredAtOnce: (_, begun: McpTaskBegun) => begun.result !== null,
    isWorking: (_, task: McpTask) => task.status === 'working',
    wasCancelledByServer: (_, task: McpTask) => task.status === 'cancelled',
  },
  actions: {
    keepTask: assign((_, task: McpTask | null) => ({ task })),
    keepResult: assign((_, result: JsonObject | null) => ({ result })),
    keepError: assign({ error: ({ event }) => leafErrorOf(event) }),
  },
  delays: {
    pollInterval: ({ context }) =>
      Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, context.task?.pollMs ?? SHORTEST_POLL_MS)),
    cancelTimeout: GOODBYE_MS,
  },
}).createMachine({
  id: 'mcpTask',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({ task: input.task, result: null, error: null }),
  initial: 'UNLINKED',
  states: {
    UNLINKED: {
      on: {
        'link.opened': [{ guard: 'hasTaskId', target: 'POLLING' }, { target: 'BEGINNING' }],
        'call.cancelled': [{ guard: 'hasTaskId', target: 'CANCELLING' }, { target: 'CANCELLED' }],
      },
    },
    BEGINNING: {
      initial: 'WANTED',
      invoke: {
        id: 'beginMcpTask',
        src: 'beginMcpTask',
        input: ({ context }) => taskOf(context),
        onDone: [
          {
            guard: withOutput('wasAnsweredAtOnce'),
            target: 'SUCCEEDED',
            actions: { type: 'keepResult', params: ({ event }) => event.output.result },
          },
          {
            guard: 'isCancelled',
            target: 'CANCELLING',
            actions: { type: 'keepTask', params: ({ event }) => event.output.task },
          },
          { target: 'WAITING', actions: { type: 'keepTask', params: ({ event }) => event.output.task } },
        ],
        onError: [{ guard: 'isCancelled', target: 'CANCELLED' }, ...AFTER_FAILURE],
      },
      on: { 'link.lost': [{ guard: 'isCancelled', target: 'CANCELLED' }, { target: 'UNLINKED' }] },
      states: {
        WANTED: { on: { 'call.cancelled': 'UNWANTED' } },
        UNWANTED: { after: { cancelTimeout: '#mcpTask.CANCELLED' } },
      },
    },
    WAITING: {
      after: { pollInterval: 'POLLING' },
      on: { 'link.lost': 'UNLINKED', 'call.cancelled': 'CANCELLING' },
    },
    POLLING: {
      invoke: {
        id: 'pollMcpTask',
        src: 'pollMcpTask',
        input: ({ context }) => taskOf(context),
        onDone: [
          { guard: withOutput('isWorking'), target: 'WAITING', actions: withOutput('keepTask') },
          { guard: withOutput('wasCancelledByServer'), target: 'FAILED', actions: withOutput('keepTask') },
          { target: 'FETCHING', actions: withOutput('keepTask') },
        ],
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': 'UNLINKED', 'call.cancelled': 'CANCELLING' },
    },
    FETCHING: {
      initial: 'RESTING',
      invoke: {
        id: 'fetchMcpTask',
        src: 'fetchMcpTask',
        input: ({ context }) => taskOf(context),
        onDone: { target: 'SUCCEEDED', actions: withOutput('keepResult') },
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': 'UNLINKED', 'call.cancelled': 'CANCELLING' },
      states: {
        RESTING: { after: { pollInterval: 'LOOKING' } },
        LOOKING: {
          invoke: {
            id: 'pollMcpTask',
            src: 'pollMcpTask',
            input: ({ context }) => taskOf(context),
            onDone: { target: 'RESTING', actions: withOutput('keepTask') },
            onError: 'RESTING',
          },
        },
      },
    },
    CANCELLING: {
      invoke: {
        id: 'cancelMcpTask',
        src: 'cancelMcpTask',
        input: ({ context }) => taskOf(context),
        onDone: 'CANCELLED',
        onError: 'CANCELLED',
      },
      after: { cancelTimeout: 'CANCELLED' },
    },
    SUCCEEDED: { type: 'final' },
    FAILED: { type: 'final' },
    CANCELLED: { type: 'final' },
  },
});

/**
 * Carries one call through as a task: begin, poll as often as the server likes, fetch the result. It begins in UNLINKED
 * and comes back there when the connection is lost.
 */
export const mcpTaskMachine = shortLived(machine);

function taskOf({ task }: McpTaskContext): { readonly task: string } {
  return { task: task?.id ?? '' };
}
