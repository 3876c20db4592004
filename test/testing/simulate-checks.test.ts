import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { type AgentOptions, createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { type SimulateOptions, scriptedModel, simulate } from '../../src/testing/index.ts';
import { temporaryFolder } from '../cli/spawn-cli.ts';

const agent = (options: AgentOptions) => createAgent({ ...options });
const plain = { seeds: 2, faults: [], model: ['Done.'] } as const;

test.each<[string, SimulateOptions]>([
  ['seeds', { seeds: Number.NaN }],
  ['seeds', { seeds: -1 }],
  ['seeds', { seeds: 0 }],
  ['seeds', { seeds: 1.5 }],
  ['seeds', { seeds: [] }],
  ['seeds', { seeds: [1, Number.NaN] }],
  ['budgetMs', { budgetMs: 0 }],
  ['tool.trow agent/c1/callTool#1', { only: ['without request 1', 'tool.trow agent/c1/callTool#1'] }],
  ['maxFailures', { maxFailures: 0 }],
  ['process.crash', { faults: { 'process.crash': 7 } }],
  ['process.crash', { faults: { 'process.crash': Number.NaN } }],
])('a number that is worked out wrongly is refused, and simulates nothing: %s', async (name, options) => {
  let runs = 0;
  const found = simulate(agent, { ...plain, ...options, onProgress: () => void runs++ });
  await expect(found).rejects.toMatchObject({ code: 'wrong-option', message: expect.stringContaining(`'${name}'`) });
  expect(runs).toBe(0);
});

test.each(['always', 'check', 'begin', 'onProgress'])(
  'what is not a function is refused as %s, and is no failure',
  async (name) => {
    const given = [agent, { ...plain, [name]: { claims: () => true } }];
    const found: unknown = Reflect.apply(simulate, undefined, given);
    const message = `simulate: option '${name}' must be a function, and is an object.`;
    await expect(found).rejects.toMatchObject({ code: 'wrong-option', message });
  },
);

test.each<[string, unknown, string]>([
  ['an async function', async () => createAgent({}), 'returned a promise'],
  ['a function that forgets to return it', () => void createAgent({}), 'returned undefined'],
  ['a promise', Promise.resolve(createAgent({})), 'is a promise'],
  ['null', null, 'is null'],
  ['options', { model: 'practice' }, 'is an object that is none'],
])('what is no agent is refused, and the clock is real again: %s', async (_what, given, words) => {
  const now = Date.now();
  const found: unknown = Reflect.apply(simulate, undefined, [given, plain]);
  await expect(found).rejects.toMatchObject({ code: 'wrong-option', message: expect.stringContaining(words) });
  expect(Math.abs(Date.now() - now)).toBeLessThan(60_000);
});

test.each<[string, (options: AgentOptions) => ReturnType<typeof createAgent>]>([
  ['leaves them out', () => createAgent({ silent: true })],
  ['has a journal of its own behind them', (options) => createAgent({ ...options, journal: memoryJournal() })],
])(
  'a function that makes an agent without the options that it gets is refused, and no run begins: it %s',
  async (_what, given) => {
    let runs = 0;
    const found = simulate(given, { ...plain, onProgress: () => void runs++ });
    const message = expect.stringContaining('must pass on the options that it gets');
    await expect(found).rejects.toMatchObject({ code: 'wrong-option', message });
    expect(runs).toBe(0);
    const own = (options: AgentOptions) => createAgent({ ...options, silent: true, model: scriptedModel(['Mine.']) });
    expect((await simulate(own, { ...plain, seeds: 1 })).failures).toEqual([]);
  },
);

test('a timer that was set before a simulation can be cleared in it', async () => {
  let count = 0;
  const timer = setInterval(() => void count++, 5);
  await simulate(agent, { ...plain, begin: () => clearInterval(timer) });
  const then = count;
  await new Promise((resolve) => setTimeout(resolve, 50));
  clearInterval(timer);
  expect(count).toBe(then);
});

describe('a check of my own', () => {
  const found = async (options: SimulateOptions) =>
    (await simulate(agent, { ...plain, ...options })).failures.map(({ check, reason }) => `${check}: ${reason}`);

  test('may wait: what its promise gives counts', async () => {
    const later = <T>(value: T) => new Promise<T>((resolve) => setImmediate(() => resolve(value)));
    expect(await found({ check: async () => 'always wrong' })).toEqual(['check: always wrong']);
    expect(await found({ check: () => later(false) })).toEqual(['check: it is false']);
    expect(await found({ check: () => later(true) })).toEqual([]);
    expect(await found({ check: async () => undefined })).toEqual([]);
    const query = () => Object.assign({}, { then: (done: (value: string) => void) => done('always wrong') });
    expect(await found({ check: query })).toEqual(['check: always wrong']);
    const throws = async () => {
      await later(0);
      throw new Error('no answer');
    };
    expect(await found({ check: throws })).toEqual(['check: no answer']);
  });

  test('that never settles is told', async () => {
    const seeds = [1];
    expect(await found({ seeds, check: () => new Promise(() => undefined) })).toEqual([
      'check: it had not settled after 1000 ms',
    ]);
  });

  test('of every state cannot wait, and says so', async () => {
    expect(await found({ always: async () => true })).toEqual([
      'always: it gives a promise, and no state waits for that',
    ]);
    expect(await found({ always: () => true })).toEqual([]);
  });
});

describe('what a tool throws when nobody waits for it', () => {
  const failing = (act: () => void) => (options: AgentOptions) =>
    createAgent({
      tools: [
        tool({
          name: 'act',
          description: 'Acts.',
          effects: 'none',
          execute: () => {
            act();
            return new Promise((resolve) => setTimeout(() => resolve('acted'), 50));
          },
        }),
      ],
      ...options,
    });
  const boom = () => {
    throw new Error('later boom');
  };
  test.each([
    ['a timer', () => void setTimeout(boom, 10)],
    ['a microtask', () => queueMicrotask(boom)],
    ['the next turn', () => void setImmediate(boom)],
  ])('in %s is a failure with its seed, and the other seeds run', async (_where, act) => {
    const listeners = process.listeners('uncaughtException');
    const model = [{ content: '', toolCalls: [{ name: 'act' }] }, 'Done.'];
    const { failures, runs } = await simulate(failing(act), { seeds: 3, faults: [], model });
    expect(failures).toMatchObject([{ check: 'uncaught exception', reason: 'later boom', seed: 1, count: 3 }]);
    expect(runs).toBe(3);
    expect(process.listeners('uncaughtException')).toEqual(listeners);
  });

  test('is none where nothing is thrown', async () => {
    const model = [{ content: '', toolCalls: [{ name: 'act' }] }, 'Done.'];
    const { failures } = await simulate(
      failing(() => undefined),
      { seeds: 3, faults: [], model },
    );
    expect(failures).toEqual([]);
  });
});

describe("the user's own permission file", () => {
  async function atHome(work: (home: string) => Promise<void>): Promise<void> {
    await using folder = await temporaryFolder();
    const { HOME } = process.env;
    process.env['HOME'] = folder.path;
    try {
      await work(folder.path);
    } finally {
      if (HOME === undefined) delete process.env['HOME'];
      else process.env['HOME'] = HOME;
    }
  }

  test('has nothing that a simulation allowed to a child agent, and the child uses it again afterwards', () =>
    atHome(async (home) => {
      let paid = 0;
      const pay = tool({ name: 'pay', description: 'Pays.', policy: 'confirm', execute: () => ++paid });
      const model: Model = {
        toolCalling: 'native',
        complete: async ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { content: 'Paid.' }
            : { content: '', toolCalls: [{ name: 'pay', arguments: '{}' }] },
      };
      const below = createAgent({ name: 'below', description: 'Pays.', tools: [pay], model, silent: true });
      const above = (options: AgentOptions) => createAgent({ ...options, children: [below] });
      expect((await simulate(above, { seeds: 60, faults: ['process.crash'] })).failures).toEqual([]);
      expect(paid).toBeGreaterThan(0);
      expect(await readdir(home)).not.toContain('.signalbox');
      below.configure({ confirm: () => 'always-allow' });
      expect(await below.run('Pay')).toMatchObject({ status: 'answered', toolsUsed: ['pay'] });
      expect(await readdir(home)).toContain('.signalbox');
    }));
});
