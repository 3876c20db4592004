import { describe, expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError } from '../../src/recovery/steps.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

/** A reply that cost so many tokens. */
function costing(totalTokens: number, reply: string | ModelReply): ModelReply {
  const outputTokens = Math.floor(totalTokens / 5);
  const usage = { inputTokens: totalTokens - outputTokens, outputTokens, totalTokens };
  return typeof reply === 'string' ? { content: reply, usage } : { ...reply, usage };
}

/** Turns with one call of `look` each, no two alike. */
const looks = (...tokens: readonly number[]): readonly ModelReply[] =>
  tokens.map((cost, n) => costing(cost, calls(['look', { n }])));

const delegate = (...tasks: readonly string[]) =>
  calls(...tasks.map((task): [string, { task: string }] => ['researcher', { task }]));

/** A chief with one researcher, both with the tool `look`; says how often that was used below and above. */
function family(above: readonly ScriptedReply[], below: readonly ScriptedReply[], options: AgentOptions = {}) {
  const looked = fakeTool('look', ['seen']);
  const own = fakeTool('peek', ['seen, too']);
  const model = scriptedModel(below);
  const researcher = createAgent({
    name: 'researcher',
    model,
    tools: [looked],
    retry: { maxAttempts: 1 },
    silent: true,
  });
  const chief = scriptedModel(above);
  const agent = createAgent({ model: chief, tools: [own], children: [researcher], silent: true, ...options });
  return { agent, model, chief, looked, own };
}

describe('what a child uses counts in the budget of its parent:', () => {
  test('its tool calls', async () => {
    const { agent, looked, own } = family([delegate('look'), calls(['peek']), 'never'], [...looks(0, 0), 'seen'], {
      budget: { maxToolCalls: 3 },
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget' });
    expect([looked.calls.length, own.calls.length]).toEqual([2, 0]);
  });

  test('the tool calls of two of one turn', async () => {
    const turns = [delegate('look', 'look'), calls(['peek']), 'never'];
    const { agent, looked, own } = family(turns, [...looks(0, 0), 'seen', 'seen'], { budget: { maxToolCalls: 4 } });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget' });
    expect([looked.calls.length, own.calls.length]).toEqual([2, 0]);
  });

  test('its tool calls in a step of a plan', async () => {
    const steps = plan(['researcher', { task: 'look' }], ['peek']);
    const { agent, looked, own } = family([steps, 'never'], [...looks(0, 0), 'seen'], { budget: { maxToolCalls: 3 } });
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', reason: 'budget' });
    expect([looked.calls.length, own.calls.length]).toEqual([2, 0]);
  });

  test('the step of a plan that is the child itself', async () => {
    const steps = plan(['researcher', { task: 'look' }]);
    const { agent, looked } = family([steps, 'ok'], [...looks(0, 0), 'never'], { budget: { maxToolCalls: 2 } });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    expect(looked.calls).toHaveLength(1);
  });

  test('its tokens', async () => {
    const { agent, chief } = family([costing(10, delegate('look')), 'never'], [costing(90, 'seen')], {
      budget: { maxTokens: 100 },
    });
    const usage = { inputTokens: 80, outputTokens: 20, totalTokens: 100 };
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget', usage });
    expect(chief.requests).toHaveLength(1);
  });

  test('what the children of a child use', async () => {
    const bottom = family([delegate('look'), 'seen'], looks(0, 0).concat(costing(5, 'seen')));
    const middle = createAgent({
      name: 'middle',
      model: scriptedModel([calls(['agent', { task: 'look' }]), 'seen']),
      children: [bottom.agent],
      silent: true,
    });
    const own = fakeTool('peek');
    const agent = createAgent({
      model: scriptedModel([calls(['middle', { task: 'look' }]), calls(['peek']), 'never']),
      tools: [own],
      children: [middle],
      budget: { maxToolCalls: 5 },
      silent: true,
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget', usage: { totalTokens: 5 } });
    expect([bottom.looked.calls.length, own.calls.length]).toEqual([2, 0]);
  });
});

describe('the children of one turn share what is left:', () => {
  /** Both tasks go on until they are stopped. */
  const both = (options: AgentOptions, ...more: readonly (readonly [string])[]) => {
    const turn = calls(['researcher', { task: 'one' }], ['researcher', { task: 'two' }], ...more);
    return family([costing(20, turn), 'ok'], looks(...Array.from({ length: 20 }, () => 30)), options);
  };

  test('tool calls, in whole numbers', async () => {
    const { agent, looked } = both({ budget: { maxToolCalls: 7 } });
    await agent.run('Go');
    expect(looked.calls).toHaveLength(4);
  });

  test('tokens', async () => {
    const { agent, looked } = both({ budget: { maxTokens: 140 } });
    await agent.run('Go');
    expect(looked.calls).toHaveLength(4);
  });

  test('a tool beside them takes its one call and no share', async () => {
    const { agent, looked } = both({ budget: { maxToolCalls: 7 } }, ['peek']);
    await agent.run('Go');
    expect(looked.calls).toHaveLength(4);
  });
});

describe('a child keeps to', () => {
  /** How often a child looked that has this budget of its own, below a parent with that one. */
  async function looked(own: AgentOptions['budget'], parents: AgentOptions['budget']) {
    const tool = fakeTool('look', ['seen']);
    const child = createAgent({
      name: 'researcher',
      model: scriptedModel(looks(10, 10, 10, 10, 10, 10)),
      tools: [tool],
      silent: true,
      ...(own === undefined ? {} : { budget: own }),
    });
    await createAgent({
      model: scriptedModel([delegate('look'), 'ok']),
      children: [child],
      silent: true,
      ...(parents === undefined ? {} : { budget: parents }),
    }).run('Go');
    return tool.calls.length;
  }

  test.each([
    ['its own tool calls', { maxToolCalls: 2 }, { maxToolCalls: 5 }],
    ['its own tokens', { maxTokens: 20 }, { maxTokens: 50 }],
    ['its own budget below a parent without one', { maxToolCalls: 2 }, undefined],
    ['the tool calls that its parent has left', { maxToolCalls: 5 }, { maxToolCalls: 3 }],
    ['the tokens that its parent has left', { maxTokens: 50 }, { maxTokens: 20 }],
    ['its own tool calls and the tokens of its parent', { maxToolCalls: 2 }, { maxTokens: 100 }],
  ])('%s', async (_what, own, parents) => {
    expect(await looked(own, parents)).toBe(2);
  });
});

describe('the second try of a child that failed', () => {
  const retried: AgentOptions = { onError: { executionError: recover.retry({ maxAttempts: 2 }) } };
  const firstTry = [...looks(10, 10), new Error('down')];

  test('has calls with ids of their own', async () => {
    const { agent } = family([delegate('look'), 'ok'], [...firstTry, ...looks(0), 'seen'], retried);
    const ids: string[] = [];
    for await (const event of agent.run('Go')) if (event.type === 'tool.started') ids.push(event.callId);
    expect(ids).toEqual(['c1', 'c1.1', 'c1.2', 'c1', 'c1-1.1']);
  });

  test('gets the tool calls that the first has left', async () => {
    const { agent, looked } = family([delegate('look'), 'ok'], [...firstTry, ...looks(0, 0, 0), 'never'], {
      ...retried,
      budget: { maxToolCalls: 4 },
    });
    const { messages } = await agent.run('Go');
    expect(looked.calls).toHaveLength(3);
    expect(String(messages.at(-2)?.content)).toContain('stopped before it was done (budget)');
  });

  test('gets the tokens that the first has left', async () => {
    const { agent, looked } = family([costing(10, delegate('look')), 'ok'], [...firstTry, ...looks(10, 10, 10)], {
      ...retried,
      budget: { maxTokens: 50 },
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget', usage: { totalTokens: 50 } });
    expect(looked.calls).toHaveLength(4);
  });

  test('cannot begin where the first left nothing', async () => {
    const { agent, model } = family([costing(10, delegate('look')), 'never'], firstTry, {
      ...retried,
      budget: { maxTokens: 25 },
    });
    expect(await agent.run('Go')).toMatchObject({ reason: 'budget', usage: { totalTokens: 30 } });
    expect(model.requests).toHaveLength(2);
  });
});

describe('repair agents of one turn share what is left of the budget', () => {
  /** Two calls that fail in one turn; the agent that mends each looks twice first, by calls of its own. */
  const mending = (budget: NonNullable<AgentOptions['budget']>, onError: (fixer: Agent) => OnError) => {
    const looked = fakeTool('look', ['seen']);
    const fixer = createAgent({
      name: 'clerk',
      model: {
        complete: async ({ messages }) => {
          const turns = messages.filter(({ role }) => role === 'assistant').length;
          return turns < 2 ? costing(10, calls(['look', { turns }])) : costing(10, '{"path": "/found"}');
        },
      },
      tools: [looked],
      silent: true,
    });
    const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const write = fakeTool('write', ['written'], { inputSchema, onError: onError(fixer) });
    const turn = costing(10, calls(['write', 'nonsense'], ['write', 'no sense']));
    const agent = createAgent({ model: scriptedModel([turn, 'Done.']), tools: [write], silent: true, budget });
    return { agent, looked, write };
  };

  test.each([
    ['a step', (fixer: Agent): OnError => ({ invalidArgs: recover.fix(fixer) })],
    ['code', (fixer: Agent): OnError => ({ invalidArgs: () => recover.fix(fixer) })],
  ])('where %s asks them: no call runs beyond it', async (_how, onError) => {
    const { agent, looked, write } = mending({ maxToolCalls: 4 }, onError);
    await agent.run('Write');
    expect(looked.calls.length + write.calls.length).toBeLessThanOrEqual(4);
    expect(looked.calls).toHaveLength(2);
  });

  test('and have all that they need where there is enough, or no limit', async () => {
    for (const budget of [{ maxToolCalls: 6 }, {}]) {
      const { agent, looked, write } = mending(budget, (fixer) => ({ invalidArgs: recover.fix(fixer) }));
      expect((await agent.run('Write')).result).toBe('Done.');
      expect([looked.calls.length, write.calls.length]).toEqual([4, 2]);
    }
  });

  test('calls that nobody below could mend leave the whole to a child', async () => {
    const { agent, looked } = family([calls(['peek'], ['researcher', { task: 'look' }]), 'Done.'], looks(0, 0, 0), {
      budget: { maxToolCalls: 5 },
    });
    await agent.run('Go');
    expect(looked.calls).toHaveLength(3);
  });
});
