import { type HrTime, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { fork, replay } from '../../src/journal/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { simulate } from '../../src/testing/simulate.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { openTelemetry } from '../../src/telemetry/index.ts';
import { tool } from '../../src/tools/tool.ts';
import { agentWith, modern } from '../support/mcp/modern.ts';
import { calls } from '../support/replies.ts';
import { program, traceContexts, within } from './spans.ts';

traceContexts();

const SECRET = 'sk-live-0123456789abcdef';
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const usage = { inputTokens: 40, outputTokens: 7, totalTokens: 47, cachedInputTokens: 32, reasoningTokens: 3 };

const ms = ([seconds, nanos]: HrTime = [0, 0]): number => Math.floor(seconds * 1000 + nanos / 1e6);

describe('the spans of a run', () => {
  test('are those of the run, its child agents, requests and calls, each in what began it', async () => {
    const app = program();
    const look = tool({
      name: 'look',
      description: 'Looks.',
      execute: () => within(app, 'GET /weather', () => new Promise((resolve) => setTimeout(() => resolve('sunny'), 5))),
    });
    const forecaster = createAgent({
      name: 'forecaster',
      description: 'Knows the weather.',
      model: scriptedModel([calls(['look']), 'Sun.', calls(['look']), 'Sun again.']),
      tools: [look],
      silent: true,
    });
    const agent = createAgent({
      name: 'clerk',
      version: '7',
      model: scriptedModel([
        { ...calls(['forecaster', { task: 'today' }]), usage },
        calls(['forecaster', { task: 'tomorrow' }]),
        { content: 'Sunny.', usage, finishReason: 'stop', model: 'groq:llama-4' },
      ]),
      children: [forecaster],
      temperature: 0.5,
      maxTokens: 300,
      silent: true,
      telemetry: app.telemetry,
    });
    await within(app, 'POST /chat', () => agent.run('The weather?'));
    const child = ['chat scripted', 'execute_tool look', '  GET /weather', 'chat scripted'].map(
      (line) => `      ${line}`,
    );
    expect(app.tree()).toEqual([
      'POST /chat',
      '  invoke_agent clerk',
      '    chat scripted',
      '    invoke_agent forecaster',
      ...child,
      '    chat scripted',
      '    invoke_agent forecaster',
      ...child,
      '    chat scripted',
    ]);
    expect(app.span('invoke_agent clerk').attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'clerk',
      'gen_ai.agent.version': '7',
      'signalbox.run.id': expect.any(String),
      'signalbox.run.status': 'answered',
      'signalbox.run.reason': 'answer',
    });
    // A child's span ends with the last that it did, not with the run.
    const [today, tomorrow] = app.spans().filter(({ name }) => name === 'invoke_agent forecaster');
    expect(ms(today?.endTime)).toBeLessThanOrEqual(ms(tomorrow?.startTime));
    expect(ms(today?.endTime)).toBeGreaterThanOrEqual(ms(today?.startTime) + 5);
    const last = app
      .spans()
      .filter(({ kind }) => kind === SpanKind.CLIENT)
      .at(-1);
    expect(last?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 300,
      'gen_ai.response.model': 'llama-4',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 32,
      'gen_ai.usage.reasoning.output_tokens': 3,
    });
    expect(app.span('execute_tool look').attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': expect.any(String),
    });
  });

  test('say that JSON is asked for where the answer has a schema', async () => {
    const app = program();
    const options = { silent: true, telemetry: app.telemetry };
    const outputSchema = { type: 'object', properties: { city: { type: 'string' } } };
    await createAgent({ ...options, model: scriptedModel(['{ "city": "Bern" }']), outputSchema }).run('Where?');
    await createAgent({ ...options, model: scriptedModel(['Bern.']) }).run('Where?');
    const asked = app.spans().filter(({ kind }) => kind === SpanKind.CLIENT);
    expect(asked.map(({ attributes }) => attributes['gen_ai.output.type'])).toEqual(['json', undefined]);
  });

  test('of agents within agents lie in each other, of two that work at once apart', async () => {
    const app = program();
    const nested = (name: string, children: readonly ReturnType<typeof createAgent>[]) => {
      const asks = children.map((child): readonly [string, { task: string }] => [child.name, { task: 'Go on.' }]);
      const replies = asks.length === 0 ? ['Done.'] : [calls(...asks), 'Done.'];
      const telemetry = name === 'root' ? { telemetry: app.telemetry } : {};
      const model = scriptedModel(replies);
      return createAgent({ name, description: 'Helps.', model, children, silent: true, ...telemetry });
    };
    let line = nested('a7', []);
    for (const depth of [6, 5, 4, 3, 2, 1]) line = nested(`a${depth}`, [line]);
    await nested('root', [line, nested('other', [])]).run('Go');
    const tree = app.tree();
    const below = ['root', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'];
    expect(tree.filter((entry) => entry.includes('invoke_agent a') || entry.includes('root'))).toEqual(
      below.map((name, depth) => `${'  '.repeat(depth)}invoke_agent ${name}`),
    );
    expect(tree).toContain('  invoke_agent other');
    // Each asks twice but the innermost and the other, who answer at once.
    expect(tree.filter((entry) => entry.endsWith('chat scripted'))).toHaveLength(16);
    expect(tree).toContain(`${'  '.repeat(8)}chat scripted`);
  });

  test('of an agent that repairs arguments lie in its own', async () => {
    const app = program();
    const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const fixer = createAgent({ name: 'fixer', model: scriptedModel(['{"path": "/a"}']), silent: true });
    const write = fakeTool('write', ['written'], { inputSchema, onError: { invalidArgs: recover.fix(fixer) } });
    const model = scriptedModel([calls(['write', 'nonsense']), 'Done.']);
    await createAgent({ model, tools: [write], silent: true, telemetry: app.telemetry }).run('Write');
    expect(app.tree()).toEqual([
      'invoke_agent agent',
      '  chat scripted',
      '  invoke_agent fixer',
      '    chat scripted',
      '  execute_tool write',
      '  chat scripted',
    ]);
  });

  test('of a fork are those of what is done anew', async () => {
    const app = program();
    const look = fakeTool('look', ['seen', 'seen again']);
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Done.', 'Done anew.']),
      tools: [look],
      silent: true,
      telemetry: app.telemetry,
    });
    const run = agent.run('Go');
    await run;
    const before = app.spans().length;
    const at = run
      .recording()
      .split('\n')
      .findIndex((record) => record.includes('callLlm#2'));
    expect(await fork(run.recording(), agent, { at, then: 'live' })).toMatchObject({ result: 'Done anew.' });
    expect(app.tree().slice(before)).toEqual(['invoke_agent agent', '  chat scripted']);
    expect(look.calls).toHaveLength(1);
  });

  test('a request that fails is its own span, and so is the next attempt; only a run that failed has', async () => {
    const app = program();
    const refusal = new ModelError('server-error', 'overloaded', { status: 503 });
    const broken = fakeTool('broken', [() => Promise.reject(new Error('no paper'))]);
    const sorry = fakeTool('sorry', [{ status: 'error', error: 'none left' }]);
    const model = scriptedModel([refusal, calls(['broken'], ['sorry']), 'Done.']);
    const options = {
      silent: true,
      telemetry: app.telemetry,
      tools: [broken, sorry],
      retry: { backoff: recover.constant(1) },
    };
    expect(await createAgent({ ...options, name: 'a', model }).run('Go')).toMatchObject({ success: true });
    const refused = createAgent({
      ...options,
      name: 'b',
      model: scriptedModel([new ModelError('auth', 'who are you?')]),
    });
    expect(await refused.run('Go')).toMatchObject({ success: false });
    const status = (name: string) =>
      app
        .spans()
        .filter((span) => span.name === name)
        .map((span) => [span.status.code, span.attributes['error.type']]);
    expect(status('chat scripted')).toEqual([
      [SpanStatusCode.ERROR, 'server-error'],
      [SpanStatusCode.UNSET, undefined],
      [SpanStatusCode.UNSET, undefined],
      [SpanStatusCode.ERROR, 'auth'],
    ]);
    expect(status('execute_tool broken')).toEqual([[SpanStatusCode.ERROR, 'execution']]);
    expect(status('execute_tool sorry')).toEqual([[SpanStatusCode.ERROR, 'tool_error']]);
    expect(status('invoke_agent a')).toEqual([[SpanStatusCode.UNSET, undefined]]);
    expect(status('invoke_agent b')).toEqual([[SpanStatusCode.ERROR, 'llm-error']]);
  });

  test("a caller's trace is theirs, unless the program is in it already", async () => {
    const app = program();
    const agent = createAgent({ model: scriptedModel(['1', '2', '3']), silent: true, telemetry: app.telemetry });
    await agent.run('Go', { traceparent: TRACE });
    expect(app.span('invoke_agent agent')).toMatchObject({
      parentSpanContext: { traceId: TRACE.slice(3, 35), spanId: TRACE.slice(36, 52), isRemote: true },
    });
    await within(app, 'job', () => agent.run('Go', { traceparent: TRACE }));
    const [, ofJob] = app.spans().filter(({ name }) => name === 'invoke_agent agent');
    expect(ofJob?.parentSpanContext?.spanId).toBe(TRACE.slice(36, 52));
    const other = program();
    await within(other, 'job', async () => {
      const { traceId } = other.tracer.startSpan('x').spanContext();
      const inIt = createAgent({ model: scriptedModel(['1']), silent: true, telemetry: other.telemetry });
      await inIt.run('Go', { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` });
    });
    expect(other.tree()).toEqual(['job', '  invoke_agent agent', '    chat scripted']);
  });

  test('an MCP server gets the span of its call', async () => {
    const app = program();
    const lab = await modern('HTTP');
    const model = scriptedModel([calls(['lab_either', {}, 'a']), 'Done.']);
    const { agent } = agentWith(lab.config, { model, telemetry: app.telemetry });
    await agent.run('Go', { traceparent: TRACE });
    const { attributes, spanContext } = app.span('execute_tool lab_either');
    expect(attributes).toMatchObject({ 'mcp.method.name': 'tools/call', 'signalbox.mcp.server': 'lab' });
    const { traceId, spanId } = spanContext.call(app.span('execute_tool lab_either'));
    expect(traceId).toBe(TRACE.slice(3, 35));
    expect(lab.received('tools/call')[0]?._meta).toMatchObject({ traceparent: `00-${traceId}-${spanId}-01` });
  });
});

test('a run that waits ends its spans, and the process that goes on with it has its own, of what it does itself', async () => {
  const app = program();
  const journal = memoryJournal();
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const look = fakeTool('look', ['seen']);
  const options = {
    name: 'payer',
    tools: [look, pay],
    silent: true,
    confirm: 'wait',
    journal,
    telemetry: app.telemetry,
  } as const;
  const first = createAgent({ ...options, model: scriptedModel([calls(['look']), calls(['pay'])]) });
  const parked = await first.run('Pay', { park: true });
  expect(parked).toMatchObject({ status: 'waiting' });
  expect(app.tree()).toEqual(['invoke_agent payer', '  chat scripted', '  execute_tool look', '  chat scripted']);
  expect(app.span('invoke_agent payer').attributes).toMatchObject({ 'signalbox.run.reason': 'parked' });
  const second = createAgent({ ...options, model: scriptedModel(['Paid.']) });
  await second.approve(parked.runId, 'c2');
  expect(await second.resume(parked.runId)).toMatchObject({ success: true });
  const resumed = app.tree().slice(4);
  expect(resumed).toEqual(['invoke_agent payer', '  execute_tool pay', '  chat scripted']);
  await replay((await second.recording(parked.runId)) ?? '', second);
  expect(app.tree()).toHaveLength(7);
});

const slowly = () => new Promise<string>((resolve) => setTimeout(() => resolve('paid'), 20));

test('a question to a person is a span until it is answered, or its run is let go', async () => {
  const app = program();
  const pay = fakeTool('pay', [slowly, slowly], { policy: 'confirm' });
  const agentThat = (confirm: 'wait' | (() => 'allow-once')) =>
    createAgent({
      model: scriptedModel([calls(['pay']), 'Paid.']),
      tools: [pay],
      confirm,
      silent: true,
      journal: memoryJournal(),
      telemetry: app.telemetry,
    });
  await agentThat(() => 'allow-once').run('Pay');
  expect(app.span('approve pay').attributes).toMatchObject({ 'signalbox.approval.decision': 'allow-once' });
  const waiting = agentThat('wait').run('Pay');
  await expect.poll(() => waiting.pending).toHaveLength(1);
  await waiting.approve('c1');
  await waiting;
  const [, question] = app.spans().filter(({ name }) => name === 'approve pay');
  const [, call] = app.spans().filter(({ name }) => name === 'execute_tool pay');
  expect(ms(question?.endTime)).toBeLessThanOrEqual(ms(call?.endTime) - 5);
  const released = agentThat('wait').run('Pay');
  await expect.poll(() => released.pending).toHaveLength(1);
  await released.release();
  const asked = app.spans().filter(({ name }) => name === 'approve pay');
  expect(asked.map(({ status }) => status.code)).toEqual([
    SpanStatusCode.UNSET,
    SpanStatusCode.UNSET,
    SpanStatusCode.UNSET,
  ]);
});

test('what was said is kept only where that is wanted, and no secret ever', async () => {
  const say = tool({
    name: 'say',
    description: 'Says.',
    inputSchema: { type: 'object' },
    execute: ({ word }) => `heard ${String(word)}`,
  });
  const replies = () => scriptedModel([calls(['say', { word: SECRET }]), `It was ${SECRET}`]);
  const said = async (content: boolean) => {
    const app = program({ content });
    const agent = createAgent({
      model: replies(),
      tools: [say],
      instructions: 'Be kind.',
      silent: true,
      secrets: [SECRET],
      telemetry: app.telemetry,
    });
    expect((await agent.run(`The password is ${SECRET}`)).result).toContain(SECRET);
    return { app, text: JSON.stringify(app.spans().map(({ attributes }) => attributes)) };
  };
  const without = await said(false);
  for (const word of ['password', 'heard', 'Be kind', SECRET]) expect(without.text).not.toContain(word);
  const { app, text } = await said(true);
  expect(text).not.toContain(SECRET);
  const { attributes } = app.span('execute_tool say');
  expect(attributes).toMatchObject({ 'gen_ai.tool.call.arguments': '{"word":"«secret:1»"}' });
  expect(String(attributes['gen_ai.tool.call.result'])).toContain('heard «secret:1»');
  const [first, last] = app.spans().filter(({ name }) => name === 'chat scripted');
  const read = (span: typeof first, name: string): unknown => JSON.parse(String(span?.attributes[name]));
  expect(read(first, 'gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be kind.' }]);
  expect(read(first, 'gen_ai.tool.definitions')).toMatchObject([
    { type: 'function', name: 'say', parameters: { type: 'object' } },
    { name: 'make_plan' },
  ]);
  expect(read(first, 'gen_ai.output.messages')).toMatchObject([
    { role: 'assistant', parts: [{ type: 'tool_call', name: 'say' }] },
  ]);
  expect(read(last, 'gen_ai.input.messages')).toMatchObject([
    { role: 'user', parts: [{ type: 'text', content: 'The password is «secret:1»' }] },
    { role: 'assistant', parts: [{ type: 'tool_call', name: 'say' }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', response: expect.stringContaining('heard «secret:1»') }] },
  ]);
});

/** A run of two requests and a call, and what its program has measured. */
async function measuredRun(options: Parameters<typeof program>[0] = {}, agent: Partial<AgentOptions> = {}) {
  const app = program(options);
  const stats = { timeToFirstTokenMs: 40 };
  const model = scriptedModel([
    { ...calls(['look']), usage, stats },
    { content: 'Done.', usage, stats },
  ]);
  const tools = [fakeTool('look', ['seen'])];
  await createAgent({ name: 'a', model, tools, silent: true, telemetry: app.telemetry, ...agent }).run('Go');
  return app;
}

test('durations and tokens are measured by model and tool', async () => {
  const app = await measuredRun();
  const took = async (operation: string) =>
    (await app.measured(`gen_ai.${operation}.duration`)).map(({ attributes, value, unit }) => [
      attributes,
      (value as { count: number }).count,
      unit,
    ]);
  const about = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'scripted',
  };
  expect(await took('client.inference')).toEqual([[about, 2, 's']]);
  expect(await took('execute_tool')).toEqual([
    [{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look' }, 1, 's'],
  ]);
  expect(await took('invoke_agent')).toEqual([
    [{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' }, 1, 's'],
  ]);
  const unit = '{token}';
  const spent = async (kind: string) => app.measured(`gen_ai.client.inference.usage.${kind}_tokens`);
  expect(await spent('input')).toEqual([{ attributes: about, value: 80, unit }]);
  expect(await spent('output')).toEqual([{ attributes: about, value: 14, unit }]);
  expect(await spent('cache_read.input')).toEqual([{ attributes: about, value: 64, unit }]);
  expect(await spent('reasoning.output')).toEqual([{ attributes: about, value: 6, unit }]);
  expect([await took('client.operation'), await app.measured('gen_ai.client.token.usage')]).toEqual([[], []]);
});

/** How many values of a metric there are of each agent, and their sum. */
async function byAgent(app: ReturnType<typeof program>, metric: string) {
  return (await app.measured(metric)).map(({ attributes, value }) => {
    const { count, sum } = value as { readonly count: number; readonly sum: number };
    return [attributes['gen_ai.agent.name'], count, metric.endsWith('duration') ? sum >= 0 : sum];
  });
}

test('each agent has measured how long it took, and how many requests and calls it made itself', async () => {
  const child = createAgent({
    name: 'clerk',
    model: scriptedModel([calls(['look'], ['look']), calls(['look']), 'Found.']),
    tools: [fakeTool('look', ['seen'], { effects: 'none' })],
    silent: true,
  });
  const app = await measuredRun(
    {},
    { model: scriptedModel([calls(['clerk', { task: 'Look' }]), 'Done.']), children: [child] },
  );
  expect(await byAgent(app, 'gen_ai.invoke_agent.duration')).toEqual([
    ['clerk', 1, true],
    ['a', 1, true],
  ]);
  expect(await byAgent(app, 'gen_ai.invoke_agent.inference_calls')).toEqual([
    ['clerk', 1, 3],
    ['a', 1, 2],
  ]);
  expect(await byAgent(app, 'gen_ai.invoke_agent.tool_calls')).toEqual([
    ['clerk', 1, 3],
    ['a', 1, 0],
  ]);
});

test('a run that failed is told apart in what runs took, in seconds', async () => {
  const slow = {
    id: 'slow',
    complete: () => new Promise<never>((_, reject) => setTimeout(reject, 60, new ModelError('auth', 'no key'))),
  };
  const app = await measuredRun({}, { model: slow });
  for (const [metric, error] of [
    ['gen_ai.invoke_agent.duration', 'llm-error'],
    ['gen_ai.client.inference.duration', 'auth'],
  ] as const) {
    const [took] = await app.measured(metric);
    expect(took?.attributes).toMatchObject({ 'error.type': error });
    const seconds: unknown = Reflect.get(Object(took?.value), 'sum');
    expect(seconds).toBeGreaterThan(0.05);
    expect(seconds).toBeLessThan(30);
  }
});

test('the time to the first part of a reply is measured where it is streamed', async () => {
  const first = 'gen_ai.client.inference.time_to_first_chunk';
  expect(await (await measuredRun()).measured(first)).toEqual([]);
  const streamed = await (await measuredRun({}, { streaming: true })).measured(first);
  expect(streamed).toMatchObject([
    { attributes: { 'gen_ai.request.model': 'scripted' }, value: { count: 2 }, unit: 's' },
  ]);
  expect(Reflect.get(Object(streamed[0]?.value), 'sum')).toBeCloseTo(0.08);
});

test('metrics have the names of an older version of the conventions where that is asked for', async () => {
  const app = await measuredRun({ semconv: 'v1.36' }, { streaming: true });
  const took = await app.measured('gen_ai.client.operation.duration');
  expect(
    took.map(({ attributes, value }) => [attributes['gen_ai.operation.name'], (value as { count: number }).count]),
  ).toEqual([
    ['chat', 2],
    ['execute_tool', 1],
    ['invoke_agent', 1],
  ]);
  const spent = await app.measured('gen_ai.client.token.usage');
  expect(
    spent.map(({ attributes, value }) => [attributes['gen_ai.token.type'], (value as { sum: number }).sum]),
  ).toEqual([
    ['input', 80],
    ['output', 14],
  ]);
  for (const name of [
    'client.inference.duration',
    'client.inference.time_to_first_chunk',
    'client.inference.usage.input_tokens',
    'execute_tool.duration',
    'invoke_agent.tool_calls',
  ])
    expect(await app.measured(`gen_ai.${name}`)).toEqual([]);
  expect(() => Reflect.apply(openTelemetry, undefined, [{ semconv: 'v1.35' }])).toThrow(/'semconv'.*'v1\.36'/);
});

test.each([
  ['ollama:qwen2.5:7b', 'ollama', 'qwen2.5:7b'],
  ['claude:claude-sonnet-5', 'anthropic', 'claude-sonnet-5'],
  ['gemini:gemini-3-pro', 'gcp.gemini', 'gemini-3-pro'],
  ['google.generative-ai:gemini-3', 'gcp.gemini', 'gemini-3'],
  ['anthropic.messages:claude-sonnet-5', 'anthropic', 'claude-sonnet-5'],
  ['localhost:8000:qwen3:8b', 'openai', 'qwen3:8b', { 'server.address': 'localhost', 'server.port': 8000 }],
  ['models.example.com:gpt-9', 'openai', 'gpt-9', { 'server.address': 'models.example.com' }],
  ['[::1]:8000:qwen3', 'openai', 'qwen3', { 'server.address': '[::1]', 'server.port': 8000 }],
  ['https://models.example/v1', 'openai', 'https://models.example/v1'],
  ['qwen2.5:7b', 'openai', 'qwen2.5:7b'],
  ['my-model', 'openai', 'my-model'],
])('the model %s is one of %s', async (id, provider, name, more: object = {}) => {
  const app = program();
  const model = { ...scriptedModel(['Hello.']), id };
  await createAgent({ model, silent: true, telemetry: app.telemetry }).run('Hi');
  expect(app.span(`chat ${name}`).attributes).toMatchObject({
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': name,
    'gen_ai.response.model': name,
    ...more,
  });
});

test('one conversation is named by its id, in every span', async () => {
  const app = program();
  const agent = createAgent({
    model: scriptedModel(['Hello.']),
    silent: true,
    journal: memoryJournal(),
    telemetry: app.telemetry,
  });
  await agent.conversation('user-17').run('Hi');
  for (const { attributes } of app.spans()) expect(attributes).toMatchObject({ 'gen_ai.conversation.id': 'user-17' });
  expect(app.spans()).toHaveLength(2);
});

test.each(['follow', 'begin', 'run', 'run later', 'a promise', 'end', 'end of the run'])(
  'telemetry that fails in %s changes nothing',
  async (where) => {
    const fails = (at: string) => {
      if (at === where) throw new Error('the collector is gone');
    };
    const look = fakeTool('look', ['seen']);
    const agent = createAgent({
      model: scriptedModel([calls(['look']), 'Done.']),
      tools: [look],
      silent: true,
      telemetry: {
        follow: () => {
          fails('follow');
          return {
            begin: () => {
              fails('begin');
              return {
                run: (work) => {
                  fails('run');
                  const given = work();
                  fails('run later');
                  void Promise.resolve(given).catch(() => undefined);
                  if (where === 'a promise') return Promise.reject(new Error('the collector is gone')) as never;
                  return given;
                },
                end: () => fails('end'),
              };
            },
            end: () => fails('end of the run'),
          };
        },
      },
    });
    expect(await agent.run('Go')).toMatchObject({ success: true, result: 'Done.' });
    expect(look.calls).toHaveLength(1);
  },
);

test('a run that cannot begin is a span, too, and one that waits to begin has waited', async () => {
  const app = program();
  const list = () => new Promise<never>((_, reject) => setTimeout(() => reject(new Error('no such disk')), 40));
  const journal = { ...memoryJournal(), list };
  const agent = createAgent({ model: scriptedModel(['Done.']), journal, silent: true, telemetry: app.telemetry });
  expect(await agent.conversation('c').run('Go')).toMatchObject({ success: false });
  expect(app.tree()).toEqual(['invoke_agent agent']);
  const { startTime, endTime, status } = app.span('invoke_agent agent');
  expect(ms(endTime) - ms(startTime)).toBeGreaterThanOrEqual(35);
  expect(status.code).toBe(SpanStatusCode.ERROR);
});

test('what your own code traces beside the calls lies in the run', async () => {
  const app = program();
  const agent = createAgent({
    model: scriptedModel(['Done.']),
    instructions: () => within(app, 'read the rules', () => 'Be kind.'),
    silent: true,
    telemetry: app.telemetry,
  });
  await agent.run('Go');
  expect(app.tree()).toEqual(['invoke_agent agent', '  read the rules', '  chat scripted']);
});

test('a simulation reports nothing', async () => {
  const app = program();
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const found = await simulate((options) => createAgent({ tools: [look], telemetry: app.telemetry, ...options }), {
    task: 'Look.',
    seeds: 3,
  });
  expect(found).toMatchObject({ ok: true, runs: 3 });
  expect(app.spans()).toEqual([]);
});

test('wrong telemetry is refused by name', () => {
  // @ts-expect-error: it has no method `follow`.
  expect(() => createAgent({ model: scriptedModel([]), telemetry: {} })).toThrow(/option 'telemetry'.*openTelemetry/s);
});
