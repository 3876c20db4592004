import { expect, test } from 'vitest';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import type { Scripted } from '../support/model-server.ts';
import { overEachTransport } from '../support/transports.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';

const refusal = (status: number, body: unknown): Scripted => ({ status, body });
const events = (...payloads: readonly unknown[]): Scripted => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  pieces: payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`),
});
const piece = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const routed = (code: number, raw: string, more = {}) => ({
  error: { message: 'Provider returned error', code, metadata: { raw, provider_name: 'X', ...more } },
});
const google = (code: number, detail: object) => [{ error: { code, message: 'no', status: 'X', details: [detail] } }];
const flagged = { reasons: ['violence'], flagged_input: '…', provider_name: 'X', model_slug: 'm' };
const toCall = { toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };

overEachTransport(() => {
  test.each([
    [
      'a context, by vLLM',
      400,
      { error: { message: 'no', type: 'BadRequestError', param: 'input_tokens', code: 400 } },
    ],
    ['a context, by OpenRouter', 400, routed(400, 'no', { error_type: 'context_length_exceeded' })],
    ['a context, by the provider behind it', 400, routed(400, '{"error":{"code":"context_length_exceeded"}}')],
    ['a request, by Groq', 413, { error: { message: 'no', type: 'tokens', code: 'rate_limit_exceeded' } }],
    ['a prompt, by GLM', 400, { error: { message: 'no', code: '1261' } }],
  ])('a conversation that is too long for %s is shortened, once', async (_who, status, body) => {
    const tools = [fakeTool('look', ['x'.repeat(6000), 'y'.repeat(6000)])];
    const script = [toCall, { toolCalls: [{ id: 'b', name: 'look', arguments: {} }] }, refusal(status, body), 'Done.'];
    const { agent, server } = await agentOn(script, { tools });
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'Done.' });
    const [, , refused = '', shortened = ''] = server.requests.map(({ text }) => text);
    expect(shortened.length).toBeLessThan(refused.length - 2000);
  });

  test.each([
    ['moderation', 403, { error: { code: 403, message: 'no', metadata: flagged } }, 'content-filter'],
    ['a policy', 403, routed(403, 'no', { error_type: 'content_policy_violation' }), 'content-filter'],
    ['Moonshot’s filter', 400, { error: { message: 'no', type: 'content_filter' } }, 'content-filter'],
    ['DashScope’s filter', 400, { error: { message: 'no', code: 'data_inspection_failed' } }, 'content-filter'],
    ['Google’s keys', 400, google(400, { reason: 'API_KEY_INVALID' }), 'auth'],
    ['a key behind a router', 200, { error: { message: 'no', code: '401', type: 'None', param: 'None' } }, 'auth'],
    ['Azure', 404, { error: { message: 'no', code: 'DeploymentNotFound' } }, 'model-not-found'],
    ['Moonshot’s account', 429, { error: { message: 'no', type: 'exceeded_current_quota_error' } }, 'quota-exhausted'],
    ['DashScope’s account', 400, { error: { message: 'no', code: 'Arrearage' } }, 'quota-exhausted'],
    ['GLM’s account', 429, { error: { message: 'no', code: '1113' } }, 'quota-exhausted'],
    ['MiniMax’s account', 429, { error: { type: 'insufficient_balance_error', message: 'no' } }, 'quota-exhausted'],
    ['MiniMax', 200, { choices: null, base_resp: { status_code: 1008, status_msg: 'no' } }, 'quota-exhausted'],
    ['an error without a name', 400, { error: { code: '1112', message: 'no', metadata: {} } }, 'bad-request'],
  ])('what %s refuses is not asked for again', async (_who, status, body, code) => {
    const { agent, server } = await agentOn([refusal(status, body)], {}, { models: ['scripted'] });
    expect((await agent.run('Hi.')).error).toMatchObject({ code, message: expect.stringContaining('no') });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [408, { error: { code: 408, message: 'no' } }],
    [409, { error: { message: 'no' } }],
    [498, { error: { message: 'no', type: 'capacity', code: 'capacity_exceeded' } }],
    [200, { error: { message: 'no', type: 'None', param: 'None', code: '429' } }],
    [200, { choices: null, base_resp: { status_code: 1002, status_msg: 'no' } }],
    [200, { choices: null, base_resp: { status_code: 1000, status_msg: 'no' } }],
  ])('a refusal that passes is asked for again: HTTP %i, %o', async (status, body) => {
    const { agent } = await agentOn([refusal(status, body), 'Here.']);
    expect(await agent.run('Hi.')).toMatchObject({ status: 'answered', result: 'Here.' });
  });

  test('a status of MiniMax that says that all is well is no error', async () => {
    const choices = [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }];
    const { agent } = await agentOn([refusal(200, { choices, base_resp: { status_code: 0, status_msg: '' } })]);
    expect(await agent.run('Hi.')).toMatchObject({ status: 'answered', result: 'Hi.' });
  });

  test('what the provider behind a router said is told', async () => {
    const raw = '{"error":{"message":"at most 1 image","type":"invalid_request_error"}}';
    const { agent } = await agentOn([refusal(400, routed(400, raw))]);
    const { error } = await agent.run('Hi.');
    expect(error?.message).toContain('Provider returned error: at most 1 image');
    expect(error?.message).not.toContain('invalid_request_error');
  });

  test('a model without native calls is met behind LiteLLM, too, whose errors have the word None for nothing', async () => {
    const error = { message: 'm does not support tools', type: 'None', param: 'None', code: '400' };
    const { agent, server } = await agentOn([refusal(400, { error }), '{"answer": "Hi."}'], {
      tools: [fakeTool('look', [])],
    });
    expect(await agent.run('Hi.')).toMatchObject({ status: 'answered', result: 'Hi.' });
    expect(server.requests.map(({ body }) => body['tools'] !== undefined)).toEqual([true, false]);
  });

  test('a field that Mistral does not take is left out', async () => {
    const message = { detail: [{ type: 'extra_forbidden', loc: ['body', 'temperature'], msg: 'no' }] };
    const body = { object: 'error', message, type: 'invalid_request_error', param: null, code: null };
    const { agent } = await agentOn([refusal(422, body), 'Hi.'], { temperature: 0 });
    expect(await agent.run('Hi.')).toMatchObject({ status: 'answered', result: 'Hi.' });
  });

  test('an error after the beginning of a reply says nothing of what its request may have', async () => {
    const late = events(piece('It'), { error: { message: 'no', type: null, param: null, code: '400' } });
    const { agent, server } = await agentOn([late, 'Here.'], { streaming: true, tools: [fakeTool('look', [])] });
    const run = agent.run('Hi.');
    expect((await eventsOf(run)).filter(({ type }) => type === 'warning')).toEqual([]);
    expect((await run).error).toMatchObject({ code: 'bad-request' });
    expect(await agent.run('Hi.')).toMatchObject({ status: 'answered', result: 'Here.' });
    const sent = [true, { include_usage: true }];
    expect(server.requests.map(({ body }) => [body['tools'] !== undefined, body['stream_options']])).toEqual([
      sent,
      sent,
    ]);
  });

  test.each([true, false])('tokens that are counted within the choice count (streamed: %s)', async (streaming) => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const choices = [{ index: 0, delta: {}, message: { content: 'Hi.' }, finish_reason: 'stop', usage }];
    const script = [
      streaming ? events(piece('Hi.'), { choices }) : refusal(200, { choices: [{ ...choices[0], delta: undefined }] }),
    ];
    const { agent } = await agentOn(script, { streaming });
    expect(await agent.run('Hi.')).toMatchObject({ result: 'Hi.', usage: { inputTokens: 3, outputTokens: 2 } });
  });

  test.each([
    'look<|channel|>commentary',
    'functions.look',
    'functions.look:0',
    'default_api:look',
    'default_api.look',
  ])('what a model writes around the name of a tool is none of it: %s', async (name) => {
    for (const streaming of [true, false]) {
      const call = { toolCalls: [{ id: 'a', name, arguments: {} }] };
      const { agent, server } = await agentOn([call, 'A cat.'], { tools: [fakeTool('look', ['a cat'])], streaming });
      expect(await agent.run('Look.')).toMatchObject({ result: 'A cat.', toolsUsed: ['look'], errorHistory: [] });
      expect(server.requests[1]?.text).toContain('"name":"look","arguments":"{}"');
    }
  });

  test('a name that a tool has is its own, whatever is around it, and a strange one stays strange', async () => {
    const calls = ['functions.look', 'functions.see', '<|see|>', 'look.functions'];
    const toolCalls = calls.map((name, index) => ({ id: `a${index}`, name, arguments: {} }));
    const tools = [fakeTool('functions.look', ['a dog']), fakeTool('look', ['a cat'])];
    const { agent } = await agentOn([{ toolCalls }, 'A dog.'], { tools });
    const { toolsUsed, errorHistory } = await agent.run('Look.');
    expect([toolsUsed, errorHistory.map(({ code }) => code)]).toEqual([
      ['functions.look'],
      Array(3).fill('unknown-tool'),
    ]);
  });
});
