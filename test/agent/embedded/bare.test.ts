import { expect, test } from 'vitest';
import { type Snapshot, createActor, fromPromise, setup, toPromise, waitFor } from 'xstate';
import type { Agent } from '../../../src/agent/agent-types.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { createToolRegistry } from '../../../src/agent/tools/registry.ts';
import type { Effects } from '../../../src/tools/spec.ts';
import { type ApprovalAnswer, type AskApprovalInput, agentMachine } from '../../../src/machines/index.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';

/** A machine of a user with the bare agent inside. */
function desk(agent: Agent) {
  const actors = { agent: agentMachine.provide({ actors: agent.actors }) };
  return setup({ types: { output: {} as { result: string } }, actors }).createMachine({
    initial: 'ASKING',
    states: {
      ASKING: { invoke: { src: 'agent', systemId: 'agent', input: { task: 'Pay' }, onDone: 'DONE' } },
      DONE: { type: 'final' },
    },
  });
}

type Desk = ReturnType<typeof desk>;
type DeskActor = ReturnType<typeof createActor<Desk>>;

/** What a database or a page would keep. */
const kept = (actor: DeskActor): Snapshot<unknown> =>
  JSON.parse(JSON.stringify(actor.getPersistedSnapshot())) as Snapshot<unknown>;

const inside = (actor: DeskActor) => actor.system.get('agent') as ReturnType<typeof createActor<typeof agentMachine>>;

/** The call at a path of ids below the agent, once it is there. */
async function callAt(actor: DeskActor, ...path: readonly string[]) {
  let at = inside(actor) as { getSnapshot(): unknown; send(event: object): void };
  for (const id of path)
    at = await new Promise((resolve) => {
      const look = (): void => {
        const found: unknown = Reflect.get(Object(Reflect.get(Object(at.getSnapshot()), 'children')), id);
        if (found === undefined) setTimeout(look, 1);
        else resolve(found as typeof at);
      };
      look();
    });
  return at;
}

/** Says yes to the call at a path, once a person is asked about it. */
async function approve(actor: DeskActor, ...path: readonly string[]) {
  await callAt(actor, ...path, 'askApproval');
  (await callAt(actor, ...path)).send({ type: 'approval.given' });
}

const silent = (options: AgentOptions) => createAgent({ silent: true, confirm: 'wait', ...options });

test('a machine with the bare agent inside is persisted and restored while a call waits', async () => {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const replies = [calls(['pay', { euros: 3 }]), 'Paid.'];
  const first = createActor(desk(silent({ tools: [pay], model: scriptedModel(replies) }))).start();
  await callAt(first, 'c1', 'askApproval');
  const snapshot = kept(first);
  first.stop();

  const model = scriptedModel(replies.slice(1));
  const second = createActor(desk(silent({ tools: [pay], model })), { snapshot }).start();
  await approve(second, 'c1');
  const { output } = await waitFor(inside(second), ({ status }) => status === 'done');
  expect(output).toMatchObject({ result: 'Paid.', toolsUsed: ['pay'], stepsTaken: 2 });
  expect(pay.calls).toEqual([{ euros: 3 }]);
  expect(second.getSnapshot().value).toBe('DONE');
  expect(kept(second)).toMatchObject({ status: 'done' });
});

test('so is one whose child agent waits', async () => {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const clerk = (...replies: readonly Parameters<typeof scriptedModel>[0][number][]) =>
    silent({ name: 'clerk', description: 'Pays.', tools: [pay], model: scriptedModel(replies) });
  const task = calls(['clerk', { task: 'Pay' }]);
  const before = silent({ children: [clerk(calls(['pay']))], model: scriptedModel([task]) });
  const first = createActor(desk(before)).start();
  await callAt(first, 'c1', 'childAgent', 'c1.1', 'askApproval');
  const snapshot = kept(first);
  first.stop();

  const after = silent({ children: [clerk('The clerk has paid.')], model: scriptedModel(['All paid.']) });
  const second = createActor(desk(after), { snapshot }).start();
  await approve(second, 'c1', 'childAgent', 'c1.1');
  const { output } = await waitFor(inside(second), ({ status }) => status === 'done');
  expect(output).toMatchObject({ result: 'All paid.', status: 'answered' });
  expect(JSON.stringify(output?.messages)).toContain('The clerk has paid.');
  expect(pay.calls).toHaveLength(1);
});

test.each([
  ['once', 1, 'nobody knows whether it took effect'],
  ['idempotent', 2, 'paid'],
] as const)('a call with effects %s that was under way then runs %i time(s)', async (effects, times, told) => {
  const keys: string[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    effects,
    execute: (_args, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return keys.length === 1 ? new Promise(() => undefined) : 'paid';
    },
  });
  const first = createActor(desk(silent({ tools: [pay], model: scriptedModel([calls(['pay'])]) }))).start();
  await callAt(first, 'c1', 'callTool');
  await expect.poll(() => keys.length).toBe(1);
  const snapshot = kept(first);
  first.stop();

  const model = scriptedModel(['So be it.']);
  const second = createActor(desk(silent({ tools: [pay], model })), { snapshot }).start();
  await waitFor(inside(second), ({ status }) => status === 'done');
  expect(keys).toHaveLength(times);
  expect(new Set(keys).size).toBe(1);
  expect(JSON.stringify(model.requests[0]?.messages)).toContain(told);
});

test('what was repeated before a restore still counts as a loop', async () => {
  const look = fakeTool('look', ['nothing'], { policy: 'confirm' });
  const again = calls(['look']);
  const options = { tools: [look], maxConsecutiveRepeats: 3 };
  const first = createActor(desk(silent({ ...options, model: scriptedModel([again, again]) }))).start();
  await approve(first, 'c1');
  await callAt(first, 'c2', 'askApproval');
  const snapshot = kept(first);
  first.stop();
  const second = createActor(desk(silent({ ...options, model: scriptedModel([again]) })), { snapshot }).start();
  await approve(second, 'c2');
  const { output } = await waitFor(inside(second), ({ status }) => status === 'done');
  expect(output).toMatchObject({ reason: 'loop' });
  expect(look.calls).toHaveLength(2);
});

test('no two runs without a journal share an idempotency key, and the attempts of a call do', async () => {
  const keys: string[] = [];
  const paying = (effects: Effects = 'idempotent') =>
    tool({
      name: 'pay',
      description: 'Pays.',
      effects,
      onError: { executionError: recover.retry({ maxAttempts: 2 }) },
      execute: (_args, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length % 2 === 1) throw new Error('busy');
        return 'paid';
      },
    });
  const model = () => scriptedModel([calls(['pay', { euros: 3 }]), 'Paid.']);
  const bare = async () => {
    const { machine } = silent({ tools: [paying()], model: model() });
    const actor = createActor(machine, { id: 'agent', input: { task: 'Pay' } }).start();
    await waitFor(actor, ({ status }) => status === 'done');
  };
  const twiceInOne = async () => {
    const ask = { id: 'agent', src: 'agent', input: { task: 'Pay' } } as const;
    const agent = silent({
      tools: [paying()],
      model: scriptedModel([calls(['pay']), 'Paid.', calls(['pay']), 'Paid.']),
    });
    const one = setup({ actors: { agent: agent.machine } }).createMachine({
      initial: 'FIRST',
      states: {
        FIRST: { invoke: { ...ask, onDone: 'SECOND' } },
        SECOND: { invoke: { ...ask, onDone: 'DONE' } },
        DONE: { type: 'final' },
      },
    });
    await waitFor(createActor(one).start(), ({ status }) => status === 'done');
  };
  const alone = async () => {
    const registry = createToolRegistry();
    registry.register(paying());
    await registry.execute('pay', { euros: 3 });
    await registry.execute('pay', { euros: 3 });
  };
  await bare();
  await bare();
  await twiceInOne();
  await alone();
  await silent({ tools: [paying()], model: model() }).run('Pay', { runId: 'kept' });
  expect(keys).toHaveLength(14);
  expect(new Set(keys).size).toBe(7);
  expect(keys.filter((_key, at) => at % 2 === 0)).toEqual(keys.filter((_key, at) => at % 2 === 1));
  expect(keys.at(-1)).toMatch(/^kept:agent\/c1\/callTool@/);
});

test.for([
  { decision: 'allow-once', paid: 1 },
  { decision: 'deny', paid: 0 },
] as const)('a promise of the user answers in place of a leaf: $decision', async ({ decision, paid }) => {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const model = scriptedModel([calls(['pay', { euros: 3 }]), 'Over.']);
  const { actors } = silent({ tools: [pay], model });
  const asked: string[] = [];
  const askApproval = fromPromise<ApprovalAnswer, AskApprovalInput>(async ({ input }) => {
    asked.push(input.tool);
    return { decision };
  });
  const toolCall = actors.toolCall.provide({ actors: { askApproval } });
  const machine = agentMachine.provide({ actors: { ...actors, toolCall } });
  const { result } = await toPromise(createActor(machine, { input: { task: 'Pay' } }).start());
  expect([result, asked, pay.calls.length]).toEqual(['Over.', ['pay'], paid]);
});
