import { type AnyStateMachine, assign, cancel, createActor, createMachine, raise, stateIn } from 'xstate';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { canReach, explorePaths } from '../../src/testing/index.ts';

class Counter {
  readonly #count: number;
  constructor(count: number) {
    this.#count = count;
  }
  get count(): number {
    return this.#count;
  }
}

const N = Symbol.for('n');

interface Kind<T> {
  readonly first: T;
  readonly next: (value: T) => T;
  readonly isThird: (value: T) => boolean;
}

const kind = <T>(first: T, next: (value: T) => T, isThird: (value: T) => boolean): Kind<unknown> =>
  ({ first, next, isThird }) as Kind<unknown>;

const KINDS: { readonly [name: string]: Kind<unknown> } = {
  'a Map': kind(
    new Map([['n', 0]]),
    (map) => new Map([['n', (map.get('n') ?? 0) + 1]]),
    (map) => map.get('n') === 3,
  ),
  'a Set': kind(
    new Set<number>(),
    (set) => new Set([...set, set.size]),
    ({ size }) => size === 3,
  ),
  'a bigint beside a function': kind(
    { n: 0n, log: () => undefined },
    ({ n, log }) => ({ n: n + 1n, log }),
    ({ n }) => n === 3n,
  ),
  'a number that JSON does not have': kind(
    [Infinity, 0],
    ([n = 0]) => [n === Infinity ? -Infinity : NaN, Number.isNaN(n) ? 3 : 0],
    ([, m]) => m === 3,
  ),
  'a member that is undefined': kind<{ readonly [key: string]: undefined }>(
    {},
    (all) => ({ ...all, [`k${Object.keys(all).length}`]: undefined }),
    (all) => Object.keys(all).length === 3,
  ),
  'a date': kind(
    new Date(0),
    (date) => new Date(date.getTime() + 1),
    (date) => date.getTime() === 3,
  ),
  'an error': kind(
    new Error('0'),
    ({ message }) => new Error(String(Number(message) + 1)),
    ({ message }) => message === '3',
  ),
  'a member with a symbol as key': kind(
    { [N]: 0 },
    (all) => ({ [N]: all[N] + 1 }),
    (all) => all[N] === 3,
  ),
  'an object of a class': kind(
    new Counter(0),
    ({ count }) => new Counter(count + 1),
    ({ count }) => count === 3,
  ),
  'a function': kind(
    () => 0,
    (count) => {
      const n = count() + 1;
      return () => n;
    },
    (count) => count() === 3,
  ),
};

const counting = ({ first, next, isThird }: Kind<unknown>): AnyStateMachine =>
  createMachine({
    types: {} as { context: { readonly it: unknown } },
    context: { it: first },
    initial: 'COUNTING',
    states: {
      COUNTING: {
        after: {
          10: [
            { guard: ({ context }) => isThird(context.it), target: 'REACHED' },
            { target: 'COUNTING', reenter: true, actions: assign({ it: ({ context }) => next(context.it) }) },
          ],
        },
      },
      REACHED: { type: 'final' },
    },
  });

const sending = (...types: string[]) => ({ events: () => types.map((type) => ({ type })) });

describe('a state of a machine that is not ours is found', () => {
  test.for(Object.keys(KINDS))('if %s in its context leads to it', async (name) => {
    const machine = counting(KINDS[name] ?? expect.fail());
    expect(await canReach(machine, ({ state }) => state === 'REACHED', { maxPaths: 50 })).toBe(true);
  });

  test('if it is reached only by what a history state remembers', async () => {
    const machine = createMachine({
      id: 'remembering',
      type: 'parallel',
      states: {
        LEFT: {
          initial: 'FIRST',
          states: {
            FIRST: { on: { next: { guard: stateIn('#remembering.RIGHT.OUT'), target: 'SECOND' } } },
            SECOND: {},
          },
        },
        RIGHT: {
          initial: 'IN',
          states: {
            IN: {
              initial: 'X',
              states: {
                X: { on: { go: { guard: stateIn('#remembering.LEFT.FIRST'), target: 'Y' } } },
                Y: {},
                BEFORE: { type: 'history' },
              },
              on: { leave: 'OUT' },
            },
            OUT: { on: { back: '#remembering.RIGHT.IN.BEFORE' } },
          },
        },
      },
    });
    const isThere = ({ state }: { readonly state: string }) => state === 'LEFT.SECOND+RIGHT.IN.Y';
    expect(await canReach(machine, isThere, sending('go', 'leave', 'back', 'next'))).toBe(true);
  });

  test.for(['X', 'Y'])('if only one of two delayed events leads to it: %s', async (target) => {
    const machine = createMachine({
      initial: 'BOTH',
      states: {
        BOTH: {
          entry: [raise({ type: 'x' }, { delay: 10, id: 'x' }), raise({ type: 'y' }, { delay: 20, id: 'y' })],
          on: { forY: { target: 'ONE', actions: cancel('x') }, forX: { target: 'ONE', actions: cancel('y') } },
        },
        ONE: { on: { x: 'X', y: 'Y' } },
        X: {},
        Y: {},
      },
    });
    expect(await canReach(machine, ({ state }) => state === target, sending('forX', 'forY'))).toBe(true);
  });
});

test('what is equal is still one state, also with all kinds of values and a cycle in it', async () => {
  const made = () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    return { cycle, map: new Map([[{ k: 1 }, new Set([1n])]]), date: new Date(0), bytes: new Uint8Array(2), nan: NaN };
  };
  const machine = createMachine({
    context: made,
    initial: 'A',
    states: { A: { after: { 1: { target: 'B', actions: assign(made) } } }, B: { after: { 1: 'A' } } },
  });
  expect(await explorePaths(machine)).toMatchObject({ ok: true, exhaustive: true, configurations: 2 });
});

test('an object of a class says with toJSON what it is, and one that cannot be read is never the same', async () => {
  class Told {
    readonly toJSON = (): string => 'told';
  }
  const turning = (made: () => object): AnyStateMachine =>
    createMachine({
      context: () => ({ it: made() }),
      initial: 'A',
      states: { A: { after: { 1: { target: 'A', reenter: true, actions: assign({ it: made }) } } } },
    });
  expect(await explorePaths(turning(() => new Told()))).toMatchObject({ exhaustive: true, configurations: 1 });
  const thrown = (): never => {
    throw new Error('unreadable');
  };
  const unreadable = () => Object.defineProperty({}, 'it', { get: thrown, enumerable: true });
  expect(await explorePaths(turning(unreadable), { maxPaths: 20 })).toMatchObject({ exhaustive: false });
});

test('of a parallel machine the states of each region count as entered, and those that are not do not', async () => {
  const region = (event: string) => ({ initial: 'ON', states: { ON: { on: { [event]: 'OFF' } }, OFF: {}, OF: {} } });
  const machine = createMachine({ type: 'parallel', states: { LEFT: region('left'), RIGHT: region('right') } });
  const { coverage, states } = await explorePaths(machine, sending('left', 'right'));
  expect(states).toContain('(machine): LEFT.OFF+RIGHT.OFF');
  expect(coverage[0]?.states).toEqual({ covered: 6, total: 8, missed: ['LEFT.OF', 'RIGHT.OF'] });
});

test('what is neither an agent nor a machine is refused', async () => {
  const agent = createAgent({ silent: true });
  for (const given of [agent.logic, createActor(agent.machine, { input: { task: 'x' } }), undefined, null, 'agent.ts'])
    await expect(explorePaths(given as never)).rejects.toMatchObject({
      code: 'wrong-option',
      message: expect.stringContaining('must be an agent, or a machine such as agent.machine, and is'),
    });
});
