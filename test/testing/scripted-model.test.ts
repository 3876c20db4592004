import { expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { hostileModel } from '../../src/testing/hostile-model.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import '../../src/testing/vitest.ts';
import { calls } from '../support/replies.ts';

const ask = (model: ReturnType<typeof scriptedModel>, tools: readonly ReturnType<typeof fakeTool>[] = []) =>
  createAgent({ model, tools, silent: true, retry: { maxAttempts: 1 } }).run('Where is the cat?');

test.each<readonly [string, ScriptedReply]>([
  ['a text', 'On the mat.'],
  ['a whole reply', { content: 'On the mat.', finishReason: 'stop' }],
  ['a function', ({ messages }) => `${String(messages.at(-1)?.content).slice(-4, -1)}: On the mat.`],
  ['a promise of one', async () => ({ content: 'On the mat.' })],
])('a scripted reply is %s', async (_what, reply) => {
  const model = scriptedModel([reply]);
  await expect(ask(model)).toEndWith('answer', 'On the mat.');
  expect(() => model.assertComplete()).not.toThrow();
});

test('an error, given or by a function, is a failed request', async () => {
  await expect(ask(scriptedModel([new Error('gone')]))).toEndWith('llm-error', 'gone');
  await expect(ask(scriptedModel([() => new Error('gone')]))).toEndWith('llm-error', 'gone');
});

test.each<readonly [string, object, RegExp]>([
  ['a reply', { text: 'On the mat.' }, /reply 2: there is no option 'text'\. There are: content, toolCalls, usage/],
  ['a reply of OpenAI', { content: '', tool_calls: [] }, /reply 2: .*'tool_calls'\. Did you mean 'toolCalls'\?/],
  [
    'a call',
    { content: '', toolCalls: [{ name: 'a' }, { name: 'look', args: { at: 'cat' } }] },
    /reply 2, call 2: there is no option 'args'\. There are: id, name, arguments\. See docs\/testing\.md/,
  ],
])('a property that %s does not have is refused', async (_what, reply, message) => {
  const given = Object(reply);
  expect(() => scriptedModel(['Wait.', given])).toThrow(message);
  expect(() => hostileModel({ replies: ['Wait.', given] })).toThrow(message);
  const later = scriptedModel(['{"tool_name": "look", "tool_args": {}}', () => given]);
  await expect(ask(later, [fakeTool('look', ['?'])])).toEndWith('llm-error', message);
});

test('whatever a reply may have is taken, also what is undefined or inherited', async () => {
  const whole: Required<ModelReply> = {
    content: 'On the mat.',
    toolCalls: [{ id: '1', name: 'look', arguments: '{}' }],
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    finishReason: 'stop',
    reasoning: 'It sleeps.',
    providerState: { model: 'scripted', data: null },
    model: 'small',
    stats: { tokensPerSecond: 1 },
    warnings: [],
  };
  const unset = { text: undefined };
  const coded = Object.assign(new Error('gone'), { code: 'lost' });
  expect(() => scriptedModel([whole, Object.create(whole), { ...whole, ...unset }, coded])).not.toThrow();
});

test('a request beyond the script fails, prints itself, and assertComplete says it again', async () => {
  const model = scriptedModel([]);
  await expect(ask(model)).toEndWith(
    'llm-error',
    /no reply left: all 0 are used\. It was asked:[^]*Where is the cat\?/,
  );
  expect(() => model.assertComplete()).toThrow(/Where is the cat\?/);
});

test('replies that are left over fail with the next of them and the last request', async () => {
  const model = scriptedModel(['On the mat.', 'Never said.']);
  expect(() => model.assertComplete()).toThrow(/2 of the 2 replies .* It was never asked/);
  await ask(model);
  expect(() => model.assertComplete()).toThrow(
    /1 of the 2 .* next would have been "Never said\."\..*Where is the cat/s,
  );
});

test('a fake tool gives its results in order, the last again and again, and keeps its calls', async () => {
  const look = fakeTool('look', [1, new Error('dark'), ({ n }, { callId }) => `${callId}: ${String(n)}`]);
  const model = scriptedModel([...[1, 2, 3, 4].map((n) => calls(['look', { n }])), 'Nowhere.']);
  const { messages } = await ask(model, [look]);
  expect(look.calls).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  expect(results[0]).toContain('"data":1');
  expect(results[1]).toContain('dark');
  expect(results[3]).toContain('c4: 4');
});
