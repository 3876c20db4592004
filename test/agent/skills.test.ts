import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
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
