import { describe, expect, test } from 'vitest';
import type { Model } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

describe('an agent below another', () => {
  const above = (model: Model, child: Model) =>
    createAgent({
      model,
      silent: true,
      children: [createAgent({ name: 'helper', description: 'Helps.', model: child, silent: true })],
    });

  test.each([
    ['refusal', 'refused', 'The model refused to answer.\\nI will not.'],
    ['content_filter', 'content-filter', "A content filter stopped the model's reply.\\nI will not."],
  ])(
    'that ends by %s has failed, and the one above is told why and what it said',
    async (finishReason, _reason, text) => {
      const model = scriptedModel([calls(['helper', { task: 'Do it' }]), 'It would not.']);
      const result = await above(model, scriptedModel([{ content: 'I will not.', finishReason }])).run('Go');
      expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'execution', tool: 'helper' }] });
      expect(JSON.stringify(model.requests[1]?.messages.at(-1)?.content)).toContain(text);
    },
  );

  test('says the same to code that runs it, and to the agent that had handed its task over', async () => {
    const refusing = () =>
      createAgent({
        name: 'helper',
        silent: true,
        model: scriptedModel([{ content: 'I will not.', finishReason: 'refusal' }]),
      });
    const why = 'The model refused to answer.\nI will not.';
    const byCode = createAgent({ model: scriptedModel([]), silent: true, children: [refusing()] });
    expect(await byCode.tools.execute('helper', { task: 'Do it' })).toMatchObject({ status: 'error', error: why });
    const onError = { executionError: recover.escalate('beyond me') };
    const helper = refusing();
    const model = scriptedModel([calls(['hard']), 'Sorry.']);
    const chief = createAgent({
      model,
      silent: true,
      tools: [fakeTool('hard', [new Error('broken')], { onError })],
      children: [helper],
      onEscalation: (_error, to) => to.reroute(helper),
    });
    expect(await chief.run('Go')).toMatchObject({ status: 'answered', result: 'Sorry.' });
    expect(String(model.requests[1]?.messages.at(-1)?.content)).toContain(why);
  });

  test('that was handed a task and was cut off ends the run with what there is', async () => {
    const onError = { executionError: recover.escalate('beyond me') };
    const helper = createAgent({
      name: 'helper',
      silent: true,
      model: scriptedModel([{ content: 'First, ta', finishReason: 'length' }]),
    });
    const chief = createAgent({
      model: scriptedModel([calls(['hard'])]),
      silent: true,
      tools: [fakeTool('hard', [new Error('broken')], { onError })],
      children: [helper],
      onEscalation: (_error, to) => to.reroute(helper),
    });
    expect(await chief.run('Go')).toMatchObject({ status: 'stopped', reason: 'length', result: 'First, ta' });
  });

  test('that was cut off has stopped: the one above gets what there is', async () => {
    const model = scriptedModel([calls(['helper', { task: 'Do it' }]), 'Half of it.']);
    const result = await above(model, scriptedModel([{ content: 'First, ta', finishReason: 'length' }])).run('Go');
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
    expect(String(model.requests[1]?.messages.at(-1)?.content)).toMatch(
      /"partial".*"data":"First, ta".*stopped before it was done \(length\)/,
    );
  });
});
