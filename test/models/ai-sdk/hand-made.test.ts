import { describe, expect, test } from 'vitest';
import type { Message, ModelToken } from '../../../src/actors/model.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { fromAiSdk } from '../../../src/models/ai-sdk/from-ai-sdk.ts';
import type { AiSdkStream } from '../../../src/models/ai-sdk/language-model.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { eventsOf } from '../../agent/agent-on-server.ts';
import { ask, askInVain } from '../ask.ts';
import { openaiChat } from './openai-wires.ts';
import { SIGNATURE, anthropic, google } from './other-wires.ts';
import { agentOver, ofType, valuesOf } from './wire-server.ts';

const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'end' } };

const streamOf = (parts: readonly object[]): AiSdkStream =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

/** A model of the SDK that streams these parts, however a provider may send them. */
const handMade = (stream: () => AiSdkStream) =>
  fromAiSdk({
    specificationVersion: 'v4',
    provider: 'own',
    modelId: 'm',
    doGenerate: () => Promise.reject(new Error('it streams')),
    doStream: () => Promise.resolve({ stream: stream() }),
  });

test.each([
  ['mistral.chat', 'm', ['user', 'assistant', 'tool', 'assistant', 'user']],
  ['openrouter', 'mistralai/devstral-small', ['user', 'assistant', 'tool', 'assistant', 'user']],
  ['openai.chat', 'gpt-5', ['user', 'assistant', 'tool', 'user']],
])('a conversation goes to %s:%s in the order that it takes', async (provider, modelId, order) => {
  let prompt: readonly object[] = [];
  const model = fromAiSdk({
    specificationVersion: 'v4',
    provider,
    modelId,
    doGenerate: () => Promise.reject(new Error('it streams')),
    doStream: (call) => {
      ({ prompt } = call);
      return Promise.resolve({ stream: streamOf([finish]) });
    },
  });
  const messages: readonly Message[] = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'look', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'call_1', name: 'look', content: 'offline' },
    { role: 'user', content: 'Try again.' },
  ];
  await ask(model, { messages, stream: true });
  expect(prompt).toMatchObject(order.map((role) => ({ role })));
});

function named(name: string, more: object): Error {
  return Object.assign(new Error(name === 'Error' ? '' : 'it has failed'), { name }, more);
}

const begun = [
  { type: 'text-start', id: 'a' },
  { type: 'text-delta', id: 'a', delta: 'Hel' },
];

test('a stream that ends without its server having said why is no answer, and is asked for again', async () => {
  const cut = { type: 'finish', finishReason: { unified: 'other', raw: undefined } };
  const streams = [
    [...begun, cut],
    [...begun, finish],
  ];
  const agent = createAgent({
    model: handMade(() => streamOf(streams.shift() ?? [])),
    silent: true,
    streaming: true,
    retry: { backoff: recover.constant(1) },
  });
  const run = agent.run('Hi');
  const retries = (await eventsOf(run)).filter(({ type }) => type === 'model.retrying');
  expect(retries).toMatchObject([{ error: { code: 'bad-response' } }]);
  expect(await run).toMatchObject({ status: 'answered', result: 'Hel' });
});

test('an end that the SDK has no word for is one', async () => {
  const model = handMade(() =>
    streamOf([...begun, { type: 'finish', finishReason: { unified: 'other', raw: 'load' } }]),
  );
  expect(await ask(model, { stream: true })).toMatchObject({ content: 'Hel', finishReason: 'load' });
  const whole = fromAiSdk({
    specificationVersion: 'v3',
    provider: 'own',
    modelId: 'm',
    doGenerate: () =>
      Promise.resolve({ content: [{ type: 'text', text: 'Hi.' }], finishReason: { unified: 'other', raw: undefined } }),
    doStream: () => Promise.reject(new Error('it is whole')),
  });
  expect(await ask(whole)).toMatchObject({ content: 'Hi.', finishReason: 'other' });
});

describe('a reply by its parts', () => {
  test('summaries of reasoning are paragraphs, in the pieces as in the whole', async () => {
    const parts = [
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'First.' },
      { type: 'reasoning-end', id: 'a' },
      { type: 'reasoning-start', id: 'b' },
      { type: 'reasoning-delta', id: 'b', delta: 'Sec' },
      { type: 'reasoning-delta', id: 'b', delta: 'ond.' },
      { type: 'reasoning-end', id: 'b' },
      finish,
    ];
    const tokens: ModelToken[] = [];
    const reply = await ask(
      handMade(() => streamOf(parts)),
      { stream: true, io: { onToken: (token) => tokens.push(token) } },
    );
    expect(reply).toEqual({ content: '', reasoning: 'First.\n\nSecond.', finishReason: 'stop' });
    expect(tokens.map(({ text }) => text).join('')).toBe('First.\n\nSecond.');
  });

  test.each([[[]], [[{ type: 'text-delta', id: '1', delta: 'Half a' }]]])(
    'one that never finishes is none: %o',
    async (parts) => {
      expect(
        await askInVain(
          handMade(() => streamOf(parts)),
          { stream: true },
        ),
      ).toMatchObject({ code: 'bad-response' });
    },
  );

  test('a connection that breaks is a reply that broke off, also where the provider passes the bare error on', async () => {
    const broken = () => new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) });
    expect(await askInVain(handMade(broken), { stream: true })).toMatchObject({ code: 'bad-response' });
    const other = () => new ReadableStream({ start: (controller) => controller.error(new RangeError('odd')) });
    expect(await askInVain(handMade(other), { stream: true })).toMatchObject({ code: 'model-error' });
  });

  test('what is unknown is passed over', async () => {
    const parts = [
      { type: 'raw' },
      { type: 'ping' },
      null,
      7,
      { type: 'source', url: 'x' },
      { type: 'text-delta', id: '1', delta: 'Hi.' },
      finish,
    ];
    const stream = () => streamOf(parts.map((part) => Object(part)));
    expect(await ask(handMade(stream), { stream: true })).toEqual({ content: 'Hi.', finishReason: 'stop' });
  });

  test('a stream that pays no attention to its signal is cancelled', async () => {
    const cancelled: unknown[] = [];
    const abort = new AbortController();
    const model = handMade(
      () =>
        new ReadableStream({
          cancel: (reason) => void cancelled.push(reason),
          pull: () => void setImmediate(() => abort.abort()),
        }),
    );
    expect(await askInVain(model, { stream: true, io: { signal: abort.signal } })).toMatchObject({ code: 'aborted' });
    expect(cancelled).toHaveLength(1);
  });

  test.each([true, false])(
    'a request that pays no attention to its signal is given up, streamed: %s',
    async (stream) => {
      const never = () => new Promise<never>(() => undefined);
      const own = {
        specificationVersion: 'v4',
        provider: 'own',
        modelId: 'm',
        doGenerate: never,
        doStream: never,
      } as const;
      const abort = new AbortController();
      const failing = askInVain(fromAiSdk(own), { stream, io: { signal: abort.signal } });
      setImmediate(() => abort.abort());
      expect(await failing).toMatchObject({ code: 'aborted' });
    },
  );

  test('one that its server ends with an error is none', async () => {
    const failed = { type: 'finish', finishReason: { unified: 'error', raw: 'engine' } };
    const model = handMade(() => streamOf([...begun, failed]));
    expect(await askInVain(model, { stream: true })).toMatchObject({ code: 'server-error' });
  });

  test.each([
    [named('AI_UnsupportedFunctionalityError', { functionality: 'tools' }), 'no-native-tools'],
    [
      named('Wrapped', { cause: named('AI_UnsupportedFunctionalityError', { functionality: 'tool choice' }) }),
      'no-native-tools',
    ],
    [named('TimeoutError', {}), 'timeout'],
    [named('Error', {}), 'model-error'],
  ])('what a provider throws has a code: %s, %s', async (thrown, code) => {
    const model = handMade(() => {
      throw thrown;
    });
    const error = await askInVain(model, { stream: true });
    expect(error).toMatchObject({ code, cause: thrown });
    expect(error.message).toMatch(thrown.message === '' ? /\('own:m'\)\.$/ : /\('own:m'\): it has failed$/);
  });

  test('one that was given up before it was asked is not asked', async () => {
    const model = handMade(() => {
      throw new Error('it was asked');
    });
    const error = await askInVain(model, { io: { signal: AbortSignal.abort() } });
    expect(error).toMatchObject({ code: 'aborted', message: expect.stringContaining('before') });
  });
});

describe('a history', () => {
  const call = { id: 'a', name: 'look', arguments: '{}' };
  const parts = [
    { type: 'reasoning', text: 'I need it.', options: { anthropic: { signature: SIGNATURE } } },
    { type: 'text', text: 'Let me look.' },
    { type: 'call' },
  ];
  const turn = (content: string, data: object): readonly Message[] => [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content,
      toolCalls: [call],
      providerState: { model: anthropic.id, data: JSON.parse(JSON.stringify(data)) },
    },
    { role: 'tool', toolCallId: 'a', name: 'look', content: 'a cat' },
    { role: 'assistant', content: 'A cat.' },
  ];
  const sent = async (history: readonly Message[]) => {
    const { agent, server } = await agentOver(anthropic, [{ text: 'Hi.' }], { history });
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered' });
    return server.requests[0]?.body;
  };

  test('keeps what its model wants back', async () => {
    expect(ofType(await sent(turn('Let me look.', { parts })), 'thinking')).toHaveLength(1);
  });

  test('that was edited counts as it was edited', async () => {
    const body = await sent(turn('I looked.', { parts }));
    expect(valuesOf(body, 'text')).toContain('I looked.');
    expect(valuesOf(body, 'text')).not.toContain('Let me look.');
    expect(ofType(body, 'tool_use')).toHaveLength(1);
  });

  test.each([
    { parts: [...parts, { type: 'call' }] },
    { parts: parts.slice(0, 2) },
    { parts: [{ type: 'reasoning' }, 7] },
    { parts: 'none' },
    {},
  ])('whose state does not fit its calls goes without: %o', async (data) => {
    const body = await sent(turn('Let me look.', data));
    expect(ofType(body, 'thinking')).toEqual([]);
    expect(ofType(body, 'tool_use')).toMatchObject([{ id: 'a', name: 'look', input: {} }]);
  });

  test('holds nothing for a model that wants nothing back', async () => {
    const script = [{ text: 'I look.', calls: [{ id: 'a', name: 'look', args: {} }] }, { text: 'Done.' }];
    const plain = await agentOver(openaiChat, script, { tools: [fakeTool('look', ['a cat'])] });
    await plain.agent.run('Look.');
    expect(JSON.stringify(plain.agent.history)).not.toContain('providerState');
    const thoughtful = await agentOver(anthropic, [{ thinking: 'Hm.', text: 'Hi.' }]);
    const run = thoughtful.agent.run('Hello');
    await run;
    expect(run.recording()).toContain('Hm.');
    expect(run.recording()).not.toContain('providerState');
  });
});

test('the results of each turn stand after its calls', async () => {
  const look = (id: string) => ({ calls: [{ id, name: 'look', args: {} }] });
  const { agent, server } = await agentOver(anthropic, [look('a'), look('b'), { text: 'Done.' }], {
    tools: [fakeTool('look', ['a cat', 'a dog'])],
  });
  await agent.run('Look.');
  const roles = valuesOf(server.requests[2]?.body, 'messages')
    .flat()
    .flatMap((message) => valuesOf(message, 'role'));
  expect(roles).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
});

test('a call that Gemini could not write is told to it', async () => {
  const body = { candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL' }] };
  const { agent, server } = await agentOver(google, [{ status: 200, body }, { text: 'Hi.' }], {
    streaming: false,
    tools: [fakeTool('look', [])],
  });
  expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'Hi.' });
  expect(server.requests[1]?.text).toContain('could not');
});
