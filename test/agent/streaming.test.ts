import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { RunEvent } from '../../src/machines/run-events.ts';
import { replay } from '../../src/journal/replay.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

type Token = Extract<RunEvent, { readonly type: 'model.token' }>;

async function tokensOf(events: AsyncIterable<RunEvent>): Promise<readonly Token[]> {
  const tokens: Token[] = [];
  for await (const event of events) if (event.type === 'model.token') tokens.push(event);
  return tokens;
}

test('tokens tell thought and answer as they grow, whatever envelope they arrive in', async () => {
  const text = '{"thought": "It is easy.", "answer": "It is a fine day."}';
  const make = () =>
    createAgent({ model: scriptedModel([text], { toolCalling: 'json' }), streaming: true, silent: true });
  const run = make().run('How is the day?');
  const tokens = await tokensOf(run);
  expect(tokens.map((token) => token.text).join('')).toBe(text);
  expect(tokens.find(({ thought }) => thought !== '')?.answer).toBe('');
  const answers = tokens.map(({ answer }) => answer);
  expect(answers.every((answer, index) => answer.startsWith(answers[index - 1] ?? ''))).toBe(true);
  expect(answers).toContain('It is a ');
  expect(tokens.at(-1)).toMatchObject({ thought: 'It is easy.', answer: 'It is a fine day.' });

  const replayed = await tokensOf(replay(run.recording(), make()));
  expect(replayed).toMatchObject([{ text, answer: 'It is a fine day.', thought: 'It is easy.', replayed: true }]);
});
