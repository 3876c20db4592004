import { describe, expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options.ts';
import type { RunEvent } from '../../src/machines/run-events.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { calls, plan } from '../support/replies.ts';

/** A reply that cost so many tokens. */
function costing(totalTokens: number, reply: string | ModelReply): ModelReply {
  const usage = { inputTokens: totalTokens, outputTokens: 0, totalTokens };
  return typeof reply === 'string' ? { content: reply, usage } : { ...reply, usage };
}

const fragile = () =>
  fakeTool('fragile', [new Error('broken')], { onError: { executionError: recover.escalate('beyond me') } });

const failing = costing(10, calls(['fragile']));

describe('a run that was rerouted to a skill', () => {
  const careful = () => skill({ name: 'careful', instructions: 'Only look.', tools: [fakeTool('look')] });
  const toolsIn = ({ requests }: ScriptedModel) => requests.map(({ tools = [] }) => tools.map(({ name }) => name));

  test('stays limited to it when the tools of its agent change', async () => {
    const model = scriptedModel([
      failing,
      () => {
        agent.tools.register(fakeTool('late'));
        return calls(['look']);
      },
      'ok',
    ]);
    const agent = createAgent({
      model,
      tools: [fragile()],
      skills: [careful()],
      onEscalation: (_error, to) => to.reroute('careful'),
      silent: true,
    });
    const run = agent.run('Go');
    await run;
    expect(run.recording()).toContain('tools.changed');
    expect(toolsIn(model)).toEqual([
      ['fragile', 'look', 'make_plan'],
      ['look', 'make_plan'],
      ['look', 'make_plan'],
    ]);
  });

  test('stays limited to it after another model was asked in between', async () => {
    const broken = fakeTool('broken', [new Error('no')], { onError: { executionError: recover.escalate('not now') } });
    const strong = scriptedModel([
      () => {
        agent.tools.register(fakeTool('late'));
        return calls(['broken', { again: true }]);
      },
    ]);
    const model = scriptedModel([failing, calls(['broken']), 'ok']);
    const agent = createAgent({
      model,
      models: { strong },
      tools: [fragile()],
      skills: [skill({ name: 'careful', tools: [broken] })],
      onEscalation: ({ source }, to) => (source === 'fragile' ? to.reroute('careful') : to.retryWithModel(strong)),
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    expect(toolsIn(model).at(-1)).toEqual(['broken', 'make_plan']);
  });

  test('hears no more of other skills, nor of servers', async () => {
    const model = scriptedModel([failing, 'ok']);
    await using agent = createAgent({
      model,
      instructions: 'You work.',
      tools: [fragile()],
      skills: [careful(), skill({ name: 'reckless', instructions: 'Try everything.', tools: [fakeTool('try')] })],
      mcpServers: { gone: { command: process.execPath, args: ['-e', ''] } },
      timeouts: { connectMs: 50 },
      onEscalation: (_error, to) => to.reroute('careful'),
      silent: true,
    });
    await agent.run('Go');
    const [before, after] = model.requests.map(({ messages }) => String(messages[0]?.content));
    expect(before).toMatch(/careful.*reckless.*server 'gone' is not connected/s);
    expect(after).toBe("You work.\n\nSkill 'careful' (tools: look):\nOnly look.");
  });
});

describe('a run that was handed over', () => {
  /** An agent whose tool escalates, and an expert to whom it hands the task over. */
  function handing(above: readonly ScriptedReply[], below: readonly ScriptedReply[], options: AgentOptions = {}) {
    const look = fakeTool('look', ['seen']);
    const expert = createAgent({
      name: 'expert',
      model: scriptedModel(below),
      tools: [look],
      retry: { maxAttempts: 1 },
      silent: true,
    });
    const peek = fakeTool('peek');
    const agent = createAgent({
      name: 'chief',
      model: scriptedModel(above),
      tools: [fragile(), peek],
      children: [expert],
      onEscalation: (_error, to) => to.reroute(expert),
      silent: true,
      ...options,
    });
    return { agent, look, peek };
  }
  const looks = (count: number) => Array.from({ length: count }, (_, n) => costing(20, calls(['look', { n }])));

  test('counts the tokens of the other agent as its own', async () => {
    const { agent } = handing([failing], [...looks(1), costing(20, 'There.')]);
    expect(await agent.run('Go')).toMatchObject({ result: 'There.', usage: { totalTokens: 50 } });
  });

  test('counts them, too, where the other could not do it', async () => {
    const { agent } = handing([failing, costing(10, 'Sorry.')], [...looks(2), new Error('down')]);
    expect(await agent.run('Go')).toMatchObject({ result: 'Sorry.', usage: { totalTokens: 60 } });
  });

  test('has spent the tool calls of the other', async () => {
    const { agent, look, peek } = handing([failing, calls(['peek'])], [...looks(2), new Error('down')], {
      budget: { maxToolCalls: 3 },
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget' });
    expect([look.calls.length, peek.calls.length]).toEqual([2, 0]);
  });

  test('tells the agent above it what was used below', async () => {
    const { agent: chief, look } = handing([failing], [...looks(2), 'There.']);
    const peek = fakeTool('peek');
    const agent = createAgent({
      model: scriptedModel([calls(['chief', { task: 'look' }]), calls(['peek']), 'never']),
      tools: [peek],
      children: [chief],
      budget: { maxToolCalls: 4 },
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget' });
    expect([look.calls.length, peek.calls.length]).toEqual([2, 0]);
  });

  test.each([
    ['a call', failing],
    ['a step of a plan', costing(10, plan(['fragile']))],
  ])('leaves the other the whole rest of the budget after %s', async (_what, first) => {
    const { agent, look } = handing([first], [...looks(5), 'never'], { budget: { maxToolCalls: 3 } });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget' });
    expect(look.calls).toHaveLength(2);
  });

  const idsOf = async (run: AsyncIterable<RunEvent>): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const event of run) if (event.type === 'tool.started') ids.push(event.callId);
    return ids;
  };

  test('gives the calls of the other ids of their own, each time that it is handed over', async () => {
    const twice = fakeTool('twice', [new Error('one'), new Error('two')], {
      onError: { executionError: recover.escalate() },
    });
    const { agent } = handing(
      [calls(['twice']), calls(['twice', { again: true }]), 'Sorry.'],
      [...looks(1), new Error('down'), ...looks(1), new Error('down')],
      { tools: [twice] },
    );
    expect(await idsOf(agent.run('Go'))).toEqual(['c1', 'ch1.1', 'c2', 'ch2.1']);
  });

  test('gives them ids below the call that it is itself', async () => {
    const { agent: chief } = handing([failing], [...looks(1), 'There.']);
    const model = scriptedModel([calls(['chief', { task: 'look' }]), 'ok']);
    const agent = createAgent({ model, children: [chief], silent: true });
    expect(await idsOf(agent.run('Go'))).toEqual(['c1', 'c1.1', 'c1.h1.1']);
  });
});
