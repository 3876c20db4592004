import { expect, test } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { chatModel } from '../../src/models/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

async function warnings(budget: { readonly maxTokens?: number }, reported?: typeof usage) {
  const told: string[] = [];
  const counted = reported === undefined ? {} : { usage: reported };
  const agent = createAgent({
    model: scriptedModel([
      { ...calls(['look']), ...counted },
      { content: 'Done.', ...counted },
    ]),
    tools: [tool({ name: 'look', description: 'Looks.', execute: () => 'seen' })],
    budget,
    silent: true,
    onEvent: (event) => void (event.type === 'warning' && told.push(event.message)),
  });
  await agent.run('Look');
  return told;
}

test('a token budget that nothing counts against is told once, and no other', async () => {
  const nothing = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  for (const reported of [undefined, nothing]) {
    expect(await warnings({ maxTokens: 100 }, reported)).toEqual([
      'The model reports no tokens, so budget.maxTokens limits nothing. Set maxSteps and timeouts.totalMs.',
    ]);
    expect(await warnings({}, reported)).toEqual([]);
  }
  expect(await warnings({ maxTokens: 100 }, usage)).toEqual([]);
});

test.each([
  [{ total_tokens: 5000 }, 5000],
  [{ prompt_tokens: null, completion_tokens: 3, total_tokens: 5 }, 5],
  [{ prompt_tokens: 2 }, 2],
  [{ total_tokens: '5000' }, 0],
  [{ prompt_tokens: -1, completion_tokens: 3, total_tokens: -4 }, 3],
])('of the usage %j, %i tokens count', async (told, totalTokens) => {
  const fetch = () => Promise.resolve(Response.json({ choices: [{ message: { content: 'Done.' } }], usage: told }));
  const model = chatModel({ baseURL: 'http://model.test/v1', model: 'm', apiKey: 'k', fetch });
  const result = await createAgent({ model, silent: true }).run('Count');
  expect(result.usage.totalTokens).toBe(totalTokens);
});
