import { describe, expect, onTestFinished, test } from 'vitest';
import type { Message, ProviderState } from '../../src/actors/model.ts';
import { deepFreeze, type JsonObject } from '../../src/json/json.ts';
import { ask } from './ask.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { ChatModelOptions } from '../../src/models/endpoint/endpoint.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { eventsOf } from '../agent/agent-on-server.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';

const THOUGHT = 'First I look, é"\\\n then I answer.';
const calling = { reasoning: THOUGHT, content: 'I look.', toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };
const again = { reasoning: 'Once more.', toolCalls: [{ id: 'b', name: 'look', arguments: {} }] };
const look = () => fakeTool('look', ['a cat', 'a dog']);

/** An agent on a scripted server, and what its requests held of assistant messages. */
async function asked(
  script: readonly Scripted[],
  model: (baseURL: string) => ReturnType<typeof chatModel>,
  options: AgentOptions = {},
) {
  const server = await startModelServer(script);
  onTestFinished(server.close);
  const agent = createAgent({ model: model(server.baseURL), tools: [look()], silent: true, ...options });
  onTestFinished(() => agent.close());
  const turns = (index: number) =>
    (server.requests[index]?.body.messages ?? []).filter(({ role }) => role === 'assistant') as readonly object[];
  return { agent, server, turns };
}

const on =
  (model: string, options: Omit<ChatModelOptions, 'baseURL'> = {}) =>
  (baseURL: string) =>
    modelAt({ baseURL, model, apiKey: 'none', ...options });

/** A hosted server's address, with the scripted one behind it. */
const hosted = (preset: 'deepseek' | 'openrouter' | 'gemini', model: string) => (baseURL: string) =>
  chatModel({
    preset,
    model,
    apiKey: 'none',
    fetch: (input, init) => fetch(`${baseURL}/${String(input).replace(/^.*\/(?:v1|openai)\//, '')}`, init),
  });

const valuesAt = (turns: readonly object[], name: string): readonly unknown[] =>
  turns.map((turn) => Reflect.get(turn, name));

overEachTransport(() => {
  test.each([true, false])(
    'a model that needs its reasoning gets it back with its calls, byte for byte (streamed: %s)',
    async (streaming) => {
      const { agent, server, turns } = await asked([calling, again, 'Done.'], on('deepseek-reasoner'), { streaming });
      const run = agent.run('Look.');
      const thoughts = (await eventsOf(run)).flatMap((event) => (event.type === 'thought' ? [event.text] : []));
      expect(thoughts).toEqual([THOUGHT, 'Once more.']);
      expect(await run).toMatchObject({ status: 'answered', result: 'Done.' });
      expect(valuesAt(turns(1), 'reasoning_content')).toEqual([THOUGHT]);
      expect(valuesAt(turns(2), 'reasoning_content')).toEqual([THOUGHT, 'Once more.']);
      expect(valuesAt(turns(1), 'content')).toEqual(['I look.']);
      const { durationMs: _, ...live } = await run;
      expect(await replay(run.recording(), agent)).toMatchObject(live);
      expect(server.requests).toHaveLength(3);
    },
  );

  test('a model that does not need it does not get it, unless it is said to', async () => {
    const plain = await asked([calling, 'Done.'], on('llama-4'));
    await plain.agent.run('Look.');
    expect(plain.server.requests[1]?.text).not.toContain('First I look');
    expect(JSON.stringify(plain.agent.history)).not.toContain('First I look');
    const told = await asked([calling, 'Done.'], on('llama-4', { sendReasoning: true }));
    await told.agent.run('Look.');
    expect(valuesAt(told.turns(1), 'reasoning_content')).toEqual([THOUGHT]);
    const forbidden = await asked([calling, 'Done.'], on('deepseek-reasoner', { sendReasoning: false }));
    await forbidden.agent.run('Look.');
    expect(forbidden.server.requests[1]?.text).not.toContain('First I look');
  });
});

describe('reasoning', () => {
  test.each([
    'deepseek-v3.2',
    'DeepSeek-V4-Pro',
    'kimi-k2-thinking',
    'moonshotai/Kimi-K2.5',
    'glm-4.6',
    'zai-org/GLM-5',
    'MiniMax-M2',
    'qwen3:30b',
    'Qwen/Qwen3-Next-80B-A3B-Thinking',
    'gpt-oss:20b',
  ])('goes back to %s', async (model) => {
    const { agent, turns } = await asked([calling, 'Done.'], on(model));
    await agent.run('Look.');
    expect(valuesAt(turns(1), 'reasoning_content')).toEqual([THOUGHT]);
  });

  test.each([
    'deepseek-r1:14b',
    'DeepSeek-R1-Distill-Qwen-32B',
    'kimi-k2-0905-preview',
    'glm-4-9b',
    'qwen2.5:7b',
    'gpt-5',
    'magistral-small',
  ])('does not go back to %s', async (model) => {
    const { agent, turns } = await asked([calling, 'Done.'], on(model));
    await agent.run('Look.');
    expect(valuesAt(turns(1), 'reasoning_content')).toEqual([undefined]);
  });

  test('an answer without calls keeps none', async () => {
    const { agent, turns } = await asked([{ reasoning: THOUGHT, content: 'Hello.' }, 'Bye.'], on('deepseek-reasoner'));
    await agent.run('Hi.');
    await agent.run('Bye.');
    expect(turns(1)).toEqual([{ role: 'assistant', content: 'Hello.' }]);
  });

  test('in json mode it stays out of the conversation', async () => {
    const envelope = { reasoning: THOUGHT, content: '{"tool":"look","tool_args":{}}' };
    const { agent, server } = await asked([envelope, '{"answer":"A cat."}'], on('deepseek-reasoner'), {
      toolCalling: 'json',
    });
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'A cat.' });
    expect(server.requests[1]?.text).not.toContain('First I look');
  });

  test('the next run gets it too, another model never, whichever is asked first', async () => {
    const first = await asked([calling, 'Done.', 'Still there.'], on('deepseek-reasoner'));
    await first.agent.run('Look.');
    const { history } = first.agent;
    const other = await asked(['Hello.'], on('kimi-k2-thinking'), { history });
    await other.agent.run('Who are you?');
    expect(other.server.requests[0]?.text).not.toContain('First I look');
    await first.agent.run('And now?');
    expect(valuesAt(first.turns(2), 'reasoning_content')).toEqual([THOUGHT, undefined]);
  });

  test('DeepSeek refuses what its model has said without reasoning: it gets an empty one, its own answers too', async () => {
    const thinking = { reasoning: THOUGHT, content: 'Hello.' };
    const { agent, server, turns } = await asked([thinking, 'Bye.'], hosted('deepseek', 'deepseek-v4-pro'));
    await agent.run('Hi.');
    expect(await agent.run('Bye.')).toMatchObject({ result: 'Bye.' });
    expect(turns(1)).toEqual([{ role: 'assistant', content: 'Hello.', reasoning_content: '' }]);
    expect(server.requests[1]?.text.split('reasoning_content')).toHaveLength(2);
  });

  test('DeepSeek refuses calls without reasoning: those of other models get an empty one', async () => {
    const first = await asked(
      [{ ...calling, reasoning: undefined }, 'Done.'].map((item) => item as Scripted),
      on('gpt-5'),
    );
    await first.agent.run('Look.');
    const { history } = first.agent;
    const deepseek = await asked(['Hello.'], hosted('deepseek', 'deepseek-reasoner'), { history });
    await deepseek.agent.run('Who are you?');
    expect(valuesAt(deepseek.turns(0), 'reasoning_content')).toEqual(['', '']);
    const elsewhere = await asked(['Hello.'], on('deepseek-reasoner'), { history });
    await elsewhere.agent.run('Who are you?');
    expect(valuesAt(elsewhere.turns(0), 'reasoning_content')).toEqual([undefined, undefined]);
  });

  test('what fits no more is left out, and nothing is taken over from what was written for another model', async () => {
    const server = await startModelServer(() => 'Hi.');
    onTestFinished(server.close);
    const { baseURL, port } = server;
    const extra_content = { google: { thought_signature: 'c2ln' } };
    const state = (name: string, data: JsonObject) => ({ model: `127.0.0.1:${port}:${name}`, data });
    const turns = (providerState: ProviderState) =>
      deepFreeze<Message[]>([
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }], providerState },
        { role: 'tool', toolCallId: 'a', name: 'look', content: 'a cat' },
      ]);
    const model = (name: string) => chatModel({ baseURL, model: name, apiKey: 'none' });
    const own = turns(state('kimi-k2.5', { message: { reasoning_content: THOUGHT }, calls: [{ extra_content }] }));
    await ask(model('kimi-k2.5'), { messages: own });
    await ask(model('glm-4.6'), { messages: own });
    await ask(model('kimi-k2.5'), {
      messages: turns(state('kimi-k2.5', { calls: [{ extra_content }, { extra_content }] })),
    });
    const [first, second, third] = server.requests.map(({ text }) => text);
    expect(first).toContain('First I look');
    expect(first).toContain('thought_signature');
    expect(second).not.toContain('First I look');
    expect(second).not.toContain('thought_signature');
    expect(third).not.toContain('thought_signature');
  });

  test('OpenRouter gets its reasoning_details back, put together from their pieces', async () => {
    const detail = (text: string, more = {}) => ({
      type: 'reasoning.text',
      index: 0,
      format: 'anthropic-claude-v1',
      text,
      ...more,
    });
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const pieces = [
      chunk({ reasoning: 'I ', reasoning_details: [detail('I ')] }),
      chunk({ reasoning: 'look.', reasoning_details: [detail('look.', { signature: null })] }),
      chunk({ reasoning_details: [detail('', { signature: 'c2ln==' })] }),
      chunk({ reasoning_details: [detail('', { signature: null })] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'eA==' }] }),
      chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] }),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ];
    const headers = { 'content-type': 'text/event-stream' };
    const { agent, turns } = await asked(
      [{ status: 200, headers, body: '', pieces }, 'Done.'],
      hosted('openrouter', 'anthropic/claude-sonnet-4.5'),
      { streaming: true },
    );
    await agent.run('Look.');
    expect(valuesAt(turns(1), 'reasoning_details')).toEqual([
      [detail('I look.', { signature: 'c2ln==' }), { type: 'reasoning.encrypted', index: 1, data: 'eA==' }],
    ]);
  });

  test('two details with an id each stay two, whatever their index', async () => {
    const detail = (id: string) => ({ type: 'reasoning.encrypted', index: 0, data: `${id}==`, id });
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
    const pieces = [
      chunk({ reasoning_details: [detail('a')] }),
      chunk({ reasoning_details: [detail('b')], tool_calls: [call] }, 'tool_calls'),
      'data: [DONE]\n\n',
    ];
    const { agent, turns } = await asked(
      [{ status: 200, headers: { 'content-type': 'text/event-stream' }, pieces }, 'Done.'],
      hosted('openrouter', 'google/gemini-3-pro'),
      { streaming: true },
    );
    await agent.run('Look.');
    expect(valuesAt(turns(1), 'reasoning_details')).toEqual([[detail('a'), detail('b')]]);
  });

  const signed = [
    { type: 'thinking', thinking: 'I look.', signature: 'c2ln==' },
    { type: 'thinking', thinking: 'Once more.', signature: 'bW9yZQ==' },
    { type: 'redacted_thinking', data: 'eA==' },
  ];
  const blocks = (...thinking_blocks: readonly object[]) => ({ thinking_blocks });
  const thought = (thinking: string, signature: string | null = null) => ({ type: 'thinking', thinking, signature });

  test.each([
    [
      'in pieces',
      [thought('I '), thought('look.'), thought('', 'c2ln=='), thought('Once more.', 'bW9yZQ=='), signed[2]],
    ],
    [
      'with the whole said again',
      [thought('I '), thought('look.'), signed[0], thought('Once more.'), signed[1], signed[2]],
    ],
  ])('signed blocks of thoughts, which LiteLLM streams %s, go back whole with the calls', async (_how, given) => {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
    const pieces = [
      ...given.map((block) => chunk({ reasoning_content: 'x', ...blocks(block ?? {}) })),
      chunk({ tool_calls: [call] }),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ];
    const headers = { 'content-type': 'text/event-stream' };
    const { agent, turns } = await asked([{ status: 200, headers, pieces }, 'Done.'], on('claude'), {
      streaming: true,
    });
    const run = agent.run('Look.');
    expect(await run).toMatchObject({ result: 'Done.' });
    expect(valuesAt(turns(1), 'thinking_blocks')).toEqual([signed]);
    expect(valuesAt(turns(1), 'reasoning_content')).toEqual([undefined]);
    const { durationMs: _, ...live } = await run;
    expect(await replay(run.recording(), agent)).toMatchObject(live);
  });

  test('signed blocks of thoughts that came whole go back with the calls, and to no other model', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
    const message = { role: 'assistant', content: null, tool_calls: [call], ...blocks(...signed) };
    const whole: Scripted = { status: 200, body: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } };
    const { agent, turns, server } = await asked([whole, 'Done.', 'Yes.'], on('claude'), { streaming: false });
    await agent.run('Look.');
    expect(valuesAt(turns(1), 'thinking_blocks')).toEqual([signed]);
    agent.configure({ model: on('other')(server.baseURL) });
    await agent.run('Sure?');
    expect(valuesAt(turns(2), 'thinking_blocks')).toEqual([undefined, undefined]);
  });

  test.each([true, false])(
    'thoughts that a server leaves in the text go back in it, to models that need them (streamed: %s)',
    async (streaming) => {
      const content = '<think>\nI look.\n</think>\n\nA moment.';
      const thinking = { content, toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };
      for (const [name, back] of [
        ['MiniMax-M2', content],
        ['llama-4', 'A moment.'],
      ] as const) {
        const { agent, turns } = await asked([thinking, 'Done.'], on(name), { streaming });
        expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'Done.' });
        expect(valuesAt(turns(1), 'content')).toEqual([back]);
      }
      const apart = { ...thinking, reasoning: THOUGHT, content: '<think>I look.</think>A moment.' };
      const { agent, turns } = await asked([apart, 'Done.'], on('MiniMax-M2'), { streaming });
      await agent.run('Look.');
      expect(turns(1)).toMatchObject([{ reasoning_content: THOUGHT, content: 'A moment.' }]);
    },
  );

  test.each([undefined, false])(
    'the signature of a call goes back with that call (sendReasoning: %s)',
    async (sendReasoning) => {
      const extra_content = { google: { thought_signature: 'c2ln==' } };
      const call = (id: string, more = {}) => ({
        id,
        type: 'function',
        function: { name: 'look', arguments: '{}' },
        ...more,
      });
      const message = { role: 'assistant', content: null, tool_calls: [call('a'), call('b', { extra_content })] };
      const body = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
      const option = sendReasoning === undefined ? {} : { sendReasoning };
      const { agent, turns } = await asked([{ status: 200, body }, 'Done.'], on('gemini-3-pro-preview', option), {
        streaming: false,
      });
      await agent.run('Look.');
      expect(valuesAt(turns(1), 'tool_calls')).toEqual([[call('a'), call('b', { extra_content })]]);
    },
  );
});

test.each([
  ['gemini-3-pro-preview', { google: { thought_signature: 'skip_thought_signature_validator' } }],
  ['gemini-2.5-flash', undefined],
])('Google’s server gets calls of another model with the mark that says so: %s', async (name, extra_content) => {
  const { agent, server, turns } = await asked(
    [{ ...calling, toolCalls: [...calling.toolCalls, { id: 'b', name: 'look', arguments: {} }] }, 'Done.', 'Yes.'],
    on('other'),
  );
  await agent.run('Look.');
  agent.configure({ model: hosted('gemini', name)(server.baseURL) });
  expect(await agent.run('Sure?')).toMatchObject({ result: 'Yes.' });
  const calls = valuesAt(turns(2), 'tool_calls')[0] as readonly object[];
  expect(valuesAt(calls, 'extra_content')).toEqual([extra_content, undefined]);
  expect(valuesAt(valuesAt(turns(1), 'tool_calls')[0] as readonly object[], 'extra_content')).toEqual([
    undefined,
    undefined,
  ]);
});

describe('tokens', () => {
  const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 };
  const replyWith = (more: object): Scripted => ({
    status: 200,
    body: {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      usage: { ...usage, ...more },
    },
  });

  test.each([
    [
      'OpenAI',
      { prompt_tokens_details: { cached_tokens: 20 }, completion_tokens_details: { reasoning_tokens: 5 } },
      { cachedInputTokens: 20, reasoningTokens: 5 },
    ],
    ['DeepSeek', { prompt_cache_hit_tokens: 12, prompt_cache_miss_tokens: 18 }, { cachedInputTokens: 12 }],
    ['Moonshot', { cached_tokens: 7 }, { cachedInputTokens: 7 }],
    ['a server that says none', { prompt_tokens_details: { cached_tokens: 0 } }, { cachedInputTokens: 0 }],
    ['a server that says nothing', {}, {}],
    [
      'a server that says null',
      { prompt_tokens_details: null, completion_tokens_details: { reasoning_tokens: null } },
      {},
    ],
  ])('of %s', async (_who, more, counted) => {
    const { agent, server } = await asked([replyWith(more)], on('m'), { streaming: false });
    const share = { inputTokens: 30, outputTokens: 9, totalTokens: 39, ...counted };
    expect((await agent.run('Hi.')).usage).toEqual({ ...share, byModel: { [`127.0.0.1:${server.port}:m`]: share } });
  });
});
