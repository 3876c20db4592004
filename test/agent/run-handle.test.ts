import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { AgentBusyError, AgentClosedError, RunError } from '../../src/agent/options/agent-errors.ts';
import { type RunHead, liveJournal } from '../../src/journal/index.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

const forever = () => new Promise<never>(() => undefined);

async function typesOf(run: AsyncIterable<RunEvent>): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { type } of run) types.push(type);
  return types;
}

describe('a run', () => {
  test('starts at once, whether or not anybody awaits it', async () => {
    const asked = Promise.withResolvers<string>();
    const model = scriptedModel([
      () => {
        asked.resolve('asked');
        return 'Hi.';
      },
    ]);
    createAgent({ model, silent: true }).run('Hello');
    expect(await asked.promise).toBe('asked');
  });

  test('shows all its events to a reader who comes late, and to several readers, each at its own pace', async () => {
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Hi.']),
      tools: [fakeTool('look')],
      silent: true,
    });
    const run = agent.run('Hello');
    const early = typesOf(run);
    await run;
    const [first, late, again] = await Promise.all([early, typesOf(run), typesOf(run)]);
    expect(late).toEqual(first);
    expect(again).toEqual(first);
    expect(first[0]).toBe('run.started');
    expect(first.slice(-2)).toEqual(['answer', 'run.finished']);
  });

  test('numbers its events without a gap, from 1', async () => {
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Hi.']),
      tools: [fakeTool('look')],
      silent: true,
    });
    const seen: number[] = [];
    for await (const { seq, replayed } of agent.run('Hello')) {
      expect(replayed).toBe(false);
      seen.push(seq);
    }
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });

  test('can be left in the middle of its events and read again from the start', async () => {
    const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
    for await (const { type } of run) if (type === 'step.started') break;
    expect((await typesOf(run)).at(-1)).toBe('run.finished');
  });

  test('tells a reader that has left nothing more, and does not let it wait', async () => {
    const asked = Promise.withResolvers<string>();
    const run = createAgent({ model: scriptedModel([() => asked.promise]), silent: true }).run('Hello');
    const [left, stays] = [run[Symbol.asyncIterator](), run[Symbol.asyncIterator]()];
    expect((await left.next()).value?.type).toBe('run.started');
    await left.return?.();
    expect(await left.next()).toEqual({ done: true, value: undefined });

    let waits = stays.next();
    while ((await Promise.race([waits, wait(20)])) !== undefined) waits = stays.next();
    await stays.return?.();
    expect(await waits).toEqual({ done: true, value: undefined });
    asked.resolve('Hi.');
    expect((await typesOf(run)).at(-1)).toBe('run.finished');
  });

  test('can be awaited often, and has catch and finally as promises have', async () => {
    const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
    let done = 0;
    const [one, two, three] = await Promise.all([run, run.finally(() => void done++), run.catch(() => null)]);
    expect(two).toBe(one);
    expect(three).toBe(one);
    expect(done).toBe(1);
  });

  test('gives its answer with orThrow, and throws RunError for any other ending', async () => {
    const agent = createAgent({
      model: scriptedModel(['Hi.', calls(['look'])]),
      tools: [fakeTool('look')],
      silent: true,
    });
    expect(await agent.run('Hello').orThrow()).toBe('Hi.');
    const error = await agent
      .run('Again', { maxSteps: 1 })
      .orThrow()
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    expect(error).toBeInstanceOf(RunError);
    expect(error).toMatchObject({
      name: 'RunError',
      code: 'max-steps',
      message: expect.stringContaining('Reached maximum steps limit (1 steps).'),
      result: { status: 'stopped', reason: 'max-steps' },
    });
  });

  test('carries the last unmended error beside the text of the limit', async () => {
    const model = scriptedModel([calls(['broken'])]);
    const result = await createAgent({
      model,
      tools: [fakeTool('broken', [new Error('offline')])],
      maxSteps: 1,
      silent: true,
    }).run('Go');
    expect(result).toMatchObject({
      result: 'Reached maximum steps limit (1 steps).',
      success: false,
      error: { code: 'execution', message: 'Tool execution failed: offline', step: 1, tool: 'broken' },
    });
  });

  test('has a state that is a live view', async () => {
    const gate = Promise.withResolvers<string>();
    const look = fakeTool('look', [{ found: 'tea' }, () => gate.promise]);
    const model = scriptedModel([plan(['look', { n: 1 }], ['look', { n: 2 }]), 'Hi.']);
    const agent = createAgent({ model, tools: [look], silent: true });
    expect(agent.state).toBe('PLANNING');
    const run = agent.run('Hello');
    expect(run.state).toEqual({
      state: 'PLANNING',
      path: 'PLANNING',
      plan: null,
      currentStep: 0,
      totalPlanSteps: 0,
      planIterations: 0,
      stepsTaken: 0,
      lastResult: null,
      errorHistory: [],
    });
    for await (const event of run) if (event.type === 'tool.started' && event.callId === 'c2') break;
    expect(run.state).toMatchObject({
      state: 'EXECUTING_PLAN',
      currentStep: 1,
      totalPlanSteps: 2,
      planIterations: 1,
      stepsTaken: 3,
      lastResult: { status: 'success', data: { found: 'tea' } },
    });
    expect(run.state.plan).toHaveLength(2);
    expect(agent.state).toBe('EXECUTING_PLAN');
    gate.resolve('');
    await run;
    expect(run.state.state).toBe('COMPLETION');
    expect(agent.state).toBe('COMPLETION');
  });
});

describe('cancelling', () => {
  test('ends the run whenever it comes, and says so truly', async () => {
    const untrue: string[] = [];
    for (let turns = 0; turns < 60; turns++) {
      const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const took = await run.cancel('enough');
      const { status } = await run;
      if (took !== (status === 'cancelled')) untrue.push(`after ${turns} turns: ${took}, ${status}`);
    }
    expect(untrue).toEqual([]);
  });

  test('keeps the messages of the run; every call has a result', async () => {
    const model = scriptedModel([calls(['look', { n: 1 }, 'a'], ['stuck', { n: 2 }, 'b'])]);
    const tools = [fakeTool('look', [{ tea: 3 }]), fakeTool('stuck', [forever])];
    const agent = createAgent({ model, tools, silent: true });
    const run = agent.run('Go');
    for await (const event of run) if (event.type === 'tool.finished') break;
    await run.cancel('user left');
    const { messages, result, toolsUsed } = await run;
    expect(result).toBe('[Cancelled after 1 step(s)]');
    expect(messages.map(({ role, toolCallId }) => [role, toolCallId])).toEqual([
      ['user', undefined],
      ['assistant', undefined],
      ['tool', 'a'],
      ['tool', 'b'],
    ]);
    expect(String(messages[2]?.content)).toContain('"tea":3');
    expect(String(messages[3]?.content)).toMatch(/nobody knows|unknown|cancelled/);
    expect(agent.history).toEqual(messages);
    expect(toolsUsed).toContain('look');
  });

  test("by an abort signal ends the run with the signal's reason", async () => {
    const controller = new AbortController();
    const run = createAgent({ model: scriptedModel([forever]), silent: true }).run('Go', { signal: controller.signal });
    for await (const { type } of run) if (type === 'step.started') break;
    controller.abort(new Error('tab closed'));
    expect(await run).toMatchObject({ status: 'cancelled', error: { code: 'cancelled', message: 'tab closed' } });
  });

  test('by a signal that is aborted already ends it without a request', async () => {
    const model = scriptedModel([]);
    const agent = createAgent({ model, silent: true });
    const result = await agent.run('Go', { signal: AbortSignal.abort() });
    expect(result).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled',
      result: '[Cancelled after 0 step(s)]',
      stepsTaken: 0,
      states: ['PLANNING', 'COMPLETION'],
    });
    expect(model.requests).toEqual([]);
    expect(agent.history).toEqual([{ role: 'user', content: 'Go' }]);
  });

  test('a run that is over does nothing and says false', async () => {
    const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
    await run;
    expect(await run.cancel()).toBe(false);
    expect(await run.approve('c1')).toBe(false);
    expect(await run.reject('c1')).toBe(false);
    expect(await run).toMatchObject({ status: 'answered' });
  });
});

describe('an agent', () => {
  const idle = () => createAgent({ name: 'clerk', model: scriptedModel([forever, 'Hi.']), silent: true });

  test.each([[''], ['  \n\t'], [undefined], [null], [5], [{}]])(
    'refuses the input %j at once, with TypeError',
    (input) => {
      expect(() => Reflect.apply(idle().run, undefined, [input])).toThrow(TypeError);
    },
  );

  test.each([
    ['maxSteps', { maxSteps: 0 }],
    ['maxSteps', { maxSteps: 1.5 }],
    ['metadata', { metadata: { big: 1n } }],
    ['metadata', { metadata: 'text' }],
  ])('refuses a wrong run option %s at once, by name', (name, options) => {
    const agent = idle();
    expect(() => Reflect.apply(agent.run, agent, ['Hello', options])).toThrow(new RegExp(name));
  });

  test('does one run at a time, and is free again after every kind of ending', async () => {
    const agent = idle();
    const run = agent.run('Hello');
    expect(() => agent.run('Again')).toThrow(AgentBusyError);
    expect(() => agent.run('Again')).toThrow(/clerk.*busy/);
    for await (const { type } of run) if (type === 'step.started') break;
    await run.cancel();
    await run;
    expect(await agent.run('Again')).toMatchObject({ status: 'answered' });
  });

  test('that was closed cancels its live run and runs no more', async () => {
    const agent = idle();
    const run = agent.run('Hello');
    for await (const { type } of run) if (type === 'step.started') break;
    await agent.close();
    expect(await run).toMatchObject({ status: 'cancelled', error: { message: 'the agent was closed' } });
    expect(() => agent.run('Again')).toThrow(AgentClosedError);
    expect(() => agent.resume(run.runId)).toThrow(AgentClosedError);
    await agent.close();
  });

  test('closes itself at the end of an `await using` block', async () => {
    let kept;
    {
      await using agent = createAgent({ model: scriptedModel(['Hi.']), silent: true });
      kept = agent;
      await agent.run('Hello');
    }
    expect(() => kept.run('Again')).toThrow(AgentClosedError);
  });

  test.each([3e9, Infinity])('close waits for a run that needs time to end, with a graceMs of %d', async (graceMs) => {
    const open = (run: RunHead) => liveJournal(run, { append: () => wait(30), close: () => undefined });
    const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true, journal: { open } });
    let isOver = false;
    void agent.run('Hello').then(() => (isOver = true));
    await agent.close({ graceMs });
    expect(isOver).toBe(true);
  });

  test('close does not wait longer than graceMs for a journal that hangs', async () => {
    const hanging = { open: () => ({ ...journalThatHangs }) };
    const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true, journal: hanging });
    agent.run('Hello');
    await wait(5);
    const before = performance.now();
    await agent.close({ graceMs: 50 });
    expect(performance.now() - before).toBeLessThan(2000);
  });
});

const journalThatHangs = {
  open: () => undefined,
  close: () => undefined,
  next: forever,
  end: () => undefined,
  send: forever,
};
