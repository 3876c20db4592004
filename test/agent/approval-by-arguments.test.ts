import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent, createToolRegistry, recover, tool } from '../../src/index.ts';
import { fork, memoryJournal, replay } from '../../src/journal/index.ts';
import { type ScriptedReply, explorePaths, scriptedModel, simulate } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';

type Definition = Partial<Parameters<typeof tool<typeof amount>>[0]>;

const amount = z.object({ euros: z.coerce.number() });
const isLarge = ({ euros }: { readonly euros: number }): boolean => euros > 100;
const pay = (euros: unknown) => calls(['pay', { euros: euros as number }]);

/** An agent that pays small amounts by itself, what was paid, and what a person was asked about. */
function make(replies: readonly ScriptedReply[], definition: Definition = {}, options: AgentOptions = {}) {
  const [paid, asked]: [number[], unknown[]] = [[], []];
  const payTool = tool({
    name: 'pay',
    description: 'Pays an amount.',
    inputSchema: amount,
    needsApproval: isLarge,
    execute: ({ euros }) => paid.push(euros),
    ...definition,
  });
  const agent = createAgent({
    model: scriptedModel(replies),
    tools: [payTool],
    silent: true,
    confirm: ({ args }) => (asked.push(args), 'allow-once'),
    ...options,
  });
  return { agent, payTool, paid, asked };
}

test.each<[policy: string, definition: Definition]>([
  ['no policy', {}],
  ["the policy 'confirm'", { policy: 'confirm' }],
])('with %s, a person is asked about the calls for which the tool says so, and about no other', async (_, given) => {
  const { agent, paid, asked } = make([pay(5), pay(500), pay(100), 'Paid.'], given);
  expect(await agent.run('Pay.')).toMatchObject({ status: 'answered' });
  expect(paid).toEqual([5, 500, 100]);
  expect(asked).toEqual([{ euros: 500 }]);
  expect(agent.listTools()).toMatchObject([{ name: 'pay', policy: 'confirm' }]);
});

test('so it is where nothing else checks the arguments', async () => {
  const [paid, asked]: [unknown[], unknown[]] = [[], []];
  const payTool = tool({
    name: 'pay',
    description: 'Pays an amount.',
    inputSchema: { type: 'object', properties: { euros: { type: 'number' } } },
    needsApproval: ({ euros }) => Number(euros) > 100,
    execute: ({ euros }) => paid.push(euros),
  });
  const model = scriptedModel([pay(5), pay(500), 'Paid.']);
  const confirm: AgentOptions['confirm'] = ({ args }) => (asked.push(args), 'deny');
  await createAgent({ model, tools: [payTool], silent: true, confirm }).run('Pay.');
  expect([paid, asked]).toEqual([[5], [{ euros: 500 }]]);
});

test('where nobody can be asked, the other calls run', async () => {
  const { agent, paid } = make(
    [calls(['pay', { euros: 5 }], ['pay', { euros: 500 }]), 'Done.'],
    {},
    { confirm: undefined as never },
  );
  const { messages, toolsUsed } = await agent.run('Pay.');
  expect(paid).toEqual([5]);
  expect(toolsUsed).toEqual(['pay']);
  expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))).toEqual([
    expect.not.stringContaining('denied'),
    expect.stringContaining('denied'),
  ]);
});

test('it gets what validateArgs made of the arguments, the call and the context', async () => {
  const seen: unknown[] = [];
  const { agent, paid } = make([pay('7'), 'Paid.'], {
    validateArgs: ({ euros }) => ({ euros: euros * 100 }),
    needsApproval: async (args, { tool: name, callId, context, signal }) => {
      seen.push([args, name, callId, context, signal.aborted]);
      return false;
    },
  });
  await agent.run('Pay.', { context: 'till 3' });
  expect(seen).toEqual([[{ euros: 700 }, 'pay', 'c1', 'till 3', false]]);
  expect(paid).toEqual([700]);
});

test.each<[string, () => never]>([
  [
    'throws',
    () => {
      throw new Error('no prices');
    },
  ],
  ['returns no boolean', (() => 'no') as never],
  ['returns nothing', (() => undefined) as never],
])('where it %s, the call fails: nobody is asked, and nothing runs', async (_, needsApproval) => {
  const { agent, paid, asked } = make([pay(5), 'Not paid.'], { needsApproval });
  const { errorHistory } = await agent.run('Pay.');
  expect([paid, asked]).toEqual([[], []]);
  expect(errorHistory).toMatchObject([
    { tool: 'pay', message: expect.stringMatching(/no prices|needsApproval returned/) },
  ]);
});

test('arguments that a person wrote need no second question', async () => {
  const { agent, paid } = make([pay(500), 'Paid.'], {}, { confirm: 'wait' });
  const run = agent.run('Pay.');
  for await (const { type } of run) if (type === 'approval.requested') break;
  expect(await run.approve('c1', { args: { euros: 900 } })).toBe(true);
  await run;
  expect(paid).toEqual([900]);
});

test('repaired arguments are judged anew: what was small and is large now waits for a person', async () => {
  const fails = () => {
    throw new Error('too little');
  };
  const { agent, paid, asked } = make([pay(5), 'Paid.'], {
    validateArgs: ({ euros }) => (euros === 5 ? fails() : undefined),
    onError: { deserializationError: recover.fix(() => ({ euros: 500 })) },
  });
  await agent.run('Pay.');
  expect([paid, asked]).toEqual([[500], [{ euros: 500 }]]);
});

test('what is always allowed is not asked about', async () => {
  const permissions = { isAlwaysAllowed: () => true, add: () => undefined };
  const { agent, paid, asked } = make([pay(500), 'Paid.'], {}, { permissions });
  await agent.run('Pay.');
  expect([paid, asked]).toEqual([[500], []]);
});

test('a registry asks in the same way', async () => {
  const asked: unknown[] = [];
  const registry = createToolRegistry({ confirm: ({ args }) => (asked.push(args), 'deny') });
  registry.register(make([]).payTool);
  expect(await registry.execute('pay', { euros: 5 })).toMatchObject({ status: 'success' });
  expect(await registry.execute('pay', { euros: 500 })).toMatchObject({ status: 'error' });
  expect(asked).toEqual([{ euros: 500 }]);
});

test('a definition that contradicts itself is refused', () => {
  const wrong = (part: string) =>
    expect.objectContaining({ code: 'wrong-option', message: expect.stringContaining(part) });
  for (const policy of ['allow', 'deny'] as const)
    expect(() => make([], { policy })).toThrow(wrong("policy must be 'confirm'"));
  expect(() => make([], { needsApproval: true as never })).toThrow(wrong('needsApproval must be a function'));
  expect(make([], { policy: 'confirm' }).payTool.policy).toBe('confirm');
});

test('its word is recorded: a replay asks neither it nor a person', async () => {
  const { agent } = make([pay(5), pay(500), 'Paid.']);
  const run = agent.run('Pay.');
  await run;
  const mute = make([], {
    needsApproval: () => {
      throw new Error('not in a replay');
    },
  });
  const again = replay(run.recording(), mute.agent);
  expect(await again).toMatchObject({ result: 'Paid.' });
  expect(again.transitions()).toEqual(run.transitions());
});

/** A run that was released while its tool ran, and code of another version to resume it. */
async function released(first: Definition, then: Definition, options: AgentOptions = {}) {
  const journal = memoryJournal();
  let isCalled: () => void = () => undefined;
  const called = new Promise<void>((resolve) => (isCalled = resolve));
  const hangs = { effects: 'idempotent' as const, execute: () => (isCalled(), new Promise<never>(() => undefined)) };
  const before = make([pay(5)], { ...first, ...hangs }, { journal, ...options });
  const run = before.agent.run('Pay.');
  await called;
  expect(await run.release()).toBe(true);
  const after = make(
    [pay(6), pay(600), 'Paid.'],
    { effects: 'idempotent', ...then },
    { journal, onUpgrade: 'current', ...options },
  );
  await after.agent.resume(run.runId);
  return after;
}

const always: Definition = { needsApproval: undefined, policy: 'confirm' };
const never: Definition = { needsApproval: undefined, policy: 'allow' };

test.each([[null], [undefined], ['no'], [Object.create(null)]])(
  'whoever is asked throws %o: the call is denied, and the run continues',
  async (thrown) => {
    const confirm = () => {
      throw thrown;
    };
    const { agent, paid } = make([pay(500), pay(5), 'Paid.'], {}, { confirm });
    expect(await agent.run('Pay.')).toMatchObject({ status: 'answered', result: 'Paid.' });
    expect(paid).toEqual([5]);
  },
);

test.each<[string, Definition, Definition, readonly number[]]>([
  ['the same code decides as before', {}, {}, [600]],
  ['the same tool with another description decides as before', {}, { description: 'Pays.' }, [600]],
  ['a tool of which each call must be approved now asks about the one under way, too', {}, always, [5, 6, 600]],
  ['a tool of which each call had to be approved stays like that', always, {}, [6, 600]],
  ['a tool that never asked, and decides now, decides', never, {}, [600]],
  ['a tool that decided, and would never ask now, asks: nothing decides any more', {}, never, [6, 600]],
])('resumed: %s', async (_, first, then, questions) => {
  const { asked, paid } = await released(first, then);
  expect(asked).toEqual(questions.map((euros) => ({ euros })));
  expect(paid).toEqual([5, 6, 600]);
});

test('eight agents down, a person is asked about the large amount alone, and by whom', async () => {
  const { payTool, paid } = make([]);
  const asked: unknown[] = [];
  const replies = [pay(5), pay(500), 'Paid.'];
  let agent = createAgent({ name: 'level_7', description: 'Pays.', model: scriptedModel(replies), tools: [payTool] });
  for (let level = 6; level >= 0; level -= 1) {
    const below = calls([`level_${level + 1}`, { task: 'Pay.' }]);
    agent = createAgent({
      name: `level_${level}`,
      description: 'Has it paid.',
      model: scriptedModel([below, 'Done.']),
      children: [agent],
      silent: true,
      confirm: ({ tool: name, args, agent: by }) => (asked.push([name, args, by?.split('/').length]), 'allow-once'),
    });
  }
  const run = agent.run('Have it paid.');
  expect(await run).toMatchObject({ status: 'answered' });
  expect([paid, asked]).toEqual([[5, 500], [['pay', { euros: 500 }, 7]]]);
  expect(run.transitions().filter(({ to }) => to === 'AWAITING_APPROVAL.ASKING')).toHaveLength(1);
});

test('forked, a run whose calls had to be approved one by one stays like that', async () => {
  const run = make([pay(5), 'Paid.'], always).agent.run('Pay.');
  await run;
  const other = make([pay(6), 'Paid.']);
  await fork(run.recording(), other.agent, { at: 1 });
  expect([other.paid, other.asked]).toEqual([[6], [{ euros: 6 }]]);
});

test('all paths of such a tool keep the laws, and the shortest to its work asks nobody', async () => {
  const { agent } = make([], {}, { maxSteps: 1, plans: false });
  const found = await explorePaths(agent);
  expect(found).toMatchObject({ violations: [], exhaustive: true });
  const shortest = await explorePaths(agent, { never: { pays: ({ ran }) => ran.length > 0 }, maxViolations: 1 });
  expect(shortest.violations).toMatchObject([{ law: 'pays' }]);
  expect(shortest.violations[0]?.path.join(' ')).toContain('needs no approval');
});

test('simulated with faults, it keeps the laws', async () => {
  const agent = (options: AgentOptions) =>
    createAgent({ maxSteps: 4, ...options, tools: [make([], { effects: 'none' }).payTool] });
  const model = [pay(5), pay(500), pay(50), 'Paid.'];
  expect(await simulate(agent, { model, seeds: 60 })).toMatchObject({ failures: [], runs: 60 });
});
