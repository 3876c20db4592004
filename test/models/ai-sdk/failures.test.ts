import { describe, expect, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { RunEvent } from '../../../src/machines/events/run-events.ts';
import { fromAiSdk } from '../../../src/models/ai-sdk/from-ai-sdk.ts';
import type { AiSdkStream } from '../../../src/models/ai-sdk/language-model.ts';
import { forbidLiveModels } from '../../../src/models/endpoint/live-guard.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { eventsOf } from '../../agent/agent-on-server.ts';
import { untyped } from '../../agent/option-takers.ts';
import { steadyTime } from '../../support/steady-time.ts';
import { askInVain } from '../ask.ts';
import { compatible, openaiChat, openaiResponses } from './openai-wires.ts';
import { anthropic, google } from './other-wires.ts';
import { type Said, type Wire, agentOver, startWireServer } from './wire-server.ts';

const WIRES: readonly Wire[] = [compatible, openaiChat, openaiResponses, anthropic, google];
const long: Said = { thinking: 'Hm.', text: 'It was a dark and stormy night.' };
const calling: Said = { text: 'I look.', calls: [{ id: 'a', name: 'look', args: { at: 'the door of the house' } }] };

const TOO_MANY = {
  message: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 129 instead.",
  type: 'invalid_request_error',
  param: 'tools',
  code: 'array_above_max_length',
};

const retriesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'model.retrying' ? [event.error.code] : []));

const streamOf = (parts: readonly object[]): AiSdkStream =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

describe.each(WIRES)('over $name', (wire) => {
  test('a 429 is tried again by the agent after Retry-After, and by nobody else', async () => {
    const busy = { status: 429, headers: { 'retry-after-ms': '40' }, body: { error: { message: 'slow down' } } };
    const { agent, server } = await agentOver(wire, [busy, { text: 'Hi.' }]);
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual(['rate-limited']);
    expect(await run).toMatchObject({ status: 'answered', result: 'Hi.', stepsTaken: 1 });
    expect(server.requests).toHaveLength(2);
    expect(run.recording()).toMatch(/"name":"timer".*"ms":40/);
  });

  test('a server that stays broken is asked as often as the agent says', async () => {
    const broken = { status: 503, body: { error: { message: 'on fire' } } };
    const { agent, server } = await agentOver(wire, [broken, broken, broken, broken]);
    const result = await agent.run('Hello');
    expect(result).toMatchObject({ reason: 'llm-error', error: { code: 'server-error' } });
    expect(result.error?.message).toContain('on fire');
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    [401, { error: { message: 'bad key' } }, 'auth'],
    [403, { error: { message: 'not yours' } }, 'auth'],
    [400, { error: { message: 'no such field' } }, 'bad-request'],
    [404, { error: { message: 'no such model' } }, 'model-not-found'],
    [402, { error: { message: 'nothing left' } }, 'quota-exhausted'],
    [429, { error: { message: 'nothing left', code: 'insufficient_quota' } }, 'quota-exhausted'],
    [400, { error: { message: 'filtered', code: 'content_filter' } }, 'content-filter'],
  ])('%i is not tried again: %o is %s', async (status, body, code) => {
    const { agent, server } = await agentOver(wire, [{ status, body }, { text: 'Hi.' }]);
    expect(await agent.run('Hello')).toMatchObject({ status: 'failed', error: { code } });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 212 tokens > 200 maximum' },
    },
    {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
      },
    },
  ])('a refusal whose text alone says why is a bad request: %o', async (body) => {
    const { agent, server } = await agentOver(wire, [{ status: 400, body }, { text: 'Hi.' }]);
    expect(await agent.run('Hello')).toMatchObject({ status: 'failed', error: { code: 'bad-request' } });
    expect(server.requests).toHaveLength(1);
  });

  const ofRunner = { error: { code: 400, message: 'too long', type: 'exceed_context_size_error', n_ctx: 1024 } };
  test.each([
    { error: { message: 'This model has a maximum of 8192', code: 'context_length_exceeded' } },
    // Ollama's two forms of an error of its runner.
    { error: { message: JSON.stringify(ofRunner), type: 'invalid_request_error', param: null, code: null } },
    { error: JSON.stringify(ofRunner) },
  ])('a conversation that is too long is shortened once: %o', async (body) => {
    const { agent, server } = await agentOver(
      wire,
      [
        { calls: [{ id: 'a', name: 'look', args: {} }] },
        { calls: [{ id: 'b', name: 'look', args: {} }] },
        { status: 400, body },
        { text: 'Done.' },
      ],
      { tools: [fakeTool('look', ['x'.repeat(3000), 'a cat'])] },
    );
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'Done.' });
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3]?.text).toContain('[shortened:');
  });

  test.each(['overloaded', 'rate'] as const)('an error in the middle of a stream is tried again: %s', async (what) => {
    const { agent, server } = await agentOver(wire, [{ failsWith: what }, { text: 'Hi.' }]);
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual([what === 'rate' ? 'rate-limited' : 'server-error']);
    expect(await run).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(server.requests).toHaveLength(2);
    // Nobody reads what else it might say.
    await expect.poll(server.abandoned).toBe(1);
  });

  test.each([
    [408, 'timeout'],
    [409, 'server-error'],
  ])('%i is tried again, as %s', async (status, code) => {
    const { agent } = await agentOver(wire, [{ status, body: { error: { message: 'later' } } }, { text: 'Hi.' }]);
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual([code]);
    expect(await run).toMatchObject({ status: 'answered' });
  });

  test('tools that are refused are written as text from then on', async () => {
    const body = { error: { message: 'unknown field', param: 'tools', type: 'invalid_request_error' } };
    const { agent, server } = await agentOver(wire, [{ status: 400, body }, { text: '{"answer":"Hi."}' }], {
      tools: [fakeTool('look', [])],
    });
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(server.requests[1]?.text).toContain('tool_args');
  });

  test('too many tools are a failure that says so, and the next run calls natively', async () => {
    const options = { tools: [fakeTool('look', ['a cat'])], plans: false };
    const said = [{ status: 400, body: { error: TOO_MANY } }, { text: 'Hi.' }];
    const { agent, server } = await agentOver(wire, said, options);
    const { status, error } = await agent.run('Hello');
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'bad-request' });
    expect(error?.message).toContain('array too long');
    expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(server.requests[1]?.text).not.toContain('tool_args');
  });

  test('a connection that breaks in the middle of a reply is no reply', async () => {
    const { agent, server } = await agentOver(wire, [{ breaks: calling }, { text: 'Hi.' }], {
      tools: [fakeTool('look', ['a cat'])],
    });
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual(['bad-response']);
    expect(await run).toMatchObject({ status: 'answered', toolsUsed: [] });
    expect(server.requests).toHaveLength(2);
  });

  test('a request that hangs is let go when the run is cancelled', async () => {
    const { agent, server } = await agentOver(wire, [{ hangs: true }], { streaming: false });
    const run = agent.run('Hello');
    await expect.poll(() => server.requests.length).toBe(1);
    await run.cancel('enough');
    await expect.poll(server.abandoned).toBe(1);
  });

  test.each([
    ['text', long],
    ['a call', calling],
  ])('a stream that is cut off in the middle of %s is no reply', async (_what, said) => {
    const look = fakeTool('look', ['a cat']);
    const { agent, server } = await agentOver(wire, [{ cut: said }, { text: 'Hi.' }], { tools: [look] });
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual(['bad-response']);
    expect(await run).toMatchObject({ status: 'answered', result: 'Hi.', toolsUsed: [] });
    expect(server.requests).toHaveLength(2);
  });

  test('a run that is cancelled lets go of the connection', async () => {
    const { agent, server } = await agentOver(wire, [{ stalls: long }]);
    const run = agent.run('Hello');
    for await (const event of run) if (event.type === 'model.token') await run.cancel('enough');
    expect(await run).toMatchObject({ status: 'cancelled' });
    await expect.poll(server.abandoned).toBe(1);
    expect(server.requests).toHaveLength(1);
  });

  test('silence is a timeout, and the connection is let go', async () => {
    steadyTime();
    const { agent, server } = await agentOver(wire, [{ stalls: long }, { text: 'Hi.' }], {
      timeouts: { responseMs: 150 },
    });
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual(['timeout']);
    expect(await run).toMatchObject({ status: 'answered', result: 'Hi.' });
    await expect.poll(server.abandoned).toBe(1);
  });

  test('what is no JSON is no reply', async () => {
    const { agent } = await agentOver(wire, [{ status: 200, body: 'hello' }, { text: 'Hi.' }], { streaming: false });
    const run = agent.run('Hello');
    expect(retriesOf(await eventsOf(run))).toEqual(['bad-response']);
    expect(await run).toMatchObject({ status: 'answered' });
  });

  test('a server that is not there is named', async () => {
    const model = fromAiSdk(wire.model('http://127.0.0.1:9'));
    expect(await askInVain(model)).toMatchObject({ code: 'connect-failed' });
    expect((await askInVain(model, { stream: true })).message).toContain(wire.id);
  });

  test('pieces of a reply are reported as they come, and together they are the reply', async () => {
    const { agent } = await agentOver(wire, [{ ...calling, thinking: 'Hm.' }, long], {
      tools: [fakeTool('look', ['a cat'])],
    });
    const events = await eventsOf(agent.run('Hello'));
    const tokens = events.flatMap((event) => (event.type === 'model.token' ? [event] : []));
    const first = tokens.slice(
      0,
      tokens.findLastIndex(({ index }) => index === 0),
    );
    const said = (kind: string, of = tokens) =>
      of.flatMap((token) => (token.kind === kind ? [token.text] : [])).join('');
    expect(said('text')).toBe('I look.It was a dark and stormy night.');
    expect(said('arguments', first)).toBe('{"at":"the door of the house"}');
    expect(said('reasoning')).toBe(wire === openaiChat ? '' : 'Hm.Hm.');
  });

  test('models that are forbidden are not asked', async () => {
    const server = await startWireServer(wire, [{ text: 'Hi.' }]);
    const lift = forbidLiveModels();
    try {
      expect(await askInVain(fromAiSdk(wire.model(server.origin)))).toMatchObject({ code: 'live-forbidden' });
    } finally {
      lift();
    }
    expect(server.requests).toEqual([]);
  });
});

describe('fromAiSdk', () => {
  test('a key that Google does not know is a matter of the key', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }];
    const body = { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'API key not valid.', details } };
    const { agent, server } = await agentOver(google, [{ status: 400, body }]);
    expect(await agent.run('Hello')).toMatchObject({ error: { code: 'auth' } });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    // As `ai-sdk-ollama` throws them.
    [Object.assign(new Error('busy'), { name: 'ResponseError', status_code: 503 }), 'server-error', 2],
    [Object.assign(new Error('slow down'), { name: 'ResponseError', status_code: 429 }), 'rate-limited', 2],
    [Object.assign(new Error('no such model'), { name: 'ResponseError', status_code: 404 }), 'model-not-found', 1],
    [
      new TypeError('fetch failed', { cause: Object.assign(new Error('off'), { code: 'ECONNREFUSED' }) }),
      'connect-failed',
      2,
    ],
    [new TypeError('m.map is not a function'), 'model-error', 2],
    [new Error('fetch failed', { cause: Object.assign(new Error('off'), { code: 'ECONNREFUSED' }) }), 'model-error', 2],
  ])('what a provider wraps is known by its cause: %s is %s', async (cause, code, times) => {
    const thrown = Object.assign(new Error(cause.message, { cause }), { name: 'OllamaError' });
    let asked = 0;
    const fail = () => {
      asked += 1;
      return Promise.reject(thrown);
    };
    const model = {
      specificationVersion: 'v4' as const,
      provider: 'ollama',
      modelId: 'm',
      doGenerate: fail,
      doStream: fail,
    };
    const agent = createAgent({ model: fromAiSdk(model), silent: true, retry: { backoff: recover.constant(1) } });
    expect(await agent.run('Hello')).toMatchObject({ error: { code } });
    expect(asked).toBe(times);
  });

  test('what a provider does not support is said once', async () => {
    const { agent } = await agentOver(anthropic, [{ text: 'Hi.' }, { text: 'Hi.' }], {
      sdk: { settings: { seed: 1 } },
    });
    const warnings = async () =>
      (await eventsOf(agent.run('Hello'))).flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(await warnings()).toEqual([expect.stringContaining("'seed'")]);
    expect(await warnings()).toEqual([]);
  });

  test('one call at a time is asked for where the agent wants that', async () => {
    const tools = [fakeTool('look', [])];
    const claude = await agentOver(anthropic, [{ text: 'Hi.' }], { tools, parallelToolCalls: false });
    await claude.agent.run('Hello');
    expect(claude.server.requests[0]?.text).toContain('"disable_parallel_tool_use":true');
    const gpt = await agentOver(openaiResponses, [{ text: 'Hi.' }], { tools, parallelToolCalls: false });
    await gpt.agent.run('Hello');
    expect(gpt.server.requests[0]?.text).toContain('"parallel_tool_calls":false');
  });

  test('a tool whose name no provider takes is sent under another, and called by its own', async () => {
    const { agent, server } = await agentOver(
      openaiResponses,
      [{ calls: [{ id: 'a', name: 'files_read', args: {} }] }, { text: 'Done.' }],
      {
        tools: [fakeTool('files.read', ['tall'])],
      },
    );
    const run = agent.run('Hello');
    const called = (await eventsOf(run)).flatMap((event) => (event.type === 'model.replied' ? event.toolCalls : []));
    expect(called).toMatchObject([{ name: 'files.read' }]);
    expect(await run).toMatchObject({ toolsUsed: ['files.read'] });
    expect(server.requests[1]?.text).not.toContain('"name":"files.read"');
  });

  test('in json mode no tools are offered, and the envelope is read', async () => {
    const { agent, server } = await agentOver(
      compatible,
      [{ text: '{"thought":"","tool":"look","tool_args":{}}' }, { text: '{"answer":"A cat."}' }],
      {
        tools: [fakeTool('look', ['a cat'])],
        toolCalling: 'json',
      },
    );
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'A cat.', toolsUsed: ['look'] });
    expect(server.requests[0]?.text).not.toContain('"tools"');
  });

  test.each([
    ['a name', 'gpt-5', /is a name/],
    ['nothing', undefined, /doGenerate/],
    [
      'an older specification',
      { ...compatible.model('http://127.0.0.1:9'), specificationVersion: 'v2', doGenerate() {}, doStream() {} },
      /'v2'/,
    ],
    ['a model of Signalbox', { complete() {} }, /doGenerate/],
  ])('%s is refused with what is wrong', (_what, given, message) => {
    expect(() => untyped(fromAiSdk, given)).toThrow(message);
  });

  test('a model of specification v3 works as one of v4', async () => {
    const prompts: unknown[] = [];
    const usage = {
      inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 2, text: 2, reasoning: undefined },
    };
    const replies = [
      [
        { type: 'tool-call', toolCallId: 'a', toolName: 'photo', input: '{}', providerMetadata: { x: { sig: 's' } } },
        { type: 'finish', usage, finishReason: { unified: 'tool-calls', raw: 'tool' } },
      ],
      [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'A cat.' },
        { type: 'text-end', id: '1' },
        { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end' } },
      ],
    ];
    const old = {
      specificationVersion: 'v3' as const,
      provider: 'old',
      modelId: 'm',
      doGenerate: () => Promise.reject(new Error('it streams')),
      doStream: ({ prompt }: { readonly prompt: readonly object[] }) => {
        prompts.push(prompt);
        return Promise.resolve({ stream: streamOf(replies.shift() ?? []) });
      },
    };
    const photo = fakeTool('photo', [[{ type: 'image', data: 'aGk=', mimeType: 'image/png' }]]);
    const agent = createAgent({
      model: fromAiSdk(old, { images: true }),
      tools: [photo],
      silent: true,
      streaming: true,
    });
    expect(await agent.run('Look.')).toMatchObject({
      result: 'A cat.',
      usage: { totalTokens: 10, cachedInputTokens: 0 },
    });
    expect(prompts[1]).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool-call', input: {}, providerOptions: { x: { sig: 's' } } }] },
      { role: 'tool', content: [{ type: 'tool-result', toolName: 'photo' }] },
      { role: 'user', content: [{ type: 'text' }, { type: 'file', mediaType: 'image/png', data: 'aGk=' }] },
    ]);
    await agent.close();
  });

  test('calls that the provider ran itself are not run again', async () => {
    const parts = [
      { type: 'tool-call', toolCallId: 's', toolName: 'look', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'look', result: 'seen' },
      { type: 'text-delta', id: '1', delta: 'Seen.' },
      { type: 'finish', usage: undefined, finishReason: { unified: 'stop', raw: 'end' } },
    ];
    const doStream = () => Promise.resolve({ stream: streamOf(parts) });
    const model = {
      specificationVersion: 'v4' as const,
      provider: 'p',
      modelId: 'm',
      doGenerate: () => Promise.reject(new Error('no')),
      doStream,
    };
    const look = fakeTool('look', ['never']);
    const agent = createAgent({ model: fromAiSdk(model), tools: [look], silent: true, streaming: true });
    expect(await agent.run('Look.')).toMatchObject({ result: 'Seen.', toolsUsed: [], usage: { totalTokens: 0 } });
    await agent.close();
  });
});
