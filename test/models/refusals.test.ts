import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { chatModel } from '../../src/models/index.ts';
import { startModelServer, type RecordedRequest, type Scripted } from '../support/model-server.ts';
import { ask, askInVain, weather } from './ask.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';

type Answering = (request: RecordedRequest) => Scripted;

async function serve(answer: Answering, more: { readonly models?: readonly string[] } = {}) {
  const server = await startModelServer(answer, { models: ['m'], ...more });
  onTestFinished(() => server.close());
  return { server, model: modelAt({ baseURL: server.baseURL, model: 'm' }) };
}

const refusal = (error: Record<string, unknown>, status = 400): Scripted => ({ status, body: { error } });
const has = ({ body }: RecordedRequest, field: string) => body[field] !== undefined;

function neverCame(): never {
  throw new Error('the request never came');
}

overEachTransport(() => {
  test('a field that is refused by name is left out from then on, with a warning', async () => {
    const { server, model } = await serve((request) =>
      has(request, 'temperature')
        ? refusal({ message: 'no', param: 'temperature', code: 'unsupported_parameter' })
        : 'ok',
    );
    const first = await ask(model, { temperature: 0 });
    const second = await ask(model, { temperature: 0 });
    expect(first.warnings).toEqual([expect.stringContaining("'temperature'")]);
    expect(second.warnings).toBeUndefined();
    expect(server.requests.map((request) => has(request, 'temperature'))).toEqual([true, false, false]);
  });

  test('usage that a server will not count in a stream is not asked for again', async () => {
    const { server, model } = await serve((request) =>
      has(request, 'stream_options')
        ? {
            status: 422,
            body: { detail: [{ loc: ['body', 'stream_options'], msg: 'extra', type: 'extra_forbidden' }] },
          }
        : 'ok',
    );
    expect((await ask(model, { stream: true })).content).toBe('ok');
    await ask(model, { stream: true });
    expect(server.requests).toHaveLength(3);
  });

  test('a server that wants the other name of the token limit gets it', async () => {
    const { server, model } = await serve((request) =>
      has(request, 'max_tokens')
        ? refusal({ message: 'no', param: 'max_tokens', code: 'unsupported_parameter' })
        : 'ok',
    );
    await ask(model, { maxTokens: 9 });
    expect(server.requests[1]?.body['max_completion_tokens']).toBe(9);
  });

  test('a limit that is too high is left out under both of its names, whichever of them the server speaks of', async () => {
    const isLimited = (request: RecordedRequest) => has(request, 'max_tokens') || has(request, 'max_completion_tokens');
    const { server, model } = await serve((request) =>
      isLimited(request) ? refusal({ message: 'too large', param: 'max_tokens', code: 400 }) : 'ok',
    );
    expect(await ask(model, { maxTokens: 9000 })).toMatchObject({ content: 'ok' });
    expect(server.requests.map(isLimited)).toEqual([true, true, false]);
  });

  test('a schema that is refused without a reason is dropped when that helps', async () => {
    const { server, model } = await serve((request) =>
      has(request, 'response_format') ? refusal({ message: 'no' }) : 'ok',
    );
    const envelope = { toolCalling: 'json', responseSchema: { type: 'object' } } as const;
    expect((await ask(model, envelope)).warnings).toEqual([expect.stringContaining('response_format')]);
    await ask(model, envelope);
    expect(server.requests.map((request) => has(request, 'response_format'))).toEqual([true, false, false]);
  });

  test.each([
    ['without a reason', refusal({ message: 'items: schema must be an object' })],
    ['by field', refusal({ message: 'no', param: 'response_format' })],
  ])(
    'a schema that is refused %s says nothing of others, unless a second one is refused and none taken',
    async (_how, no) => {
      const asked = (schema: number) => ({ toolCalling: 'json', responseSchema: { minProperties: schema } }) as const;
      for (const [good, sent] of [
        // The second is taken; so is the fourth, after two that were refused.
        [
          [2, 4],
          [true, false, true, false, true, false, true, true],
        ],
        [[], [true, false, true, false, false, false, false, false]],
      ] as const) {
        const isGood = ({ body }: RecordedRequest) =>
          good.some((each) => JSON.stringify(body).includes(`"minProperties":${each}`));
        const { server, model } = await serve((request) =>
          has(request, 'response_format') && !isGood(request) ? no : 'ok',
        );
        expect((await ask(model, asked(1))).warnings?.[0]).toContain("refused this schema in 'response_format'");
        for (const schema of [2, 1, 3, 4, 4]) await ask(model, asked(schema));
        expect(server.requests.map((request) => has(request, 'response_format'))).toEqual(sent);
      }
    },
  );

  test('what did not help to leave out is not held against the server', async () => {
    const answers: Scripted[] = [refusal({ message: 'no' }), refusal({ message: 'no' }), 'ok'];
    const { server, model } = await serve(() => answers.shift() ?? 'ok');
    const envelope = { toolCalling: 'json', responseSchema: { type: 'object' } } as const;
    expect((await askInVain(model, envelope)).code).toBe('bad-request');
    await ask(model, envelope);
    expect(has(server.requests[2] ?? neverCame(), 'response_format')).toBe(true);
  });

  test.each([
    ['by field', refusal({ message: 'no', param: 'tools' })],
    ['by code', refusal({ message: 'no', code: 'tools_not_supported' }, 422)],
    ['as not implemented', refusal({ message: 'no', param: 'tools' }, 501)],
  ])(
    'a server that refuses tools %s says so in one request, and the model reads json afterwards',
    async (_how, answer) => {
      const { server, model } = await serve((request) => (has(request, 'tools') ? answer : 'ok'));
      expect(model.toolCalling).toBe('native');
      expect((await askInVain(model, { tools: [weather] })).code).toBe('no-native-tools');
      expect(server.requests).toHaveLength(1);
      expect(model.toolCalling).toBe('json');
      expect(modelAt({ baseURL: server.baseURL, model: 'm' }).toolCalling).toBe('json');
      expect(modelAt({ baseURL: server.baseURL, model: 'other' }).toolCalling).toBe('native');
    },
  );

  test('a server that takes tools, but not so many, is a clear failure, and gets fewer natively', async () => {
    const code = 'array_above_max_length';
    const { server, model } = await serve(({ body }) =>
      (body['tools'] as readonly unknown[]).length > 128
        ? refusal({ message: 'too long', param: 'tools', code })
        : 'ok',
    );
    const tools = Array.from({ length: 129 }, (_, index) => fakeTool(`tool_${String(index)}`, ['done']));
    const agent = createAgent({ model, silent: true, tools, plans: false });
    const { reason, error } = await agent.run('Hello');
    expect({ reason, code: error?.code }).toEqual({ reason: 'llm-error', code: 'bad-request' });
    expect(error?.message).toContain("'m' takes fewer tools than it was offered; give the agent fewer");
    expect(server.requests).toHaveLength(1);
    expect(model.toolCalling).toBe('native');
    agent.tools.remove('tool_0');
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'ok' });
    expect(server.requests[1]?.body['tools']).toHaveLength(128);
  });

  test('a list of calls in the conversation that is too long is not blamed on the number of tools', async () => {
    const { model } = await serve(() =>
      refusal({ message: 'no', param: 'messages[3].tool_calls', code: 'array_above_max_length' }),
    );
    const { message } = await askInVain(model, { tools: [weather] });
    expect(message).toContain("The server refused the request because of 'messages[3].tool_calls'");
  });

  test('a refusal without a reason, as Ollama’s, is taken for one of tools once the same without tools succeeds', async () => {
    const { server, model } = await serve((request) =>
      has(request, 'tools')
        ? refusal({ message: 'm does not support tools', type: 'invalid_request_error', param: null, code: null })
        : 'ok',
    );
    expect((await askInVain(model, { tools: [weather] })).code).toBe('no-native-tools');
    await ask(model, { toolCalling: 'json' });
    expect(server.requests).toHaveLength(2);
    expect(model.toolCalling).toBe('json');
  });

  test('a refusal that comes as the first event of a stream teaches as any other', async () => {
    const error = { message: 'm does not support tools', type: 'BadRequestError', param: null, code: 400 };
    const headers = { 'content-type': 'text/event-stream' };
    const { model } = await serve((request) =>
      has(request, 'tools') ? { status: 200, headers, pieces: [`data: ${JSON.stringify({ error })}\n\n`] } : 'ok',
    );
    expect((await askInVain(model, { tools: [weather], stream: true })).code).toBe('no-native-tools');
    await ask(model, { toolCalling: 'json', stream: true });
    expect(model.toolCalling).toBe('json');
  });

  test('a refusal without a reason that holds without tools too is not blamed on them', async () => {
    const { model } = await serve(() => refusal({ message: 'no' }));
    expect((await askInVain(model, { tools: [weather] })).code).toBe('no-native-tools');
    expect((await askInVain(model, { toolCalling: 'json' })).code).toBe('bad-request');
    expect(model.toolCalling).toBe('native');
  });

  test('a refusal that turns out to be about something else is not held against the tools', async () => {
    const { model } = await serve((request) => (has(request, 'stream_options') ? refusal({ message: 'no' }) : 'ok'));
    expect((await askInVain(model, { tools: [weather], stream: true })).code).toBe('no-native-tools');
    expect((await ask(model, { toolCalling: 'json', stream: true })).warnings).toHaveLength(1);
    expect(model.toolCalling).toBe('native');
    expect((await ask(model, { tools: [weather], stream: true })).content).toBe('ok');
  });

  test('once tools have worked, a refusal is not blamed on them', async () => {
    const answers: Scripted[] = ['ok', refusal({ message: 'no' })];
    const { model } = await serve(() => answers.shift() ?? 'ok');
    await ask(model, { tools: [weather] });
    expect((await askInVain(model, { tools: [weather] })).code).toBe('bad-request');
  });

  test('a tool whose schema is refused is a mistake to be told, not a server without tools', async () => {
    const error = { message: 'bad schema', param: 'tools[0].function.parameters', code: 'invalid_function_parameters' };
    const { model } = await serve(() => refusal(error));
    const failure = await askInVain(model, { tools: [weather] });
    expect(failure.code).toBe('bad-request');
    expect(failure.message).toContain('tools[0].function.parameters');
  });

  describe('a server that takes no description of more than 1024 characters', () => {
    type Described = { readonly tools: readonly { readonly function: { readonly description: string } }[] };
    const described = ({ text }: RecordedRequest) =>
      (JSON.parse(text) as Described).tools.map((tool) => tool.function.description);
    const tooLong: Answering = (request) => {
      const at = described(request).findIndex(({ length }) => length > 1024);
      const param = `tools[${at}].function.description`;
      return at === -1 ? 'ok' : refusal({ message: 'no', param, code: 'string_above_max_length' });
    };
    const long = { ...weather, name: 'long', description: `${'x'.repeat(1023)}😀${'y'.repeat(2000)}` };

    test('gets each cut from then on, with a warning; the tools are not at fault', async () => {
      const { server, model } = await serve(tooLong);
      const tools = Object.freeze([Object.freeze(weather), Object.freeze(long)]);
      const first = await ask(model, { tools });
      const second = await ask(model, { tools });
      expect(first.warnings).toEqual([expect.stringContaining('each is cut to 1024 characters from now on.')]);
      expect(second.warnings).toBeUndefined();
      const cut = ['Current weather', `${'x'.repeat(1023)}\ufffd`];
      expect(server.requests.map(described)).toEqual([['Current weather', long.description], cut, cut]);
    });

    test('is sent no more than one of them whole by an agent, whose recording has it all', async () => {
      const { server, model } = await serve(tooLong);
      const lookup = fakeTool('look', ['tea'], { description: long.description });
      const run = createAgent({ model, tools: [lookup], silent: true }).run('Go');
      expect(await run).toMatchObject({ status: 'answered', result: 'ok', stepsTaken: 1 });
      expect(server.requests.map((request) => described(request)[0]?.length)).toEqual([3025, 1024]);
      expect(run.recording()).toContain(long.description);
    });

    test('is not asked again where the description that it blames is short, or is cut already', async () => {
      const no = refusal({ message: 'no', param: 'tools[0].function.description' });
      const { server, model } = await serve(() => no);
      expect((await askInVain(model, { tools: [weather] })).code).toBe('bad-request');
      expect(server.requests).toHaveLength(1);
      expect((await askInVain(model, { tools: [long] })).code).toBe('bad-request');
      expect(server.requests).toHaveLength(3);
    });
  });

  test('a failing server is not taken for one without tools', async () => {
    const { server, model } = await serve(() => refusal({ message: 'crashed' }, 500));
    expect((await askInVain(model, { tools: [weather] })).code).toBe('server-error');
    expect(server.requests).toHaveLength(1);
  });

  test('llama.cpp’s 500 for a template without tools is one', async () => {
    const { model } = await serve((request) =>
      has(request, 'tools')
        ? {
            status: 500,
            body: { error: { code: 500, message: 'tools param requires --jinja flag', type: 'server_error' } },
            headers: { server: 'llama.cpp' },
          }
        : 'ok',
    );
    expect(await askInVain(model, { tools: [weather] })).toMatchObject({ code: 'no-native-tools', status: 500 });
  });

  test('a router’s 404 for a model that it lists is about the tools', async () => {
    const { model } = await serve((request) =>
      has(request, 'tools') ? refusal({ message: 'no endpoint', code: 404 }, 404) : 'ok',
    );
    expect((await askInVain(model, { tools: [weather] })).code).toBe('no-native-tools');
    const { server } = await serve(() => refusal({ message: 'no endpoint', code: 404 }, 404), { models: ['a/m'] });
    const nitro = modelAt({ baseURL: server.baseURL, model: 'a/m:nitro' });
    expect((await askInVain(nitro, { tools: [weather] })).code).toBe('no-native-tools');
    const other = modelAt({ baseURL: server.baseURL, model: 'a/n:nitro' });
    expect((await askInVain(other, { tools: [weather] })).code).toBe('model-not-found');
  });

  test('a 404 is not about the tools that have worked', async () => {
    let asked = 0;
    const { server, model } = await serve(() => (asked++ === 0 ? 'ok' : refusal({ message: 'gone', code: 404 }, 404)));
    await ask(model, { tools: [weather] });
    expect((await askInVain(model, { tools: [weather] })).code).toBe('endpoint-not-found');
    expect(model.toolCalling).toBe('native');
    expect(server.requests).toHaveLength(2);
  });
});

test('one connection’s experience is not another’s where each has its own fetch', async () => {
  const refusing = () => Promise.resolve(Response.json({ error: { message: 'no', param: 'tools' } }, { status: 400 }));
  const first = chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch: refusing });
  await askInVain(first, { tools: [weather] });
  expect(first.toolCalling).toBe('json');
  expect(chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch: () => refusing() }).toolCalling).toBe(
    'native',
  );
});

test.each([
  [{ preset: 'openai' }, 'max_completion_tokens'],
  [{ baseURL: 'https://api.openai.com/v1' }, 'max_completion_tokens'],
  [{ preset: 'openai', baseURL: 'http://gateway.test/v1' }, 'max_completion_tokens'],
  [{ preset: 'ollama' }, 'max_tokens'],
  [{ baseURL: 'http://gateway.test/v1' }, 'max_tokens'],
] as const)('at %j the limit is called %s', async (at, name) => {
  const bodies: { readonly max_tokens?: number; readonly max_completion_tokens?: number }[] = [];
  const fetch = (_url: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(typeof init?.body === 'string' ? init.body : '{}'));
    return Promise.resolve(Response.json({ choices: [{ message: { content: 'ok' } }] }));
  };
  await ask(chatModel({ ...at, model: 'gpt', apiKey: 'k', fetch }), { maxTokens: 9 });
  const limits = bodies.map(({ max_tokens, max_completion_tokens }) => ({ max_tokens, max_completion_tokens }));
  expect(limits).toEqual([{ max_tokens: undefined, max_completion_tokens: undefined, [name]: 9 }]);
});
