import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelError } from '../../../src/actors/model.ts';
import { startPracticeModel, type PracticeModel } from '../../../src/cli/practice/start-practice-model.ts';
import { ask, askInVain, weather } from '../ask.ts';
import { workThrough } from './work-through.ts';

let practice: PracticeModel;
beforeAll(async () => {
  practice = await startPracticeModel();
});
afterAll(() => practice.close());

const shop = { tools: [weather], run: () => Promise.resolve({ celsius: 21 }) };
const question = (mistake: string) => `What is the weather in Austin? practice:${mistake}`;
const messages = (mistake: string) =>
  ({ messages: [{ role: 'user', content: question(mistake) }], tools: [weather] }) as const;

test.each(['broken-json', 'truncated', 'wrong-tool', 'wrong-arguments'])(
  'practice:%s is made once; after the complaint the work is done',
  async (mistake) => {
    const { answer, calls, replies } = await workThrough(practice.model, question(mistake), shop);
    expect(replies).toHaveLength(3);
    expect(calls.filter(([name, args]) => name === 'get_weather' && args['city'] === 'Austin')).toHaveLength(1);
    expect(answer).toBe('`get_weather` says: celsius 21.');
  },
);

test.each([
  ['broken-json', "{'city':'Austin',}"],
  ['truncated', '{"city":"'],
  ['wrong-arguments', '{"the_thing":true}'],
])('practice:%s writes the arguments %s', async (mistake, args) => {
  const reply = await ask(practice.model, messages(mistake));
  expect(reply.toolCalls?.[0]).toMatchObject({ name: 'get_weather', arguments: args });
  expect(reply.finishReason).toBe(mistake === 'truncated' ? 'length' : 'tool_calls');
});

test('an answer that was cut is given whole after the complaint', async () => {
  const greeting = { role: 'user', content: 'Hello! practice:truncated' } as const;
  const cut = await ask(practice.model, { messages: [greeting] });
  const complaint = { role: 'user', content: 'Your answer was cut off.' } as const;
  const whole = await ask(practice.model, {
    messages: [greeting, { role: 'assistant', content: cut.content }, complaint],
  });
  expect(cut.finishReason).toBe('length');
  expect(whole.content.startsWith(cut.content)).toBe(true);
  expect(whole.content.length).toBeGreaterThan(cut.content.length);
});

test('practice:wrong-tool calls a tool that there is not', async () => {
  expect((await ask(practice.model, messages('wrong-tool'))).toolCalls?.[0]?.name).toBe('look_around');
});

test('practice:empty says nothing', async () => {
  expect(await ask(practice.model, messages('empty'))).toMatchObject({ content: '', finishReason: 'stop' });
});

test('practice:text-call writes the call into the text', async () => {
  const reply = await ask(practice.model, messages('text-call'));
  expect(reply.toolCalls).toBeUndefined();
  expect(reply.content).toBe('<tool_call>\n{"name": "get_weather", "arguments": {"city":"Austin"}}\n</tool_call>');
});

test('practice:prose wraps the envelope', async () => {
  const { replies } = await workThrough(practice.model, question('prose'), shop, { mode: 'json' });
  expect(replies[0]?.content).toMatch(/^Sure!.*```json\n\{"thought".*\}\n```/s);
});

test('practice:loop makes the same call for ever', async () => {
  const { answer, calls } = await workThrough(practice.model, question('loop'), shop);
  expect(answer).toBe('(no answer)');
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1);
});

test('practice:reasoning thinks aloud', async () => {
  expect((await ask(practice.model, messages('reasoning'))).reasoning).toContain('What is the weather in Austin?');
});

test('practice:slow takes its time', async () => {
  const { stats } = await ask(practice.model, { ...messages('slow'), stream: true, io: { onToken: () => undefined } });
  expect(stats?.timeToFirstTokenMs).toBeGreaterThan(100);
});

test.each([
  ['error-500', { code: 'server-error', status: 500 }],
  ['rate-limit', { code: 'rate-limited', status: 429, retryAfterMs: 50 }],
  ['hang-up', { code: 'bad-response' }],
])('practice:%s fails the first try, and the second succeeds', async (mistake, expected) => {
  const failure = await askInVain(practice.model, { ...messages(mistake), stream: true });
  expect(failure).toBeInstanceOf(ModelError);
  expect(failure).toMatchObject(expected);
  expect((await ask(practice.model, { ...messages(mistake), stream: true })).toolCalls).toHaveLength(1);
});

test('practice:no-tools refuses tools; in json mode the work goes on', async () => {
  const stubborn = await startPracticeModel();
  expect((await askInVain(stubborn.model, messages('no-tools'))).code).toBe('no-native-tools');
  const { answer } = await workThrough(stubborn.model, question('no-tools'), shop, { mode: 'json' });
  expect(answer).toBe('`get_weather` says: celsius 21.');
  expect(stubborn.model.toolCalling).toBe('json');
  await stubborn.close();
});

test('it lists itself as what it is, and can be asked for nothing else', async () => {
  const list = await (await fetch(`${practice.baseURL}/models`)).json();
  expect(list).toMatchObject({ data: [{ id: 'signalbox-practice', description: 'a rule-based stand-in, no LLM' }] });
  expect((await fetch(`${practice.baseURL}/embeddings`)).status).toBe(404);
  expect((await fetch(`${practice.baseURL}/chat/completions`, { method: 'POST', body: 'garbage' })).status).toBe(400);
});
