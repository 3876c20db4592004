import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

test('a skill brings its tools, its instructions to the model, and its error handling between tool and agent', async () => {
  const flaky = fakeTool('flaky', [new Error('busy'), { ok: true }]);
  const strict = fakeTool('strict', [new Error('busy')], { onError: { executionError: [] } });
  const alone = fakeTool('alone', [new Error('busy')]);
  const work = skill({
    name: 'work',
    instructions: 'Be gentle with it.',
    tools: [flaky, strict],
    onError: { executionError: recover.retry({ maxAttempts: 2 }) },
  });
  const make = (model = scriptedModel([calls(['flaky'], ['strict'], ['alone']), 'Done.'])) =>
    createAgent({ model, instructions: 'You work.', tools: [alone], skills: [work], silent: true });
  const model = scriptedModel([calls(['flaky'], ['strict'], ['alone']), 'Done.']);
  const run = make(model).run('Work');
  await run;
  expect(flaky.calls).toHaveLength(2);
  expect(strict.calls).toHaveLength(1);
  expect(alone.calls).toHaveLength(1);
  expect(model.requests[0]?.messages[0]?.content).toBe(
    "You work.\n\nSkill 'work' (tools: flaky, strict):\nBe gentle with it.",
  );
  const again = replay(run.recording(), make(scriptedModel([])));
  await again;
  expect(again.transitions()).toEqual(run.transitions());
});

test('names are taken once: tools across skills, and skills themselves', () => {
  const look = fakeTool('look');
  const one = skill({ name: 'one', tools: [look] });
  expect(() => createAgent({ tools: [look], skills: [one] })).toThrow(/named 'look' is registered already/);
  expect(() => createAgent({ skills: [one, skill({ name: 'one' })] })).toThrow(/skill named 'one' already/);
  expect(() => skill({ name: ' ' })).toThrow(/name must be a text/);
  expect(() => createAgent({ skills: [{}] as never })).toThrow(/skills\.0.*skill made by skill\(\)/);
});

test('arguments beyond the limit are not run, and the model is told the limit', async () => {
  const look = fakeTool('look');
  const agent = createAgent({
    model: scriptedModel([calls(['look', { text: 'x'.repeat(200) }]), 'Sorry.']),
    tools: [look],
    limits: { argumentBytes: 100 },
    silent: true,
  });
  const result = await agent.run('Look');
  expect(look.calls).toEqual([]);
  expect(result.errorHistory).toMatchObject([
    { code: 'invalid-args', message: expect.stringContaining('limit of 100 bytes') },
  ]);
});

test('a skill that is added while a run is live reaches the model with the next turn, and is gone once it is removed', async () => {
  const look = fakeTool('look');
  const work = skill({ name: 'work', instructions: 'Look first.', tools: [look] });
  const begin = fakeTool('begin', [() => agent.tools.register(work, fakeTool('extra'))]);
  const finish = fakeTool('finish', [() => agent.tools.remove('work')]);
  const model = scriptedModel([calls(['begin']), calls(['look']), calls(['finish']), calls(['look']), 'Done.']);
  const agent = createAgent({ model, tools: [begin, finish], silent: true });
  const run = agent.run('Work');
  await run;
  expect(model.requests.map(({ messages: [system] }) => system?.content)).toEqual([
    '',
    "Skill 'work' (tools: look):\nLook first.",
    "Skill 'work' (tools: look):\nLook first.",
    '',
    '',
  ]);
  expect(model.requests[1]?.tools?.map(({ name }) => name)).toEqual(['begin', 'finish', 'look', 'extra', 'make_plan']);
  expect(model.requests[3]?.tools?.map(({ name }) => name)).toEqual(['begin', 'finish', 'extra', 'make_plan']);
  expect(look.calls).toHaveLength(1);
  const again = replay(
    run.recording(),
    createAgent({ model: scriptedModel([]), tools: [begin, finish], silent: true }),
  );
  await again;
  expect(again.transitions()).toEqual(run.transitions());
});

test('of a skill only the tools are named that are there, and a cleared registry has no skill left', async () => {
  const touch = fakeTool('touch');
  const work = skill({ name: 'work', instructions: 'Look first.', tools: [fakeTool('look'), touch] });
  const model = scriptedModel(['One.', 'Two.', 'Three.']);
  const agent = createAgent({ model, skills: [work], silent: true });
  agent.tools.remove('touch');
  agent.tools.register(touch);
  await agent.run('One');
  agent.tools.remove('work');
  expect(agent.tools.list()).toEqual([touch]);
  agent.tools.register(skill({ name: 'rest', instructions: 'Rest.' }));
  agent.tools.clear();
  await agent.run('Two');
  agent.tools.register(work);
  await agent.run('Three');
  expect(model.requests.map(({ messages: [system] }) => system?.content)).toEqual([
    "Skill 'work' (tools: look):\nLook first.",
    '',
    "Skill 'work' (tools: look, touch):\nLook first.",
  ]);
});

test('a skill that cannot be added adds nothing', () => {
  const [look, touch] = [fakeTool('look'), fakeTool('touch')];
  const agent = createAgent({
    model: scriptedModel([]),
    tools: [look],
    skills: [skill({ name: 'there' })],
    silent: true,
  });
  const refused = [
    [touch, skill({ name: 'there' })],
    [touch, skill({ name: 'work', tools: [look] })],
    [skill({ name: 'work', tools: [touch] }), touch],
    [touch, skill({ name: 'twice' }), skill({ name: 'twice' })],
    [touch, skill({ name: 'work', onError: { invalidArgs: recover.fix(agent) } })],
  ];
  for (const some of refused) expect(() => agent.tools.register(...some)).toThrow(TypeError);
  expect([agent.tools.list(), agent.tools.remove('work'), agent.tools.remove('twice')]).toEqual([[look], false, false]);
});

test('what a skill says is not told to an agent that has its tool alone', async () => {
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const [first, second] = [scriptedModel(['One.']), scriptedModel(['Two.'])];
  const work = skill({ name: 'work', instructions: 'Look first.', tools: [look] });
  await createAgent({ model: first, skills: [work], silent: true }).run('One');
  await createAgent({ model: second, tools: [look], silent: true }).run('Two');
  const told = [first, second].map(({ requests: [request] }) => request?.messages[0]?.content);
  expect(told).toEqual(["Skill 'work' (tools: look):\nLook first.", '']);
});

test('a run that is limited to a skill gets no other tools when the skill is removed', async () => {
  const fails = fakeTool('fails', [new Error('busy')], { onError: { executionError: recover.escalate() } });
  const leave = fakeTool('leave', [() => agent.tools.remove('work')]);
  const work = skill({ name: 'work', instructions: 'Look first.', tools: [leave] });
  const model = scriptedModel([calls(['fails']), calls(['leave']), 'Done.']);
  const agent = createAgent({
    model,
    tools: [fails],
    skills: [work],
    onEscalation: (_error, to) => to.reroute(work),
    silent: true,
  });
  await agent.run('Work');
  expect(model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([
    ['fails', 'leave', 'make_plan'],
    ['leave', 'make_plan'],
    [],
  ]);
});
