import { describe, expect, test } from 'vitest';
import { ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ApprovalRequest } from '../../src/actors/ask-approval.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { ToolError } from '../../src/json/errors.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

const delegate = (task: string, to = 'researcher') => calls([to, { task }]);

function family(parent: readonly ScriptedReply[], child: readonly ScriptedReply[], options: AgentOptions = {}) {
  const look = fakeTool('look', [{ found: 'tea' }]);
  const below = scriptedModel(child);
  const above = scriptedModel(parent);
  const researcher = createAgent({
    name: 'researcher',
    description: 'Finds things out.',
    instructions: 'You look things up.',
    model: below,
    tools: [look],
    silent: true,
  });
  const agent = createAgent({ name: 'chief', model: above, children: [researcher], silent: true, ...options });
  return { agent, researcher, look, above, below };
}

describe('a child agent', () => {
  test('appears to the parent as a tool, does the task with its own tools, and its answer is the result', async () => {
    const { agent, look, above, below } = family(
      [delegate('Find tea'), 'Tea it is.'],
      [calls(['look', { q: 'tea' }]), 'There is tea.'],
    );
    const result = await agent.run('What is there to drink?');
    expect(result).toMatchObject({ status: 'answered', result: 'Tea it is.', toolsUsed: ['researcher'] });
    expect(above.requests[0]?.tools?.map(({ name, description }) => [name, description])).toContainEqual([
      'researcher',
      'Finds things out.',
    ]);
    expect(below.requests[0]?.messages.map(({ content }) => content)).toEqual(['You look things up.', 'Find tea']);
    expect(look.calls).toEqual([{ q: 'tea' }]);
    expect(above.requests[1]?.messages.at(-1)?.content).toContain('There is tea.');
    expect(agent.listTools()).toContainEqual(expect.objectContaining({ name: 'researcher', origin: 'agent' }));
  });

  test('is a nested machine: its moves, calls and effects stand below the call, and a recording replays without its code', async () => {
    const { agent } = family([delegate('Find tea'), 'Tea.'], [calls(['look']), 'There is tea.']);
    const run = agent.run('Drink?');
    await run;
    const actors = new Set(run.transitions().map(({ actor }) => actor));
    expect(actors).toEqual(
      new Set([
        'agent',
        'agent/llmCall',
        'agent/c1',
        'agent/c1/childAgent',
        'agent/c1/childAgent/llmCall',
        'agent/c1/childAgent/c1.1',
      ]),
    );
    expect(run.transitions()).toContainEqual(expect.objectContaining({ actor: 'agent/c1', to: 'DELEGATING' }));
    expect(transitions(run.recording())).toEqual(run.transitions());
    const { agent: again, below, above } = family([], []);
    const replayed = replay(run.recording(), again);
    expect(await replayed).toMatchObject({ result: 'Tea.' });
    expect(replayed.transitions()).toEqual(run.transitions());
    expect([...below.requests, ...above.requests]).toEqual([]);
  });

  test('is the same agent for several calls at once, each with its own run', async () => {
    const { agent, below } = family(
      [calls(['researcher', { task: 'one' }], ['researcher', { task: 'two' }]), 'Both.'],
      [
        ({ messages }) => `did ${String(messages.at(-1)?.content)}`,
        ({ messages }) => `did ${String(messages.at(-1)?.content)}`,
      ],
    );
    const result = await agent.run('Do both');
    const results = result.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => JSON.parse(String(content)).data);
    expect(results).toEqual(['did one', 'did two']);
    expect(below.requests).toHaveLength(2);
  });

  test('tells its events with its place, and neither starts nor ends the run', async () => {
    const { agent } = family([delegate('Find tea'), 'Tea.'], [calls(['look']), 'There is tea.']);
    const events: RunEvent[] = [];
    for await (const event of agent.run('Drink?')) events.push(event);
    const count = (type: string) => events.filter((event) => event.type === type).length;
    expect([count('run.started'), count('run.finished'), count('answer')]).toEqual([1, 1, 1]);
    expect(events.filter(({ child }) => child === 'researcher').map(({ type }) => type)).toEqual(
      expect.arrayContaining(['step.started', 'model.replied', 'tool.started', 'tool.finished', 'state.changed']),
    );
    const started = events.flatMap((event) =>
      event.type === 'tool.started' ? [[event.child, event.callId, event.tool]] : [],
    );
    expect(started).toEqual([
      [undefined, 'c1', 'researcher'],
      ['researcher', 'c1.1', 'look'],
    ]);
  });

  test('has ids below the call for the steps of its plans', async () => {
    const { agent } = family([delegate('Find tea'), 'Tea.'], [plan(['look', { n: 1 }], ['look', { n: 2 }]), 'There.']);
    const ids: string[] = [];
    for await (const event of agent.run('Drink?')) if (event.type === 'tool.started') ids.push(event.callId);
    expect(ids).toEqual(['c1', 'c1.1', 'c1.2']);
  });

  test('asks for approval with an id of its own; the root says yes from outside', async () => {
    const shop = fakeTool('buy', [{ receipt: 7 }], { policy: 'confirm' });
    const buyer = createAgent({
      name: 'buyer',
      model: scriptedModel([calls(['buy'], ['buy', { n: 2 }]), 'Bought.']),
      tools: [shop],
    });
    const agent = createAgent({
      model: scriptedModel([delegate('Buy', 'buyer'), 'Done.']),
      children: [buyer],
      confirm: 'wait',
      silent: true,
    });
    const run = agent.run('Buy it');
    const children: unknown[] = [];
    for await (const event of run) if (event.type === 'approval.requested' && children.push(event.child) === 2) break;
    expect(children).toEqual(['buyer', 'buyer']);
    expect(run.pending.map(({ callId, tool, child }) => [callId, tool, child])).toEqual([
      ['c1.1', 'buy', 'buyer'],
      ['c1.2', 'buy', 'buyer'],
    ]);
    expect(await run.reject('c1.1', 'too dear')).toBe(true);
    expect(await run.approve('c1.2')).toBe(true);
    expect(await run).toMatchObject({ status: 'answered' });
    expect(shop.calls).toEqual([{ n: 2 }]);
  });

  test('is asked for by its own confirm before the one of its parent', async () => {
    const asked: (ApprovalRequest & { by: string })[] = [];
    const buy = fakeTool('buy', [1], { policy: 'confirm' });
    const confirm = (by: string) => (request: ApprovalRequest) => (
      asked.push({ ...request, by }),
      'allow-once' as const
    );
    const child = (own: AgentOptions) =>
      createAgent({ name: 'buyer', model: scriptedModel([calls(['buy']), 'ok']), tools: [buy], silent: true, ...own });
    const parent = (own: AgentOptions) =>
      createAgent({
        model: scriptedModel([delegate('Buy', 'buyer'), 'ok']),
        children: [child(own)],
        confirm: confirm('parent'),
        silent: true,
      }).run('Go');
    await parent({});
    await parent({ confirm: confirm('child') });
    expect(asked.map(({ by, agent }) => [by, agent])).toEqual([
      ['parent', 'buyer'],
      ['child', 'buyer'],
    ]);
  });

  test('ends with its parent when that is cancelled', async () => {
    let aborted = false;
    const hanging = createAgent({
      name: 'slow',
      model: {
        complete: (_request, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => ((aborted = true), reject(new Error('gone')))),
          ),
      },
      silent: true,
    });
    const agent = createAgent({ model: scriptedModel([delegate('Wait', 'slow')]), children: [hanging], silent: true });
    const run = agent.run('Go');
    for await (const event of run) if (event.type === 'step.started' && event.child === 'slow') break;
    expect(await run.cancel('enough')).toBe(true);
    expect(await run).toMatchObject({ status: 'cancelled' });
    expect(aborted).toBe(true);
  });

  test('counts into the usage of the run, and shares its budget', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
    const { agent } = family(
      [
        { ...delegate('Find'), usage },
        { content: 'ok', usage },
      ],
      [{ content: 'x', usage }],
    );
    expect((await agent.run('Go')).usage.totalTokens).toBe(45);
    const tight = family(
      [delegate('Find'), 'never'],
      [calls(['look', { n: 1 }]), calls(['look', { n: 2 }]), calls(['look', { n: 3 }]), 'never'],
      { budget: { maxToolCalls: 3 } },
    );
    const result = await tight.agent.run('Go');
    expect(tight.look.calls).toHaveLength(2);
    expect(result).toMatchObject({ status: 'answered' });
    expect(result.messages.findLast(({ role }) => role === 'tool')?.content).toContain('budget');
  });

  test('that fails is an error of the call, which its parent may mend', async () => {
    const { agent, above } = family([delegate('Find'), 'Never mind.'], [new Error('offline'), new Error('offline')], {
      retry: { backoff: { kind: 'constant', ms: 0 } },
    });
    expect(await agent.run('Go')).toMatchObject({
      status: 'answered',
      errorHistory: [expect.objectContaining({ tool: 'researcher' })],
    });
    expect(JSON.stringify(above.requests[1]?.messages)).toContain('offline');
  });

  test('that fails says why to the steps that are to mend it', async () => {
    const seen: ToolError[] = [];
    const { agent } = family(
      [delegate('Find'), 'ok'],
      [new ModelError('auth', 'no key'), new ModelError('auth', 'no key')],
      {
        onError: { executionError: (error) => (seen.push(error), recover.substitute(() => 'nothing found')) },
      },
    );
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', errorHistory: [] });
    expect(seen[0]).toEqual({
      kind: 'execution',
      tool: 'researcher',
      args: { task: 'Find' },
      cause: { name: 'AgentFailed', message: 'Unable to complete task due to LLM error: no key', code: 'auth' },
      timedOut: false,
    });
  });

  test('is told of the failures of its own tools itself, and its parent hears nothing of them', async () => {
    const { agent, researcher, below } = family([delegate('Find'), 'ok'], [calls(['broken']), 'Without it, then.']);
    researcher.tools.register(fakeTool('broken', [new Error('out of order')]));
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', errorHistory: [] });
    expect(String(below.requests[1]?.messages.at(-1)?.content)).toContain('out of order');
  });

  test('without a task is told so and never begins', async () => {
    const { agent, below } = family([calls(['researcher', {}]), 'ok'], []);
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    expect(below.requests).toHaveLength(0);
  });

  test('is denied and confirmed like any tool', async () => {
    const denied = family([delegate('Find'), 'ok'], [], { defaultPolicy: 'deny' });
    await denied.agent.run('Go');
    expect(denied.below.requests).toHaveLength(0);
    const confirmed = family([delegate('Find'), 'ok'], ['found'], {
      defaultPolicy: 'confirm',
      confirm: () => 'allow-once',
    });
    await confirmed.agent.run('Go');
    expect(confirmed.below.requests).toHaveLength(1);
  });

  test('runs at the call of code, too', async () => {
    const { agent } = family([], ['There is tea.']);
    expect(await agent.tools.execute('researcher', { task: 'Find' })).toEqual({
      status: 'success',
      data: 'There is tea.',
    });
  });

  test('runs in a bare machine, with its own model and tools', async () => {
    const { agent, look } = family([delegate('Find'), 'Tea.'], [calls(['look']), 'There is tea.']);
    const { createActor, toPromise } = await import('xstate');
    const actor = createActor(agent.machine, { input: { task: 'Go' } }).start();
    expect(await toPromise(actor)).toMatchObject({ result: 'Tea.' });
    expect(look.calls).toHaveLength(1);
  });

  test('that is cancelled alone, in a system of actors, is an error of the call', async () => {
    const { createActor, toPromise } = await import('xstate');
    let child: { send(event: { readonly type: string; readonly reason: string }): void } | undefined;
    const cancelled = () => {
      child?.send({ type: 'run.cancelled', reason: 'not needed' });
      return new Promise<string>(() => undefined);
    };
    const { agent, above } = family([delegate('Find'), 'Without it.'], [cancelled]);
    const actor = createActor(agent.machine, {
      input: { task: 'Go' },
      inspect: ({ type, actorRef }) => {
        if (type === '@xstate.actor' && 'id' in actorRef && actorRef.id === 'childAgent') child = actorRef;
      },
    }).start();
    expect(await toPromise(actor)).toMatchObject({ result: 'Without it.', errorHistory: [{ code: 'execution' }] });
    expect(String(above.requests[1]?.messages.at(-1)?.content)).toContain('[Cancelled after 1 step(s)]');
  });

  test('has its own prompt composed, by its own code', async () => {
    const below = scriptedModel(['There.']);
    const above = scriptedModel([delegate('Find', 'poet'), 'ok']);
    const poet = createAgent({ name: 'poet', model: below, systemPrompt: () => 'You rhyme.', silent: true });
    const agent = createAgent({ model: above, children: [poet], systemPrompt: () => 'You count.', silent: true });
    await agent.run('Go');
    expect([above, below].map(({ requests }) => requests[0]?.messages[0]?.content)).toEqual([
      'You count.',
      'You rhyme.',
    ]);
  });

  test('keeps its secrets to itself', async () => {
    const secret = 'the-child-secret-42';
    const child = createAgent({
      name: 'keeper',
      secrets: [secret],
      model: scriptedModel([`I know ${secret}.`]),
      silent: true,
    });
    const above = scriptedModel([delegate('Tell', 'keeper'), ({ messages }) => String(messages.at(-1)?.content)]);
    const agent = createAgent({ model: above, children: [child], silent: true });
    const run = agent.run('Go');
    await run;
    expect(run.recording()).not.toContain(secret);
    expect(JSON.stringify(above.requests)).not.toContain(secret);
  });

  test('may have children itself, down to eight agents', async () => {
    const leafModel = scriptedModel(['deep']);
    let agent = createAgent({ name: 'a8', model: leafModel, silent: true });
    for (let n = 7; n >= 1; n--)
      agent = createAgent({
        name: `a${n}`,
        model: scriptedModel([delegate('down', `a${n + 1}`), 'up']),
        children: [agent],
        silent: true,
      });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'up' });
    expect(leafModel.requests).toHaveLength(1);
    expect(() => createAgent({ children: [agent] })).toThrow(/children.*8 levels deep/);
  });

  test('must be an agent with a name that is free', () => {
    const child = createAgent({ name: 'look' });
    expect(() => createAgent({ children: [child, child] })).toThrow(/children.*'look'/);
    expect(() => createAgent({ children: [child], tools: [fakeTool('look')] })).toThrow(/'look'/);
    // @ts-expect-error -- a plain object is no agent
    expect(() => createAgent({ children: [{ name: 'x' }] })).toThrow(/children/);
  });

  test('sees tools that are added to it at its next task', async () => {
    const { agent, researcher, below } = family(
      [delegate('One'), delegate('Two'), 'ok'],
      [() => (researcher.tools.register(fakeTool('search')), 'one'), 'two'],
    );
    await agent.run('Go');
    expect(below.requests.map(({ tools = [] }) => tools.some(({ name }) => name === 'search'))).toEqual([false, true]);
  });
});
