import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { chatModel } from '../../src/models/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';

const stream = (...payloads: readonly unknown[]) => payloads.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
const piece = (delta: unknown, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const overloaded = JSON.stringify({ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }, null, 2);

async function runAt(first: string) {
  const script: readonly Scripted[] = [{ status: 200, body: first }, 'Done.'];
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const inputSchema = { type: 'object', properties: { where: { type: 'string' } }, required: ['where'] };
  const look = fakeTool('look', ['seen'], { inputSchema });
  const model = chatModel({ baseURL: server.baseURL, model: 'm' });
  const options = { streaming: true, silent: true, retry: { backoff: recover.constant(1) } };
  const run = createAgent({ ...options, model, tools: [look] }).run('Go');
  const retried: string[] = [];
  for await (const event of run) if (event.type === 'model.retrying') retried.push(event.error.code);
  return { result: await run, calls: look.calls, retried };
}

test.each([
  ['Gemini says so in lines of its own', `${stream(piece({ content: 'Ok' }), piece({}, 'stop'))}${overloaded}\n`],
  [
    'Groq says so in a field',
    `${stream(piece({ content: 'Ok' }), { ...piece({}), x_groq: { error: 'over capacity' } })}data: [DONE]\n\n`,
  ],
])('half a reply is no answer where %s: it is asked again', async (_how, first) => {
  const { result, retried } = await runAt(first);
  expect(retried).toEqual(['server-error']);
  expect(result).toMatchObject({ status: 'answered', result: 'Done.' });
});

const called = { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"where":"here"}' } };
const begun = { ...called, function: { name: 'look', arguments: '{}' } };
const rest = { index: 0, function: { arguments: '{"where":"here"}' } };

test.each([
  [
    'Copilot puts them into a choice of their own',
    stream({
      choices: [{ delta: { content: 'I look.' } }, { delta: { tool_calls: [called] }, finish_reason: 'tool_calls' }],
    }),
  ],
  [
    'a gateway begins them with {}',
    stream(piece({ tool_calls: [begun] }), piece({ tool_calls: [rest] }), piece({}, 'tool_calls')),
  ],
])('calls are made where %s', async (_how, first) => {
  const { result, calls, retried } = await runAt(first);
  expect(calls).toEqual([{ where: 'here' }]);
  expect(result).toMatchObject({ status: 'answered', result: 'Done.', stepsTaken: 2 });
  expect(retried).toEqual([]);
});

/** Clears one folder, or all where none is named, at a server that sends a call of it and then answers. */
async function clearedAfter(call: object, end: string, streaming: boolean) {
  const toolCalls = { tool_calls: [call] };
  const whole = { choices: [{ index: 0, message: toolCalls, finish_reason: end }] };
  const body = streaming ? stream(piece(toolCalls), piece({}, end)) : JSON.stringify(whole);
  const server = await startModelServer([{ status: 200, body }, 'Done.']);
  onTestFinished(() => server.close());
  const inputSchema = { type: 'object', properties: { folder: { type: 'string' } } };
  const clear = fakeTool('clear', ['cleared'], { inputSchema });
  const model = chatModel({ baseURL: server.baseURL, model: 'm' });
  const result = await createAgent({ model, tools: [clear], streaming, silent: true }).run('Go');
  return { result, cleared: clear.calls, told: server.requests[1]?.text ?? '' };
}

const clearing = (args: unknown, name = 'clear') => ({
  index: 0,
  id: 'a',
  type: 'function',
  function: { name, arguments: args },
});

describe.each([true, false])('streaming: %s', (streaming) => {
  test.each(['', '{}', {}, null])(
    'a call that the limit cuts off before its arguments (%j) does not run',
    async (args) => {
      const { result, cleared, told } = await clearedAfter(clearing(args), 'length', streaming);
      expect(cleared).toEqual([]);
      expect(told).toContain('cut off');
      expect(result).toMatchObject({ status: 'answered', result: 'Done.' });
    },
  );

  test.each<readonly [unknown, string, object]>([
    ['', 'tool_calls', {}],
    ['{}', 'tool_calls', {}],
    ['{"folder":"tmp"}', 'length', { folder: 'tmp' }],
  ])('a call that is whole (%j, %s) runs', async (args, end, expected) => {
    expect((await clearedAfter(clearing(args), end, streaming)).cleared).toEqual([expected]);
  });

  test.each([[['tmp']], 5, true])('arguments that are no object (%j) are not left out', async (args) => {
    const { cleared, told } = await clearedAfter(clearing(args), 'tool_calls', streaming);
    expect(cleared).toEqual([]);
    expect(told).toContain('Invalid arguments');
  });
});

test('of two calls only the last can be cut off', async () => {
  const calls = [clearing('{}'), { ...clearing(''), index: 1, id: 'b' }];
  const server = await startModelServer([
    { status: 200, body: stream(piece({ tool_calls: calls }), piece({}, 'length')) },
    'Done.',
  ]);
  onTestFinished(() => server.close());
  const clear = fakeTool('clear', ['cleared']);
  const model = chatModel({ baseURL: server.baseURL, model: 'm' });
  await createAgent({ model, tools: [clear], streaming: true, silent: true }).run('Go');
  expect(clear.calls).toEqual([{}]);
});
