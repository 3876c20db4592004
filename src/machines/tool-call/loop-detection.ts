/**
 * Watches for an agent that goes round in circles.
 *
 * I1 A call is refused when it would begin round `limit` of a cycle of one, two or three calls, or when this very
 *    call has failed with one and the same error in `limit - 1` rounds, whatever was called in between.
 * I2 The first call of the round before that carries a nudge; a loop is nudged once.
 * I3 Tools that poll are invisible to it.
 */
import { type SnapshotFrom, createActor, setup } from 'xstate';
import { assign } from '../contract/assign.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';

/** What is decided about a call before it starts. */
export type LoopVerdict = 'clear' | 'nudge' | 'refuse';

/** A call that is about to start. `key` is the same for the same tool with the same arguments. */
export interface CallProposed {
  readonly type: 'call.proposed';
  readonly key: string;
}

/** A batch of calls has ended; each call's outcome in it, `error` being null when it did not fail. */
export interface RoundSettled {
  readonly type: 'round.settled';
  readonly results: readonly { readonly key: string; readonly error: string | null }[];
}

/** What the detection remembers. */
export interface LoopContext {
  readonly limit: number;
  /** The latest keys, newest last, as many as the longest cycle needs. */
  readonly recent: readonly string[];
  readonly failures: { readonly [key: string]: { readonly error: string; readonly rounds: number } };
  readonly verdict: LoopVerdict;
}

const LONGEST_CYCLE = 3;

export const loopDetectionMachine = setup({
  types: {
    context: {} as LoopContext,
    input: {} as { readonly limit: number },
    events: {} as CallProposed | RoundSettled,
  },
  guards: {
    reachesLimit: ({ context, event }) => event.type === 'call.proposed' && roundOf(context, event) >= context.limit,
    isOneBelowLimit: ({ context, event }) =>
      event.type === 'call.proposed' && roundOf(context, event) === context.limit - 1 && context.limit > 2,
  },
  actions: {
    remember: assign({
      recent: ({ context, event }) =>
        event.type === 'call.proposed'
          ? [...context.recent, event.key].slice(-LONGEST_CYCLE * context.limit)
          : context.recent,
    }),
    countFailures: assign({
      failures: ({ context, event }) =>
        event.type === 'round.settled' ? counted(context.failures, event) : context.failures,
    }),
    clear: assign({ verdict: 'clear' }),
    nudge: assign({ verdict: 'nudge' }),
    refuse: assign({ verdict: 'refuse' }),
  },
}).createMachine({
  id: 'loopDetection',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({ limit: input.limit, recent: [], failures: {}, verdict: 'clear' }),
  initial: 'OBSERVING',
  on: {
    'round.settled': { actions: 'countFailures' },
    'call.proposed': [
      { guard: 'reachesLimit', target: '.LOOPING', actions: ['remember', 'refuse'] },
      { guard: 'isOneBelowLimit', target: '.SUSPICIOUS', actions: ['remember', 'nudge'] },
      { target: '.OBSERVING', actions: ['remember', 'clear'] },
    ],
  },
  states: {
    OBSERVING: {},
    SUSPICIOUS: {
      on: {
        'call.proposed': [
          { guard: 'reachesLimit', target: 'LOOPING', actions: ['remember', 'refuse'] },
          { guard: 'isOneBelowLimit', actions: ['remember', 'clear'] },
          { target: 'OBSERVING', actions: ['remember', 'clear'] },
        ],
      },
    },
    LOOPING: {},
  },
});

/** The state of the detection: plain data, kept by its caller. */
export type LoopSnapshot = Pick<SnapshotFrom<typeof loopDetectionMachine>, 'value' | 'context'>;

/** The detection before the first call. */
export function loopBegun(limit: number): LoopSnapshot {
  return plain(loopDetectionMachine.getInitialSnapshot(scope, { limit }));
}

/** One step, pure. XState's own `transition` does the same, but makes an actor for every step, which costs more. */
export function loopStepped(loop: LoopSnapshot, event: CallProposed | RoundSettled): LoopSnapshot {
  return plain(loopDetectionMachine.transition(loopDetectionMachine.resolveState(loop), event, scope));
}

/** A snapshot holds its machine, which no persisted snapshot can. */
function plain({ value, context }: SnapshotFrom<typeof loopDetectionMachine>): LoopSnapshot {
  return { value, context };
}

const never = createActor(loopDetectionMachine, { input: { limit: 2 } });
const nothing = (): void => undefined;

/** The machine asks nothing of the actor that steps it, so one that never starts serves all. */
const scope = {
  self: never,
  id: never.id,
  sessionId: never.sessionId,
  system: never.system,
  logger: nothing,
  defer: nothing,
  emit: nothing,
  stopChild: nothing,
  actionExecutor: nothing,
};

/** The round that this call begins or belongs to: 1 for a call that repeats nothing. */
function roundOf(context: LoopContext, call: CallProposed): number {
  let most = 1 + (context.failures[call.key]?.rounds ?? 0);
  for (let period = 1; period <= LONGEST_CYCLE; period++) {
    most = Math.max(most, 1 + fullRounds([...context.recent, call.key], period));
  }
  return most;
}

/** How many whole rounds of a cycle of `period` calls stand before the last call, which continues the cycle. */
function fullRounds(keys: readonly string[], period: number): number {
  const last = keys.length - 1;
  let same = 0;
  while (last - same - period >= 0 && keys[last - same] === keys[last - same - period]) same++;
  if (same === 0 || (period > 1 && isOneCall(keys.slice(-period)))) return 0;
  return Math.floor((same + period - 1) / period);
}

function isOneCall(keys: readonly string[]): boolean {
  return keys.every((key) => key === keys[0]);
}

function counted(before: LoopContext['failures'], { results }: RoundSettled): LoopContext['failures'] {
  const after = { ...before };
  for (const { key, error } of results) {
    if (error === null) delete after[key];
    else if (after[key] === before[key]) {
      after[key] = { error, rounds: before[key]?.error === error ? before[key].rounds + 1 : 1 };
    }
  }
  return after;
}
