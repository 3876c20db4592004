import { observeRun } from '../../src/machines/events/observe-run.ts';
import { createActor, createMachine, setup, waitFor, assign } from 'xstate';
import { expect, expectTypeOf, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { agentMachine } from '../../src/machines/agent/agent.ts';
import { type RunEvent } from '../../src/machines/events/run-events.ts';
import type { RunResult } from '../../src/machines/contract/run-result.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const script = () => scriptedModel([calls(['look', { n: 1 }]), 'Found it.']);

test('agent.logic runs inside a machine: task in, RunResult out, RunEvents emitted', async () => {
  const agent = createAgent({ model: script(), tools: [fakeTool('look')], silent: true });
  const desk = setup({
    types: { context: {} as { result: RunResult | null } },
    actors: { assistant: agent.logic },
    actions: { keep: assign({ result: (_, result: RunResult) => result }) },
  }).createMachine({
    context: { result: null },
    initial: 'ASKING',
    states: {
      ASKING: {
        invoke: {
          id: 'assistant',
          src: 'assistant',
          input: { task: 'Find it' },
          onDone: { target: 'ANSWERED', actions: { type: 'keep', params: ({ event }) => event.output } },
        },
      },
      ANSWERED: { type: 'final' },
    },
  });
  const actor = createActor(desk).start();
  const seen: string[] = [];
  const child = actor.getSnapshot().children.assistant;
  child?.on('*', (event) => {
    expectTypeOf(event).toExtend<RunEvent>();
    seen.push(event.type);
  });
  const { context } = await waitFor(actor, ({ status }) => status === 'done');
  expect(context.result).toMatchObject({ status: 'answered', result: 'Found it.' });
  expect(seen).toContain('tool.finished');
  expect(seen.at(-1)).toBe('run.finished');
  expect(agent.history).toEqual([]);
});

test('several runs of one agent.logic go on at once, beside agent.run, and stopping the parent cancels them', async () => {
  let aborted = 0;
  const slow = fakeTool('slow', [null]);
  const watching = {
    ...slow,
    execute: (_args: object, { signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => aborted++);
      return new Promise(() => undefined);
    },
  };
  const agent = createAgent({
    model: scriptedModel([calls(['slow']), calls(['slow']), 'Hi.']),
    tools: [watching],
    silent: true,
  });
  const started: RunEvent[] = [];
  const actors = ['a', 'b'].map((task) => {
    const actor = createActor(agent.logic, { input: { task } });
    actor.on('tool.started', (event) => void started.push(event));
    return actor.start();
  });
  while (started.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
  for (const actor of actors) actor.stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(aborted).toBe(2);
});

test.each<[string, unknown]>([
  ['history', 'x'],
  ['history', null],
  ['history.0', [5]],
  ['history.1.content', [{ role: 'user', content: 'x' }, { role: 'user' }]],
])('agent.logic refuses a history that createAgent refuses, and asks no model: %s', async (option, history) => {
  const model = scriptedModel(['Hi.']);
  const { logic } = createAgent({ model, silent: true });
  const input = { task: 'Hello' };
  Object.assign(input, { history });
  const actor = createActor(logic, { input });
  const error = new Promise((resolve) => actor.subscribe({ error: resolve }));
  actor.start();
  const message = expect.stringContaining(`agent.logic: input: option '${option}': `);
  expect(await error).toMatchObject({ code: 'wrong-option', message });
  expect(model.requests).toEqual([]);
});

test.each([[undefined], [{}], [{ task: ' ' }], [{ task: 5 }]])(
  'agent.logic says which input it takes: %j',
  async (given) => {
    const { logic } = createAgent({ model: scriptedModel([]), silent: true });
    const asked = createMachine({ invoke: { src: 'asked', input: () => given } });
    const actor = createActor(asked.provide({ actors: { asked: logic } }));
    const error = new Promise((resolve) => actor.subscribe({ error: resolve }));
    actor.start();
    const message = expect.stringMatching(/^agent\.logic takes the input \{ task \}: .* text that is not blank/);
    expect(await error).toMatchObject({ name: 'TypeError', message });
  },
);

test('the bare machine runs in a plain createActor from a task alone', async () => {
  const agent = createAgent({
    model: script(),
    tools: [fakeTool('look', [{ found: true }])],
    silent: true,
    maxSteps: 7,
  });
  const actor = createActor(agentMachine.provide({ actors: agent.actors }), { input: { task: 'Find it' } });
  const events: RunEvent[] = [];
  observeRun(actor, (event) => {
    events.push(event);
    throw new Error('a listener that throws breaks nothing');
  });
  actor.start();
  const { output } = await waitFor(actor, ({ status }) => status === 'done');
  expect(output).toMatchObject({
    status: 'answered',
    result: 'Found it.',
    toolsUsed: ['look'],
    stepsLimit: 7,
    states: ['PLANNING', 'DIRECT_EXECUTION', 'PLANNING', 'COMPLETION'],
  });
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['run.started', 'tool.started', 'tool.finished', 'answer', 'run.finished']),
  );
  expectTypeOf(actor.getSnapshot().output?.reason).not.toBeAny();
});

test.each([
  ['an approval runs the call as it is', { type: 'approval.given' }, [{ n: 1 }], 'Found it.'],
  ['a refusal tells the model that a person refused', { type: 'approval.refused' }, [], 'denied by user'],
] as const)('the bare machine takes answers without members: %s', async (_what, answer, looked, told) => {
  const look = fakeTool('look', ['seen'], { policy: 'confirm' });
  const model = script();
  const agent = createAgent({ model, tools: [look], confirm: 'wait', silent: true });
  const actor = createActor(agent.machine, { input: { task: 'Find it' } }).start();
  const { children } = await waitFor(actor, (snapshot) => snapshot.children['c1'] !== undefined);
  children['c1']?.send(answer);
  const { output } = await waitFor(actor, ({ status }) => status === 'done');
  expect(look.calls).toEqual(looked);
  expect(JSON.stringify([output, model.requests[1]?.messages])).toContain(told);
  expect(JSON.stringify(output)).not.toContain('undefined');
});

test('the bare machine is cancelled without a reason', async () => {
  const agent = createAgent({ model: script(), silent: true });
  const actor = createActor(agent.machine, { input: { task: 'Find it' } }).start();
  actor.send({ type: 'run.cancelled' });
  expect(actor.getSnapshot().output?.error).toMatchObject({ message: 'The run was cancelled.' });
});

test('the bare machine without actors ends as failed and says what to do', async () => {
  const actor = createActor(agentMachine, { input: { task: 'Find it' } }).start();
  const { output } = await waitFor(actor, ({ status }) => status === 'done');
  expect(output).toMatchObject({ status: 'failed', reason: 'thrown' });
  expect(output?.result).toContain('agentMachine.provide({ actors: agent.actors })');
});

test('the bare machine obeys settings that it knows only once it has asked the agent', async () => {
  const look = fakeTool('look', ['nothing']);
  const model = scriptedModel(Array.from({ length: 5 }, () => calls(['look'])));
  const { machine } = createAgent({ tools: [look], model, maxConsecutiveRepeats: 2, silent: true });
  const actor = createActor(machine, { input: { task: 'Look' } }).start();
  const { output } = await waitFor(actor, ({ status }) => status === 'done');
  expect(output).toMatchObject({ reason: 'loop' });
  expect(look.calls).toHaveLength(1);

  const json = scriptedModel(['Seen.'], { toolCalling: 'json' });
  const history = [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'a', name: 'look', content: 'nothing' },
  ] as const;
  const asked = createAgent({ tools: [look], model: json, toolCalling: 'json', silent: true });
  const again = createActor(asked.machine, { input: { task: 'And now?', history } }).start();
  await waitFor(again, ({ status }) => status === 'done');
  const { messages = [] } = json.requests[0] ?? {};
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'user']);
  expect(JSON.stringify(messages)).not.toContain('toolCalls');
});

test('close cancels runs of agent.logic too, and a closed agent starts none', async () => {
  const agent = createAgent({
    model: scriptedModel([calls(['slow'])]),
    tools: [fakeTool('slow', [() => new Promise(() => undefined)])],
    silent: true,
  });
  const actor = createActor(agent.logic, { input: { task: 'Wait' } });
  const started = new Promise((resolve) => actor.on('tool.started', resolve));
  actor.start();
  await started;
  await agent.close();
  const { output } = await waitFor(actor, ({ status }) => status === 'done');
  expect(output).toMatchObject({ status: 'cancelled', error: { message: 'the agent was closed' } });

  const late = createActor(agent.logic, { input: { task: 'Again' } });
  const failure = new Promise((resolve) => late.subscribe({ error: resolve }));
  late.start();
  expect(await failure).toMatchObject({ name: 'AgentClosedError' });
});
