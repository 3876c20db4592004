import { describe, expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { RecoveryStep } from '../../src/recovery/steps.ts';
import type { OnEscalation } from '../../src/recovery/verdicts.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

/** A reply that cost so many tokens. */
function costing(totalTokens: number, reply: string | ModelReply): ModelReply {
  const usage = { inputTokens: totalTokens, outputTokens: 0, totalTokens };
  return typeof reply === 'string' ? { content: reply, usage } : { ...reply, usage };
}

const fragile = (severity = 'high') =>
  fakeTool('fragile', [new Error('broken')], { onError: { executionError: recover.escalate('beyond me', severity) } });

const failing = costing(10, calls(['fragile']));

describe('a run that was handed over', () => {
  /** An agent whose tool escalates, and an expert to whom it hands the task over. */
  function handing(
    above: readonly ScriptedReply[],
    below: readonly ScriptedReply[],
    { onLeak = recover.feedback(), ...options }: AgentOptions & { readonly onLeak?: RecoveryStep } = {},
  ) {
    const model = scriptedModel(above);
    const look = fakeTool('look', ['seen']);
    const leak = fakeTool('leak', [new Error('drip')], { onError: { executionError: onLeak } });
    const expert = createAgent({
      name: 'expert',
      model: scriptedModel(below),
      tools: [look, leak],
      retry: { maxAttempts: 1 },
      silent: true,
    });
    const peek = fakeTool('peek');
    const agent = createAgent({
      name: 'chief',
      model,
      tools: [fragile(), peek],
      children: [expert],
      onEscalation: (_error, to) => to.reroute(expert),
      silent: true,
      ...options,
    });
    return { agent, model, look, peek };
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

  describe('ends as the other did:', () => {
    test('stopped with what there is', async () => {
      const half = fakeTool('half', [new Error('no more')], { onError: { executionError: recover.escalate() } });
      const expert = createAgent({
        name: 'expert',
        model: scriptedModel([calls(['half'])]),
        tools: [half],
        onEscalation: (_error, to) => to.partialResult('Half of it.'),
        silent: true,
      });
      const { agent } = handing([failing], [], {
        children: [expert],
        onEscalation: (_error, to) => to.reroute('expert'),
      });
      expect(await agent.run('Go')).toMatchObject({
        status: 'stopped',
        reason: 'tool-error',
        result: 'Half of it.',
        error: { code: 'escalation', tool: 'half' },
      });
    });

    test('thrown', async () => {
      const { agent } = handing([failing], [calls(['leak'])], { onLeak: recover.throwException('a leak') });
      const run = agent.run('Go');
      expect(await run).toMatchObject({
        status: 'failed',
        reason: 'thrown',
        error: { code: 'thrown', message: 'a leak' },
      });
      await expect(run.orThrow()).rejects.toMatchObject({ code: 'thrown' });
    });
  });

  describe('to one that escalates itself', () => {
    const asked: string[] = [];
    const escalating = (own: string, below: string) => {
      asked.length = 0;
      const onEscalation: OnEscalation = ({ reason }, to) => (asked.push(reason), to.reroute('expert'));
      return handing([failing, 'Sorry.'], [calls(['leak'])], {
        tools: [fragile(own)],
        onEscalation,
        onLeak: recover.escalate('the house burns', below),
      });
    };

    test('ends where that is critical, by what the other said', async () => {
      expect(await escalating('low', 'critical').agent.run('Go')).toMatchObject({
        status: 'failed',
        reason: 'tool-error',
        error: { code: 'escalation', message: 'the house burns', tool: 'leak' },
      });
      expect(asked).toEqual(['beyond me']);
    });

    test('ends where its own failure was critical', async () => {
      expect(await escalating('critical', 'low').agent.run('Go')).toMatchObject({
        status: 'failed',
        reason: 'tool-error',
      });
    });

    test('else tells the model of both, and asks nobody again', async () => {
      const { agent, model } = escalating('low', 'high');
      expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'Sorry.' });
      expect(asked).toEqual(['beyond me']);
      expect(String(model.requests[1]?.messages.at(-1)?.content)).toMatch(
        /- Tool: fragile.*beyond me.*- Tool: expert\n {2}Arguments: {"task":"Go"}\n {2}Error: .*the house burns/s,
      );
    });
  });
});
