import { describe, expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay, transitions } from '../../src/journal/index.ts';
import { DEFAULT_SETTINGS } from '../../src/machines/contract/agent-setup.ts';
import { agentMachine, llmCallMachine, mcpConnectionMachine } from '../../src/machines/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import {
  type ExploreOptions,
  type View,
  canReach,
  explorePaths,
  fakeTool,
  scriptedModel,
} from '../../src/testing/index.ts';
import { SOAKING, cases } from '../support/soak.ts';

const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
const look = fakeTool('look', ['tea'], { inputSchema: schema, effects: 'none' });
const buy = fakeTool('buy', [7], { policy: 'confirm' });
const wipe = fakeTool('wipe', [null], { policy: 'deny' });

const agentWith = (options: Parameters<typeof createAgent>[0] = {}) =>
  createAgent({ model: scriptedModel([]), silent: true, maxSteps: 2, ...options });

/** In one step; a loop takes two. */
const WAYS_TO_END = ['answer', 'llm-error', 'max-steps', 'cancelled', 'refused', 'content-filter', 'length'];

describe('exploring an agent as it is configured', () => {
  test('proves the laws of a small agent, and says that everything was visited', async () => {
    const found = await explorePaths(
      agentWith(SOAKING ? { tools: [look, buy, wipe] } : { tools: [look, buy], maxSteps: 1 }),
    );
    expect(found.violations).toEqual([]);
    expect(found).toMatchObject({ ok: true, exhaustive: true, bounds: [] });
    const reasons = new Set(found.paths.map(({ reason }) => reason));
    expect(reasons).toEqual(new Set([...WAYS_TO_END, ...(SOAKING ? ['loop'] : [])]));
    expect(new Set(found.paths.map(({ state }) => state))).toEqual(new Set(['COMPLETION']));
    expect(found.states).toContain('toolCall: AWAITING_APPROVAL.ASKING');
    expect(found.laws.every(({ held }) => held)).toBe(true);
  });

  test('runs nothing and asks nobody: tools, model and person stay untouched', async () => {
    const model = scriptedModel([]);
    const asked: string[] = [];
    const agent = agentWith({ model, tools: [look, buy], confirm: ({ tool }) => (asked.push(tool), 'deny') });
    await explorePaths(agent, { maxSteps: 1 });
    expect([model.requests, look.calls, buy.calls, asked]).toEqual([[], [], [], []]);
    expect(agent.history).toEqual([]);
  });

  test('finds the shortest way to what must never be, as a recording that replays to it', async () => {
    const agent = agentWith({ tools: [look, buy] });
    const never = { 'buys before it looks': ({ ran }: View) => ran[0]?.tool === 'buy' };
    const found = await explorePaths(agent, { never, maxPaths: cases(100, 20_000) });
    const [violation] = found.violations;
    expect(violation).toMatchObject({ law: 'buys before it looks', state: 'DIRECT_EXECUTION.RUNNING_CALLS' });
    expect(violation?.path).toEqual(['the model calls buy', 'the person asked about buy (c1) allows it once']);
    const counterexample = violation?.counterexample ?? '';
    expect(transitions(counterexample).at(-2)).toMatchObject({ actor: 'agent/c1', to: 'RUNNING' });
    const result = await replay(counterexample, agent);
    expect(result).toMatchObject({ status: 'cancelled', error: { message: expect.stringContaining('buys before') } });
  });

  test('the same exploration gives the same counterexample, byte for byte', async () => {
    const once = () => explorePaths(agentWith({ tools: [look] }), { never: ({ ran }) => ran.length > 0 });
    const [first, second] = [await once(), await once()];
    expect(first.violations[0]?.counterexample).toBe(second.violations[0]?.counterexample);
  });

  test('says that it was bounded when maxPaths ends it, and goes on at random', async () => {
    const found = await explorePaths(agentWith({ tools: [look, buy], maxSteps: 20 }), { maxPaths: 200 });
    expect(found.exhaustive).toBe(false);
    expect(found.bounds.join()).toContain('maxPaths (200) was reached');
    expect(found.paths.length).toBeGreaterThan(50);
  });

  test('explores recovery, budgets, approvals by wait and the total time', async () => {
    const flaky = fakeTool('flaky', [1], {
      onError: {
        executionError: [recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }), recover.throwException()],
        invalidArgs: [recover.fix(() => null), recover.escalate('no', 'critical')],
      },
    });
    const agent = agentWith({
      tools: [flaky],
      confirm: 'wait',
      defaultPolicy: 'confirm',
      budget: { maxToolCalls: 1, maxTokens: 100 },
      timeouts: { totalMs: 1000, approvalMs: 500 },
    });
    const found = await explorePaths(agent, { maxPaths: cases(300, 20_000) });
    expect(found.violations).toEqual([]);
    if (SOAKING) expect(found.exhaustive).toBe(true);
    const reasons = new Set(found.paths.map(({ reason }) => reason));
    for (const reason of ['thrown', 'budget', 'timeout', 'tool-error']) expect(reasons).toContain(reason);
  });
});

describe('a law that is broken', () => {
  const found = (never: Readonly<Record<string, (view: View) => boolean>>) =>
    explorePaths(agentWith({ tools: [look], maxSteps: 1 }), { never });
  const looks = ({ ran }: View) => ran[0]?.tool === 'look';
  const bounds = ['what follows a broken law was not explored'];

  test('hides no other that is broken in the same state', async () => {
    const { violations } = await found({ looks, acts: ({ ran }) => ran.length > 0 });
    expect(violations.map(({ law }) => law)).toEqual(['looks', 'acts']);
  });

  test('proves no other that may be broken behind it', async () => {
    const later = await found({ looks, 'looks and ends': (view) => looks(view) && view.over });
    expect(later).toMatchObject({ ok: false, exhaustive: false, bounds });
    const last = await found({ ends: ({ over }) => over, steps: () => false });
    expect(last).toMatchObject({ ok: false, exhaustive: true, bounds: [], paths: [] });
  });

  test('on the way to a state does not make that unreachable', async () => {
    const broken = createMachine({
      entry: () => {
        throw new Error('broken');
      },
    });
    const machine = createMachine({
      initial: 'A',
      states: { A: { invoke: { id: 'step', src: broken, onError: 'B' } }, B: { on: { next: 'C' } }, C: {} },
    });
    const reaches = (name: string) =>
      canReach(machine, ({ state }) => state === name, { events: () => [{ type: 'next' }] });
    expect((await explorePaths(machine)).violations.map(({ law }) => law)).toContain('ends');
    expect(await reaches('B')).toBe(true);
    await expect(reaches('C')).rejects.toMatchObject({ code: 'not-exhaustive' });
  });
});

test.each(['maxSteps', 'maxPaths', 'maxDepth', 'maxViolations', 'maxSeconds'])(
  'a limit of nothing is refused, and proves nothing: %s',
  async (name) => {
    const agent = agentWith({ tools: [look] });
    for (const limit of [0, -1, NaN]) {
      const wrong = { code: 'wrong-option', message: expect.stringContaining(`'${name}' must be more than 0, and is`) };
      await expect(explorePaths(agent, { [name]: limit })).rejects.toMatchObject(wrong);
      await expect(canReach(agent, () => false, { [name]: limit })).rejects.toMatchObject(wrong);
    }
    expect(await explorePaths(agent, { maxPaths: 5, maxDepth: 2, [name]: 1 })).toMatchObject({ exhaustive: false });
  },
);

test('a claim that is async is refused: what it gives would count as true', async () => {
  const agent = agentWith({ tools: [look] });
  const claim: (view: View) => unknown = async () => false;
  const given = claim as (view: View) => boolean;
  const wrong = { code: 'wrong-option', message: expect.stringContaining('gives a promise') };
  await expect(explorePaths(agent, { always: { answers: given } })).rejects.toMatchObject(wrong);
  await expect(explorePaths(agent, { never: given })).rejects.toMatchObject(wrong);
  await expect(canReach(agent, given)).rejects.toMatchObject(wrong);
  const { ok } = await explorePaths(agent, { always: () => true, never: { nothing: () => false }, maxPaths: 20 });
  expect(ok).toBe(true);
});

test.each([
  ['events', { events: [{ type: 'run.cancelled' }] }],
  ['distinguish', { distinguish: 'steps' }],
  ['answers', { always: { answers: true } }],
  ['fails', { never: { fails: null } }],
  ['callLlm', { outcomes: { callLlm: 5 } }],
])('what is not a function is refused as %s', async (name, options) => {
  const given = [agentWith({ tools: [look] }), options];
  const message = expect.stringContaining(`explorePaths: option '${name}' must be a function`);
  await expect(Reflect.apply(explorePaths, undefined, given)).rejects.toMatchObject({ code: 'wrong-option', message });
});

describe('canReach', () => {
  test('is true where there is a way, and false where none exists', async () => {
    const agent = agentWith({ tools: [look, wipe], maxSteps: cases(1, 2) });
    expect(await canReach(agent, ({ ran }) => ran.some(({ tool }) => tool === 'look'))).toBe(true);
    expect(await canReach(agent, ({ ran }) => ran.some(({ tool }) => tool === 'wipe'))).toBe(false);
    expect(await canReach(agent, ({ states }) => Object.values(states).includes('THROWN'))).toBe(false);
  });

  test('rejects when the bounds come before the answer', async () => {
    const agent = agentWith({ tools: [look], maxSteps: 20 });
    const search = canReach(agent, () => false, { maxPaths: 50 });
    await expect(search).rejects.toMatchObject({ name: 'ExplorationError', code: 'not-exhaustive' });
  });
});

describe('exploring machines', () => {
  test('the machine of an agent is explored as the agent is', async () => {
    const agent = agentWith({ tools: [look], maxSteps: 1 });
    const [machine, whole] = [await explorePaths(agent.machine), await explorePaths(agent)];
    expect(machine).toMatchObject({ ok: true, exhaustive: true, configurations: whole.configurations });
  });

  test('a bare agent machine takes the tools and limits of the agent that is named', async () => {
    const agent = agentWith({ tools: [look], maxSteps: 1 });
    const found = await explorePaths(agentMachine, { agent });
    expect(found.states).toContain('toolCall: RUNNING');
  });

  test('the connection machine has no dead state, and every state of it can be reached', async () => {
    const explored = async (auth: 'none' | 'login' | 'stored-login' | 'credentials') => {
      const input = { server: 'files', limits: { maxFailures: 2 }, auth };
      const found = await explorePaths(mcpConnectionMachine, { input, maxPaths: cases(500, 3000) });
      expect(found.violations).toEqual([]);
      return found.coverage[0]?.states.missed ?? ['everything'];
    };
    const open = await explored('none');
    const signing = ['REFRESHING', 'NEEDS_LOGIN', 'AUTHORIZING'];
    // Without auth nobody is ever asked to sign in.
    expect(open.filter((state) => !signing.some((one) => state.startsWith(one)))).toEqual([]);
    expect(open).toContain('NEEDS_LOGIN');
    const byPerson = await explored('login');
    expect(byPerson.filter((state) => open.includes(state))).toEqual([]);
    expect(await explored('stored-login')).not.toContain('NEEDS_LOGIN');
    expect(await explored('credentials')).toContain('NEEDS_LOGIN');
  });

  test('one model turn alone', async () => {
    const message = { role: 'system', content: 'You are an agent.' };
    const settings = { ...DEFAULT_SETTINGS, maxAttempts: 3 };
    const input = {
      system: { native: message, json: message },
      messages: [],
      tools: [],
      toolCalling: 'native',
      settings,
      seed: 1,
    };
    const found = await explorePaths(llmCallMachine, { input });
    expect(found).toMatchObject({ ok: true, exhaustive: true });
  });
});

describe('what would be tried nowhere is refused', () => {
  const helper = () => agentWith({ name: 'helper', tools: [fakeTool('easy', [1])] });
  const target = () => agentWith({ tools: [fakeTool('look', [1])], children: [helper()], maxSteps: 1 });
  const nothing = () => [];

  test.each<readonly [what: string, options: ExploreOptions, says: RegExp]>([
    ['arguments of a misspelt tool', { arguments: { lok: {} } }, /no agent has a tool 'lok'. Did you mean 'look'\?/],
    ['arguments of no tool at all', { arguments: { look: {}, zebra: {} } }, /'zebra'. There are: look, .*easy/],
    ['outcomes of a misspelt leaf', { outcomes: { callLm: nothing } }, /leaf 'callLm'. Did you mean 'callLlm'\?/],
    ['outcomes by the name of a tool', { outcomes: { look: nothing } }, /'outcomes': no agent has a leaf 'look'/],
  ])('%s', async (_what, options, says) => {
    const wrong = { code: 'wrong-option', message: expect.stringMatching(says) };
    await expect(explorePaths(target(), options)).rejects.toMatchObject(wrong);
    await expect(canReach(target(), () => false, options)).rejects.toMatchObject(wrong);
  });

  test.each<readonly [what: string, options: ExploreOptions]>([
    ['arguments of a tool of an agent below', { arguments: { easy: {}, helper: { task: 'Help' } } }],
    ['arguments of a tool that events may bring', { arguments: { later: {} }, events: nothing }],
    ['outcomes of a leaf that this agent never starts', { outcomes: { refreshToken: nothing } }],
  ])('%s are not', async (_what, options) => {
    expect((await explorePaths(target(), { ...options, maxPaths: 20 })).violations).toEqual([]);
  });

  test.each(['by the agent', 'by a tool', 'by code', 'of an agent below'])(
    'nor are arguments of a tool of a repair agent that may be asked %s',
    async (where) => {
      const mender = agentWith({ name: 'mender', tools: [fakeTool('measure', [1])] });
      const step = recover.fix(mender);
      const onError = { executionError: where === 'by code' ? () => step : step };
      const hard = fakeTool('hard', [1], where === 'by a tool' ? { onError } : {});
      const agent = agentWith({ tools: [hard], ...(where === 'by a tool' ? {} : { onError }), maxSteps: 1 });
      const top = where === 'of an agent below' ? agentWith({ children: [agent], maxSteps: 1 }) : agent;
      const found = await explorePaths(top, { arguments: { measure: {} }, maxPaths: 20 });
      expect(found.violations).toEqual([]);
    },
  );
});

test('a task that is handed over ends as the agent that took it, and its calls are judged where they run', async () => {
  const hard = fakeTool('hard', [1], { onError: { executionError: recover.escalate('too hard') } });
  const helper = agentWith({ name: 'helper', tools: [fakeTool('easy', [1])], maxSteps: 1 });
  const handsOver = { label: 'hands it over', value: { verdict: { kind: 'reroute', to: 'agent', name: 'helper' } } };
  const found = await explorePaths(
    agentWith({ tools: [hard], children: [helper], onEscalation: () => null, maxSteps: 2 }),
    { outcomes: { askEscalation: () => [handsOver] }, maxPaths: cases(600, 3000) },
  );
  expect(found.violations).toEqual([]);
  expect(found.states).toContain('agent: ERROR_RECOVERY.HANDING_OVER');
});

test('agents below an agent and what is decided about escalations are explored, too', async () => {
  const hard = fakeTool('hard', [1], { onError: { executionError: recover.escalate('too hard') } });
  const helper = agentWith({ name: 'helper', tools: [hard], maxSteps: 1 });
  const found = await explorePaths(
    agentWith({ tools: [hard], children: [helper], onEscalation: () => null, maxSteps: 1 }),
  );
  expect(found.violations).toEqual([]);
  expect(found.exhaustive).toBe(true);
  for (const state of [
    'toolCall: DELEGATING',
    'agent: ERROR_RECOVERY.ESCALATING',
    'agent: ERROR_RECOVERY.ASKING_HUMAN',
  ])
    expect(found.states).toContain(state);
});

test('models that take no image of the user are left to ask after none of their failures', async () => {
  const models = [true, false, false].map((takesImages, at) =>
    Object.assign(scriptedModel([], { takesImages }), { id: `model-${at}` }),
  );
  const image = { type: 'image', url: 'https://example.com/cat.png' } as const;
  const history = [{ role: 'user', content: [image] }] as const;
  const found = await explorePaths(agentWith({ model: models, history, maxSteps: 1 }), { maxPaths: 300 });
  expect(found.violations).toEqual([]);
  expect(found.paths.map(({ reason }) => reason)).toContain('llm-error');
});
