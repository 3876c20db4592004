import { expect, onTestFinished, test } from 'vitest';
import type { ModelToken } from '../../src/actors/model.ts';
import { chatModel } from '../../src/models/index.ts';
import { startModelServer, type ModelServerOptions, type Scripted } from '../support/model-server.ts';
import { ask, weather } from './ask.ts';
import { modelAt, overEachTransport, overOwnTransports } from '../support/transports.ts';

async function serve(script: readonly Scripted[], options: ModelServerOptions = {}) {
  const server = await startModelServer(script, options);
  onTestFinished(() => server.close());
  return { server, model: modelAt({ baseURL: server.baseURL, model: 'm' }) };
}

overEachTransport(() => {
  test('a question is answered, with usage and finish reason', async () => {
    const { model } = await serve([{ content: 'Sunny.', usage: { inputTokens: 3, outputTokens: 2 } }]);
    expect(await ask(model)).toEqual({
      content: 'Sunny.',
      finishReason: 'stop',
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
  });

  test('a streamed reply is the same as a whole one, and its text arrives as tokens', async () => {
    const scripted = { content: 'It is sunny in Austin.', usage: { inputTokens: 3, outputTokens: 2 } };
    const { model } = await serve([scripted, scripted]);
    const tokens: ModelToken[] = [];
    const streamed = await ask(model, { stream: true, io: { onToken: (token) => tokens.push(token) } });
    // A reply that took a while has its speed measured.
    expect({ ...streamed, stats: undefined }).toEqual(await ask(model));
    expect(tokens.length).toBeGreaterThan(2);
    expect(tokens.map((token) => token.text).join('')).toBe(scripted.content);
  });

  test('native tool calls come back whole, streamed or not, and their arguments arrive as tokens', async () => {
    const toolCalls = [
      { id: 'a', name: 'get_weather', arguments: { city: 'Austin' } },
      { id: 'b', name: 'get_weather', arguments: { city: 'Oslo' } },
    ];
    const { model } = await serve([{ toolCalls }, { toolCalls }]);
    const tokens: ModelToken[] = [];
    const whole = await ask(model, { tools: [weather] });
    const streamed = await ask(model, {
      tools: [weather],
      stream: true,
      io: { onToken: (token) => tokens.push(token) },
    });
    expect(whole.toolCalls).toEqual([
      { id: 'a', name: 'get_weather', arguments: '{"city":"Austin"}' },
      { id: 'b', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ]);
    expect(streamed.toolCalls).toEqual(whole.toolCalls);
    const second = tokens.filter((token) => token.kind === 'arguments' && token.callIndex === 1);
    expect(second.map((token) => token.text).join('')).toBe('{"city":"Oslo"}');
  });

  test('the request says what was asked, and nothing that nobody asked for', async () => {
    const { server, model } = await serve(['ok', 'ok']);
    await ask(model);
    await ask(model, { tools: [weather], parallelToolCalls: false, temperature: 0.2, maxTokens: 50, stream: true });
    expect(server.requests.map((request) => request.body)).toEqual([
      { model: 'm', messages: [{ role: 'user', content: 'What is the weather in Austin?' }] },
      {
        model: 'm',
        messages: [{ role: 'user', content: 'What is the weather in Austin?' }],
        tools: [
          {
            type: 'function',
            function: { name: 'get_weather', description: 'Current weather', parameters: weather.inputSchema },
          },
        ],
        parallel_tool_calls: false,
        temperature: 0.2,
        max_tokens: 50,
        stream: true,
        stream_options: { include_usage: true },
      },
    ]);
  });

  test('in json mode the schema of the envelope goes along and no tools do', async () => {
    const { server, model } = await serve(['{}']);
    await ask(model, { toolCalling: 'json', tools: [weather], responseSchema: { type: 'object' } });
    const body = server.requests[0]?.body;
    expect(body?.tools).toBeUndefined();
    expect(body?.['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'reply', schema: { type: 'object' } },
    });
  });

  test('a conversation with calls and results goes out in the protocol’s own form', async () => {
    const { server, model } = await serve(['ok']);
    await ask(model, {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image', url: 'data:image/png;base64,AA==' },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me see.',
          toolCalls: [{ id: 'a', name: 'get_weather', arguments: '{"city":"Austin"}' }],
        },
        { role: 'tool', content: 'sunny', toolCallId: 'a', name: 'get_weather' },
      ],
    });
    expect(server.requests[0]?.body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Austin"}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    ]);
  });

  test('broken arguments in the history are wrapped, since servers refuse a conversation that holds them', async () => {
    const { server, model } = await serve(['ok']);
    const calls = ['{"city":"Aus', '', '[1]'].map((text, at) => ({
      id: String(at),
      name: 'get_weather',
      arguments: text,
    }));
    await ask(model, { messages: [{ role: 'assistant', content: '', toolCalls: calls }] });
    const text = server.requests[0]?.text ?? '';
    expect(server.requests[0]?.body.messages[0]?.content).toBeNull();
    expect(text).toContain(JSON.stringify('{"unreadable_arguments":"{\\"city\\":\\"Aus"}'));
    expect(text).toContain('"arguments":"{}"');
    expect(text).toContain(JSON.stringify('{"unreadable_arguments":"[1]"}'));
  });

  test('a message that the caller changed in place is sent as it is now', async () => {
    const { server, model } = await serve(['ok', 'ok']);
    const message = { role: 'user' as const, content: 'first' };
    const messages = Object.freeze([message]);
    await ask(model, { messages });
    message.content = 'second';
    await ask(model, { messages });
    expect(server.requests.map((request) => request.body.messages[0]?.content)).toEqual(['first', 'second']);
  });

  test('a message that stands twice in a conversation is sent as often as it stands there', async () => {
    const { server, model } = await serve(['ok', 'ok', 'ok']);
    const [again, other] = ['again', 'other'].map((content) => Object.freeze({ role: 'user' as const, content }));
    if (again === undefined || other === undefined) throw new Error('no messages');
    const lists = [[again, other, again], [again], [again, other]];
    for (const messages of lists) await ask(model, { messages: Object.freeze(messages) });
    expect(server.requests.map(({ body }) => body.messages)).toEqual(lists);
  });

  test('extra fields and headers go into every request, but cannot replace the conversation', async () => {
    const { server } = await serve(['ok']);
    const model = modelAt({
      baseURL: server.baseURL,
      model: 'm',
      apiKey: 'secret-key',
      headers: { 'x-team': 'blue' },
      body: { top_p: 0.5, messages: [], model: 'other' },
    });
    await ask(model);
    const request = server.requests[0];
    expect(request?.body).toMatchObject({ top_p: 0.5, model: 'm', messages: [{ role: 'user' }] });
    expect(request?.headers).toMatchObject({ authorization: 'Bearer secret-key', 'x-team': 'blue' });
  });

  test('without a name the model that the server lists first is used, embeddings aside, and the first reply says so', async () => {
    const { server } = await serve(['one', 'two'], { models: ['nomic-embed-text', 'qwen2.5:7b', 'other'] });
    const model = modelAt({ baseURL: server.baseURL });
    const first = await ask(model);
    const second = await ask(model);
    expect(server.requests.map((request) => request.body.model)).toEqual(['qwen2.5:7b', 'qwen2.5:7b']);
    expect(first.warnings).toEqual([expect.stringContaining('qwen2.5:7b')]);
    expect(second.warnings).toBeUndefined();
    expect(model.id).toBe(`127.0.0.1:${String(server.port)}:qwen2.5:7b`);
  });

  test('a bare list of models, as Together AI sends it, is one', async () => {
    const types = ['image', 'embedding', 'chat', 'chat'].map((type, at) => ({ id: `a/${at}`, type }));
    const { server } = await serve(['one'], { pages: { '/v1/models': types } });
    await ask(modelAt({ baseURL: server.baseURL }));
    expect(server.requests[0]?.body.model).toBe('a/2');
  });
});

overOwnTransports(() => {
  test('without a key no authorization is sent, whatever the environment holds for OpenAI', async () => {
    const { server } = await serve(['ok']);
    const before = process.env['OPENAI_API_KEY'];
    process.env['OPENAI_API_KEY'] = 'meant for OpenAI only';
    onTestFinished(() => {
      if (before === undefined) delete process.env['OPENAI_API_KEY'];
      else process.env['OPENAI_API_KEY'] = before;
    });
    await ask(modelAt({ baseURL: server.baseURL, model: 'm' }));
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('requests one after the other share a connection', async () => {
    const { server, model } = await serve(['one', 'two', { status: 500 }, 'three']);
    await ask(model);
    await ask(model, { stream: true });
    await expect(ask(model)).rejects.toThrow();
    await ask(model, { stream: true });
    expect(server.sockets()).toBe(1);
  });
});

test('without a name the one that the list itself marks as loaded goes first', async () => {
  const data = [{ id: 'cold' }, { id: 'warm', status: { value: 'loaded' } }];
  const { server } = await serve(['ok'], { pages: { '/v1/models': { data } } });
  await ask(chatModel({ preset: 'llamacpp', baseURL: server.baseURL }));
  expect(server.requests[0]?.body.model).toBe('warm');
});

test('without a name the one that is loaded goes first, as each server tells it', async () => {
  const models = ['first', 'second:latest', 'third'];
  const cases = [
    ['lemonade', '/v1/health', { model_loaded: 'third' }, 'third'],
    ['ollama', '/api/ps', { models: [{ name: 'second:latest' }] }, 'second:latest'],
    [
      'lmstudio',
      '/api/v0/models',
      {
        data: [
          { id: 'first', state: 'not-loaded' },
          { id: 'third', state: 'loaded' },
        ],
      },
      'third',
    ],
  ] as const;
  for (const [preset, page, answer, expected] of cases) {
    const { server } = await serve(['ok'], { models, pages: { [page]: answer } });
    await ask(chatModel({ preset, baseURL: server.baseURL }));
    expect(server.requests[0]?.body.model, preset).toBe(expected);
  }
});

test('a server that could not list its models at first is asked again', async () => {
  const lists = [new Response('', { status: 503 }), Response.json({ data: [{ id: 'qwen3' }] })];
  const asked: unknown[] = [];
  const fetch = (url: unknown, init?: RequestInit) => {
    if (String(url).endsWith('/models')) return Promise.resolve(lists.shift() ?? new Response('', { status: 404 }));
    asked.push(JSON.parse(typeof init?.body === 'string' ? init.body : '{}').model);
    return Promise.resolve(Response.json({ choices: [{ message: { content: 'ok' } }] }));
  };
  const model = chatModel({ baseURL: 'http://model.test/v1', fetch });
  expect((await ask(model)).warnings).toEqual([expect.stringContaining("'default'")]);
  await ask(model);
  await ask(model);
  expect(asked).toEqual(['default', 'qwen3', 'qwen3']);
});

test('a platform fetch can take the place of the HTTP client', async () => {
  const { server } = await serve(['one', { content: 'two', toolCalls: [{ name: 'get_weather' }] }]);
  const model = chatModel({ baseURL: server.baseURL, model: 'm', fetch: globalThis.fetch });
  expect((await ask(model)).content).toBe('one');
  expect(await ask(model, { stream: true })).toMatchObject({ content: 'two', toolCalls: [{ name: 'get_weather' }] });
});

test('what a fetch of the caller’s own changes in the headers of a request is not in the next one', async () => {
  const { server } = await serve(['ok', 'ok']);
  const fetch: typeof globalThis.fetch = (input, init = {}) => {
    if (init.headers instanceof Headers) init.headers.append('x-trace', 'seen');
    return globalThis.fetch(input, init);
  };
  const model = chatModel({ baseURL: server.baseURL, model: 'm', fetch });
  for (const _ of [1, 2]) await ask(model);
  expect(server.requests.map(({ headers }) => headers['x-trace'])).toEqual(['seen', 'seen']);
});
