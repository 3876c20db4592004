import { expect, test } from 'vitest';
import type { Message, Model } from '../../src/actors/model.ts';
import { showingPrompts } from '../../src/output/showing-prompts.ts';

const SYSTEM: Message = { role: 'system', content: 'Be brief.' };
const QUESTION: Message = { role: 'user', content: 'How warm is it?' };
const CALL: Message = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Austin"}' }],
};
const RESULT: Message = { role: 'tool', name: 'get_weather', toolCallId: 'c1', content: '21' };

function shown(turns: readonly (readonly Message[])[]): readonly string[] {
  const prompts: string[] = [];
  const echo: Model = { complete: async ({ messages }) => ({ content: String(messages.length) }) };
  const model = showingPrompts(echo, { prompt: (text) => void prompts.push(text) });
  for (const messages of turns) {
    void model.complete({ messages, toolCalling: 'native', stream: false }, { signal: AbortSignal.timeout(1000) });
  }
  return prompts;
}

test('the first prompt is shown whole, the next by what is new', () => {
  expect(
    shown([
      [SYSTEM, QUESTION],
      [SYSTEM, QUESTION, CALL, RESULT],
    ]),
  ).toEqual([
    '[system] Be brief.\n[user] How warm is it?',
    '(the 2 messages sent before)\n[assistant] get_weather({"city":"Austin"})\n[tool get_weather] 21',
  ]);
});

test('a system prompt that has changed is shown again, with all that follows', () => {
  const changed: Message = { role: 'system', content: 'Be long.' };
  expect(
    shown([
      [SYSTEM, QUESTION],
      [changed, QUESTION],
    ])[1],
  ).toBe('[system] Be long.\n[user] How warm is it?');
});

test('what the model says of itself, and its reply, stay the same', async () => {
  const own: Model = {
    id: 'ollama:qwen3',
    toolCalling: 'json',
    keepsTime: true,
    complete: async () => ({ content: 'Hi' }),
  };
  const model = showingPrompts(own, { prompt: () => undefined });
  expect([model.id, model.toolCalling, model.keepsTime]).toEqual(['ollama:qwen3', 'json', true]);
  const io = { signal: AbortSignal.timeout(1000) };
  expect(await model.complete({ messages: [QUESTION], toolCalling: 'json', stream: false }, io)).toEqual({
    content: 'Hi',
  });
});
