import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { calls } from '../support/replies.ts';

const fragile = () =>
  fakeTool('fragile', [new Error('broken')], { onError: { executionError: recover.escalate('beyond me') } });

const failing = calls(['fragile']);

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

test('a child agent that a run was rerouted to has the tools that are its own, also those that come while it works', async () => {
  const expert = scriptedModel([
    () => {
      agent.tools.remove('shared');
      child.tools.register(fakeTool('late'));
      return calls(['look']);
    },
    'Mended.',
  ]);
  const tools = [fakeTool('look'), fakeTool('shared')];
  const child = createAgent({ name: 'expert', description: 'Mends.', model: expert, tools, silent: true });
  const agent = createAgent({
    model: scriptedModel([failing]),
    tools: [fragile(), fakeTool('shared')],
    children: [child],
    onEscalation: (_error, to) => to.reroute('expert'),
    silent: true,
  });
  expect(await agent.run('Go')).toMatchObject({ result: 'Mended.', status: 'answered' });
  expect(expert.requests.map(({ tools: offered = [] }) => offered.map(({ name }) => name))).toEqual([
    ['look', 'shared', 'make_plan'],
    ['look', 'shared', 'late', 'make_plan'],
  ]);
});
