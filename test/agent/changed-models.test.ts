import { expect, test } from 'vitest';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { calls } from '../support/replies.ts';
import { agentOf, asked, fails, model } from './listed-models.ts';

/** A run of the models `a` and `b` that waits for a person; `resumed` goes on with other models. */
async function parked() {
  const journal = memoryJournal();
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const options = { journal, tools, confirm: 'wait' } as const;
  const { runId } = await agentOf([model('a', [calls(['pay'])]), model('b', [])], options).run('Go', { park: true });
  return async (models: Parameters<typeof agentOf>[0]) => {
    const agent = agentOf(models, options);
    await agent.approve(runId, 'c1');
    return agent.resume(runId);
  };
}

test('a run that is resumed with its models in another order, or with more, asks those that it knows by their names', async () => {
  const [a, b, c] = [model('a', [fails('server-error')]), model('b', ['from b']), model('c', ['from c'])];
  expect(await (await parked())([c, b, a])).toMatchObject({ result: 'from b' });
  expect(asked(a, b, c)).toEqual([1, 1, 0]);
});

test('a run that is resumed with fewer models fails with what they fail with', async () => {
  const a = model('a', [fails('quota-exhausted'), fails('quota-exhausted')]);
  expect(await (await parked())([a])).toMatchObject({ reason: 'llm-error', error: { code: 'quota-exhausted' } });
});

test('a run that is resumed with models of other names asks them by their places', async () => {
  const [c, d] = [model('c', [fails('server-error')]), model('d', ['from d'])];
  expect(await (await parked())([c, d])).toMatchObject({ result: 'from d' });
  expect(asked(c, d)).toEqual([1, 1]);
});
