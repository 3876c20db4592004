import { describe, expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
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
  test('stays limited to it when the tools of its agent change', async () => {
    const careful = skill({ name: 'careful', instructions: 'Only look.', tools: [fakeTool('look')] });
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
      skills: [careful],
      onEscalation: (_error, to) => to.reroute(careful),
      silent: true,
    });
    const run = agent.run('Go');
    await run;
    expect(run.recording()).toContain('tools.changed');
    expect(model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([
      ['fragile', 'look', 'make_plan'],
      ['look', 'make_plan'],
      ['look', 'make_plan'],
    ]);
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
});
