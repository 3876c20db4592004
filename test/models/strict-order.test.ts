import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import type { Message } from '../../src/actors/model.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { startModelServer, type RecordedRequest, type Scripted } from '../support/model-server.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';
import { ask, askInVain, weather } from './ask.ts';

interface Wire {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

const sent = ({ body }: RecordedRequest): readonly Wire[] => body['messages'] as readonly Wire[];
const roles = (request: RecordedRequest): string =>
  sent(request)
    .map(({ role }) => role[0])
    .join('');
const idsOf = ({ tool_calls = [], tool_call_id: id }: Wire) => [
  ...tool_calls.map((call) => call.id),
  ...(id === undefined ? [] : [id]),
];

/** What Mistral's servers check of a conversation. */
function isInOrder(messages: readonly Wire[]): boolean {
  if (messages.some((message) => idsOf(message).some((id) => !/^[a-zA-Z0-9]{9}$/.test(id)))) return false;
  return !/uu|aa(?!t)|tu/.test(messages.map(({ role, tool_calls }) => (tool_calls ? 'c' : role[0])).join(''));
}

const refusal: Scripted = {
  status: 400,
  body: {
    object: 'error',
    message: "Unexpected role 'user' after role 'tool'",
    type: 'invalid_request_message_order',
    param: null,
    code: '3230',
  },
};

async function serve(answer: (request: RecordedRequest) => Scripted) {
  const server = await startModelServer(answer, { models: ['m'] });
  onTestFinished(() => server.close());
  return { server, model: modelAt({ baseURL: server.baseURL, model: 'm' }) };
}

const user = (content: string): Message => ({ role: 'user', content });
const weatherCall = { id: 'call_1', name: 'get_weather', arguments: '{}' };
const call: Message = { role: 'assistant', content: '', toolCalls: [weatherCall] };
const result: Message = { role: 'tool', toolCallId: 'call_1', name: 'get_weather', content: 'offline' };
const talk: readonly Message[] = [user('Hello?'), user('Weather?'), call, result, user('Try again.')];

overEachTransport(() => {
  test('a server that refuses the order of messages gets them in the strict one, from then on', async () => {
    const { server, model } = await serve((request) => (isInOrder(sent(request)) ? 'ok' : refusal));
    for (let turn = 0; turn < 2; turn++)
      expect((await ask(model, { messages: talk, tools: [weather] })).content).toBe('ok');
    expect(server.requests.map(roles)).toEqual(['uuatu', 'uatau', 'uatau']);
    const [, second] = server.requests.map(sent);
    expect(second?.map(({ content }) => content)).toEqual([
      'Hello?\n\nWeather?',
      '',
      'offline',
      'Noted.',
      'Try again.',
    ]);
    expect(idsOf(second?.[1] as Wire)).toEqual(idsOf(second?.[2] as Wire));
  });

  test('a server that takes any order gets the one that there is', async () => {
    const { server, model } = await serve(() => 'ok');
    await ask(model, { messages: talk, tools: [weather] });
    expect(server.requests.map(roles)).toEqual(['uuatu']);
    expect(sent(server.requests[0] as RecordedRequest).flatMap(idsOf)).toEqual(['call_1', 'call_1']);
  });

  test('where the order was not the reason, it stays as it is', async () => {
    let isUp = false;
    const no = { status: 400, body: { error: { message: 'no' } } };
    const { server, model } = await serve(() => (isUp ? 'ok' : no));
    expect((await askInVain(model, { messages: talk })).code).toBe('bad-request');
    isUp = true;
    await ask(model, { messages: talk });
    expect(server.requests.map(roles)).toEqual(['uuatu', 'uatau', 'uuatu']);
  });

  test('a server that takes no message without a text gets an empty one with calls', async () => {
    const { server, model } = await serve((request) =>
      sent(request).some(({ content }) => content === null)
        ? { status: 400, body: { error: "'content' field must be a string or an array of objects." } }
        : 'ok',
    );
    const short: readonly Message[] = [
      user('Weather?'),
      { role: 'assistant', content: '', toolCalls: [{ id: '6b17b9368', name: 'get_weather', arguments: '{}' }] },
      { role: 'tool', toolCallId: '6b17b9368', name: 'get_weather', content: 'sunny' },
    ];
    for (let turn = 0; turn < 2; turn++) await ask(model, { messages: short, tools: [weather] });
    expect(server.requests.map((request) => sent(request)[1]?.content)).toEqual([null, '', '']);
  });

  test('a server that takes no call without its tool gets the tools that were called, where none is offered any more', async () => {
    const names = ({ body }: RecordedRequest) =>
      (body['tools'] as readonly { function: { name: string } }[] | undefined)?.map((tool) => tool.function.name);
    // As LiteLLM and gateways of Amazon's say it.
    const without = { status: 400, body: { error: { message: 'no', type: 'None', param: null, code: '400' } } };
    const { server, model } = await serve((request) =>
      sent(request).some(({ tool_calls }) => tool_calls) && names(request) === undefined ? without : 'ok',
    );
    const said = (content: string, id: string): Message => ({ ...call, content, toolCalls: [{ ...weatherCall, id }] });
    const short = [user('Weather?'), said('Look.', '6b17b9368'), { ...result, toolCallId: '6b17b9368' }];
    await ask(model, { messages: short, tools: [weather] });
    for (let turn = 0; turn < 2; turn++) await ask(model, { messages: short, responseSchema: { type: 'object' } });
    await ask(model, { messages: [user('Hello?')] });
    await ask(model, { messages: short, tools: [weather, { ...weather, name: 'look' }] });
    expect(server.requests.map(names)).toEqual([
      ['get_weather'],
      undefined,
      ['get_weather'],
      ['get_weather'],
      undefined,
      ['get_weather', 'look'],
    ]);
  });

  test('where a schema was the reason, it is left out in the order that there is', async () => {
    const no = { status: 400, body: { error: { message: 'no' } } };
    const { server, model } = await serve(({ body }) => (body['response_format'] === undefined ? 'ok' : no));
    await ask(model, { messages: talk, toolCalling: 'json', responseSchema: { type: 'object' } });
    await ask(model, { messages: talk });
    expect(server.requests.map(roles)).toEqual(['uuatu', 'uatau', 'uuatu', 'uuatu']);
  });

  test('a field that is refused beside the order is left out in the strict order', async () => {
    const field = { status: 400, body: { error: { message: 'no', param: 'temperature' } } };
    const { server, model } = await serve((request) =>
      !isInOrder(sent(request)) ? refusal : request.body['temperature'] === undefined ? 'ok' : field,
    );
    await ask(model, { messages: talk, temperature: 0 });
    expect(server.requests.map(roles)).toEqual(['uuatu', 'uatau', 'uatau']);
  });
});

describe('an agent', () => {
  const failing = () => fakeTool('look', [new Error('offline'), { is: 'sunny' }]);
  const calling = { toolCalls: [{ id: 'abc', name: 'look', arguments: {} }] };

  test('goes on after a failed tool with a model that takes only the strict order', async () => {
    const script = [calling, calling, 'Sunny.', 'Yes.'];
    const { server, model } = await serve((request) => (isInOrder(sent(request)) ? (script.shift() ?? '?') : refusal));
    const agent = createAgent({ model, tools: [failing()], silent: true, instructions: 'Be brief.' });
    const run = agent.run('Weather?');
    expect(await run).toMatchObject({ status: 'answered', result: 'Sunny.', errorHistory: [{ code: 'execution' }] });
    expect(run.recording()).not.toContain('Noted.');
    expect(await agent.run('Sure?')).toMatchObject({ status: 'answered', result: 'Yes.' });
    expect(server.requests.map(roles)).toEqual(['su', 'suatu', 'suatau', 'suatauat', 'suatauatau']);
  });

  test('goes on without its tools, and gives a typed answer in its last turn, where calls are not taken without them', async () => {
    const script: Scripted[] = [calling, '{"is": "sunny"}', 'Sure.'];
    const { server, model } = await serve((request) =>
      sent(request).some(({ tool_calls }) => tool_calls) && request.body['tools'] === undefined
        ? { status: 400, body: { error: { message: 'no', type: 'None', param: null, code: '400' } } }
        : (script.shift() ?? '?'),
    );
    const sky = z.object({ is: z.string() });
    const look = fakeTool('look', [{ is: 'sunny' }]);
    const agent = createAgent({ model, tools: [look], silent: true, maxSteps: 2 });
    expect(await agent.run('Weather?', { outputSchema: sky, outputMode: 'native' })).toMatchObject({
      output: { is: 'sunny' },
    });
    agent.tools.remove('look');
    expect(await agent.run('Sure?')).toMatchObject({ status: 'answered', result: 'Sure.' });
    expect(server.requests.map(({ body }) => body['tools'] !== undefined)).toEqual([true, false, true, true]);
  });

  test('runs no tool that is only named because it was called, whatever the model says', async () => {
    const { server, model } = await serve(({ body }) =>
      body['tools'] === undefined ? refusal : (script.shift() ?? '?'),
    );
    const script: Scripted[] = [calling, 'Sunny.', calling, 'Sorry.'];
    const look = fakeTool('look', [{ is: 'sunny' }]);
    const agent = createAgent({ model, tools: [look], silent: true });
    await agent.run('Weather?').orThrow();
    agent.tools.remove('look');
    expect(await agent.run('Again?')).toMatchObject({ result: 'Sorry.', errorHistory: [{ code: 'unknown-tool' }] });
    expect([look.calls.length, server.requests.length]).toEqual([1, 5]);
  });

  test('goes on through eight levels of agents, the lowest of which has a tool that fails', async () => {
    const { model, server } = await serve((request) => {
      if (!isInOrder(sent(request))) return refusal;
      const tools = request.body['tools'] as readonly { readonly function: { readonly name: string } }[];
      const name = tools.map((offered) => offered.function.name).find((one) => one !== 'make_plan') ?? '';
      const isDone = sent(request).some(({ role, content }) => role === 'tool' && /sunny/i.test(String(content)));
      return isDone ? 'Sunny.' : { toolCalls: [{ id: 'abc', name, arguments: { task: 'Weather?' } }] };
    });
    const made = (level: number, options: AgentOptions): Agent =>
      createAgent({ name: `level_${level}`, description: 'Knows.', model, silent: true, ...options });
    const agent = [7, 6, 5, 4, 3, 2, 1].reduce(
      (child, level) => made(level, { children: [child] }),
      made(8, { tools: [failing()] }),
    );
    expect(await agent.run('Weather?')).toMatchObject({ status: 'answered', result: 'Sunny.' });
    expect(server.requests.map(roles)).toContain('uatau');
  });

  test('waits for a model that is being loaded, without counting it as a failed attempt', async () => {
    const error = { message: 'Loading model', type: 'unavailable_error', code: 503 };
    const loading = { status: 503, body: { error }, headers: { server: 'llama.cpp' } };
    const script: Scripted[] = [loading, loading, 'Sunny.'];
    const { model, server } = await serve(() => script.shift() ?? '?');
    const run = createAgent({ model, silent: true, retry: { maxAttempts: 1 } }).run('Weather?');
    const types: string[] = [];
    for await (const event of run) types.push(event.type);
    expect(await run).toMatchObject({ status: 'answered', result: 'Sunny.' });
    expect(types).not.toContain('model.retrying');
    expect(server.requests).toHaveLength(3);
  });

  test('loses only the schema that its server refuses', async () => {
    const no = { status: 400, body: { error: { message: 'items: schema must be an object' } } };
    const { model, server } = await serve(({ body }) =>
      JSON.stringify(body['response_format'] ?? '').includes('prefixItems') ? no : '{"pair": [1, 2], "good": true}',
    );
    for (const outputSchema of [
      z.object({ pair: z.tuple([z.int(), z.int()]) }),
      z.object({ good: z.boolean() }),
      z.object({ good: z.boolean(), pair: z.array(z.int()) }),
    ])
      expect(await createAgent({ model, outputSchema, silent: true }).run('Go')).toMatchObject({ status: 'answered' });
    const hasSchema = server.requests.map(({ body }) => body['response_format'] !== undefined);
    expect(hasSchema).toEqual([true, false, true, true]);
  });

  test('reads calls as text where a template takes tools and not their results', async () => {
    const no = {
      status: 400,
      body: { error: { code: 400, message: 'Jinja Exception', type: 'invalid_request_error' } },
    };
    const script = [calling, '{"answer": "Sunny."}'];
    const { server, model } = await serve((request) => (roles(request).includes('t') ? no : (script.shift() ?? '?')));
    const agent = createAgent({ model, tools: [fakeTool('look', [{ is: 'sunny' }])], silent: true });
    expect(await agent.run('Weather?')).toMatchObject({ status: 'answered', result: 'Sunny.' });
    expect(model.toolCalling).toBe('json');
    expect(server.requests).toHaveLength(4);
  });

  test('keeps native calls when a server that has taken results refuses a request', async () => {
    const no = { status: 400, body: { error: { message: 'no' } } };
    const script: Scripted[] = [calling, { toolCalls: [{ id: 'abd', name: 'look', arguments: {} }] }, no, no];
    const { model } = await serve(() => script.shift() ?? '?');
    const agent = createAgent({ model, tools: [fakeTool('look', [1, 2])], silent: true, retry: { maxAttempts: 1 } });
    expect(await agent.run('Weather?')).toMatchObject({ status: 'failed', reason: 'llm-error' });
    expect(model.toolCalling).toBe('native');
  });
});

test('whatever the conversation, it comes into strict order, and no word is lost', async () => {
  const text = fc.string({ minLength: 1, maxLength: 6 }).map((word) => `<${word}>`);
  const turn = fc.oneof(
    text.map((content): readonly Message[] => [{ role: 'user', content }]),
    text.map((content): readonly Message[] => [{ role: 'user', content: [{ type: 'text', text: content }] }]),
    text.map((content): readonly Message[] => [{ role: 'assistant', content }]),
    fc
      .tuple(fc.uniqueArray(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 3 }), text)
      .map(([ids, content]) => [
        {
          role: 'assistant' as const,
          content: '',
          toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
        },
        ...ids.map((id) => ({ role: 'tool' as const, toolCallId: id, name: 'look', content })),
      ]),
  );
  const ids = (list: readonly Message[]): number =>
    list.reduce((sum, { role, toolCalls = [] }) => sum + toolCalls.length + (role === 'tool' ? 1 : 0), 0);
  const { server, model } = await serve((request) => (isInOrder(sent(request)) ? 'ok' : refusal));
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 8 }), async (turns) => {
      const messages = [user('Begin.'), ...turns.flat()];
      await ask(model, { messages });
      const last = sent(server.requests.at(-1) as RecordedRequest);
      const words = (list: readonly { readonly content: unknown }[]) =>
        JSON.stringify(list.map(({ content }) => content)).match(/<.*?>/g);
      expect(words(last)).toEqual(words(messages));
      expect(last.flatMap(idsOf)).toHaveLength(ids(messages));
    }),
    { numRuns: 100 },
  );
});
