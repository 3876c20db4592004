import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fromAiSdk } from '../../src/models/ai-sdk/from-ai-sdk.ts';
import type { ChatModelOptions } from '../../src/models/endpoint/endpoint.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';
import { steadyTime } from '../support/steady-time.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';
import { eventsOf } from './agent-on-server.ts';

type Facts = Omit<ChatModelOptions, 'baseURL'>;

/** Two servers with a script each, and an agent that asks the first one first. */
async function twoServers(
  scripts: readonly [readonly Scripted[], readonly Scripted[]],
  options: AgentOptions = {},
  facts: readonly [Facts, Facts] = [{}, {}],
) {
  const [first, second] = await Promise.all([
    startModelServer(scripts[0], { models: ['one'] }),
    startModelServer(scripts[1], { models: ['two'] }),
  ]);
  onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
  const model = [
    modelAt({ baseURL: first.baseURL, model: 'one', apiKey: 'none', ...facts[0] }),
    modelAt({ baseURL: second.baseURL, model: 'two', apiKey: 'none', ...facts[1] }),
  ];
  const agent = createAgent({
    model,
    silent: true,
    minContextSize: 0,
    retry: { backoff: recover.constant(1) },
    ...options,
  });
  onTestFinished(() => agent.close());
  return { first, second, agent };
}

const error = (status: number, code?: string): Scripted => ({
  status,
  body: { error: { message: 'no', ...(code === undefined ? {} : { code }) } },
});

/** A stream that says this and then something else than more of it. */
const broken = (rest: string): Scripted => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  pieces: [`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'The answer is' } }] })}\n\n`, rest],
});

overEachTransport(() => {
  describe('over real HTTP, the second server answers', () => {
    test.each<readonly [string, Scripted]>([
      ['429', error(429)],
      ['429 with a pause that is too long to wait for', { status: 429, headers: { 'retry-after': '600' }, body: {} }],
      ['an exhausted quota', error(429, 'insufficient_quota')],
      ['500', error(500)],
      ['503', error(503)],
      ['an unknown model', error(404, 'model_not_found')],
      ['a body that is no reply', { status: 200, body: 'hello' }],
      ['a socket that is closed', { closeSocket: true }],
      ['silence', { hang: true }],
    ])('after %s', async (_what, answer) => {
      steadyTime();
      const { first, second, agent } = await twoServers([[answer], ['Hi.']], { timeouts: { responseMs: 400 } });
      const run = agent.run('Hello');
      expect(await run).toMatchObject({ status: 'answered', result: 'Hi.' });
      expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
      expect(second.requests[0]?.body.model).toBe('two');
      const played = replay(run.recording(), agent);
      expect((await played).result).toBe('Hi.');
      expect(played.transitions()).toEqual(run.transitions());
    });

    test.each<readonly [string, Scripted]>([
      ['400', error(400)],
      ['401', error(401)],
      ['403', error(403)],
      ['a content filter', error(400, 'content_filter')],
      ['a wrong address', { status: 404, body: 'Not Found' }],
      ['a refusal', { content: '', refusal: 'I will not.' }],
    ])('but not after %s', async (_what, answer) => {
      const { first, second, agent } = await twoServers([[answer], ['Hi.']]);
      expect(await agent.run('Hello')).toMatchObject({ status: 'failed' });
      expect(second.requests).toEqual([]);
      expect(first.requests).toHaveLength(1);
    });

    test('where the first one is not there at all', async () => {
      const { first, agent } = await twoServers([[], ['Hi.']]);
      await first.close();
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
    });

    test.each<readonly [string, Scripted]>([
      ['an error event', broken('data: {"error":{"message":"overloaded","type":"server_error"}}\n\n')],
      ['an error event that names a 400', broken('data: {"error":{"message":"no","code":400}}\n\n')],
      ['a stream that is cut', { content: 'The answer is not this one.', breakOffAfter: 2 }],
      ['a stream that goes silent', { content: 'The answer is not this one.', stallAfter: 2 }],
    ])('after %s, and what was streamed is void', async (_what, answer) => {
      steadyTime();
      const options = { streaming: true, timeouts: { responseMs: 400 } };
      const { agent } = await twoServers([[answer], ['Hi there.']], options);
      const events = await eventsOf(agent.run('Hello'));
      const tokens = events.filter((event) => event.type === 'model.token');
      expect(
        tokens
          .filter(({ attempt }) => attempt === 1)
          .map(({ text }) => text)
          .join(''),
      ).toMatch(/^The/);
      expect(
        tokens
          .filter(({ attempt }) => attempt === 2)
          .map(({ text }) => text)
          .join(''),
      ).toBe('Hi there.');
      expect(tokens.at(-1)?.answer).toBe('Hi there.');
      const kinds = events.map((event) => (event.type === 'model.token' ? `token ${event.attempt}` : event.type));
      expect(kinds.indexOf('model.retrying')).toBeGreaterThan(kinds.lastIndexOf('token 1'));
      expect(kinds.indexOf('token 2')).toBeGreaterThan(kinds.indexOf('model.retrying'));
    });

    test('but not after an error event that names a 400 before anything else was streamed, or a filter after it', async () => {
      const refused = { status: 200, headers: { 'content-type': 'text/event-stream' } };
      const early = { ...refused, pieces: ['data: {"error":{"message":"no","code":400}}\n\n'] };
      const filtered = broken('data: {"error":{"message":"no","code":"content_filter"}}\n\n');
      for (const answer of [early, filtered]) {
        const { second, agent } = await twoServers([[answer, answer, answer], ['Hi.']], { streaming: true });
        expect(await agent.run('Hello')).toMatchObject({ status: 'failed' });
        expect(second.requests).toEqual([]);
      }
    });

    test('after tools have run, which are not run again, and its own server is told what they said', async () => {
      const call = { toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };
      const look = fakeTool('look', [{ found: 'tea' }]);
      const { second, agent } = await twoServers([[call, error(500)], ['Tea.']], { tools: [look] });
      expect(await agent.run('Look.')).toMatchObject({ result: 'Tea.' });
      expect(look.calls).toHaveLength(1);
      expect(second.requests[0]?.text).toContain('tea');
    });

    test('without tools where it takes none, and the first one still gets them', async () => {
      const noTools = error(400, 'tools_not_supported');
      const envelope = '{"thought": "", "tool": "look", "tool_args": {}}';
      const { first, second, agent } = await twoServers(
        [
          [error(503), 'Tea.'],
          [noTools, envelope],
        ],
        {
          tools: [fakeTool('look', [{ found: 'tea' }])],
        },
      );
      expect(await agent.run('Look.')).toMatchObject({ result: 'Tea.', stepsTaken: 2 });
      expect(second.requests.map(({ body }) => body.tools !== undefined)).toEqual([true, false]);
      expect(first.requests.map(({ body }) => body.tools !== undefined)).toEqual([true, true]);
    });

    test('where the conversation is too long for the first one, and it is known to take more', async () => {
      const tooLong = error(400, 'context_length_exceeded');
      const facts = [{ contextSize: 4000 }, { contextSize: 8000 }] as const;
      const { first, second, agent } = await twoServers([[tooLong], ['Hi.']], {}, facts);
      expect(await agent.run('Hello')).toMatchObject({ result: 'Hi.' });
      expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
      const unknown = await twoServers([[tooLong], ['Hi.']]);
      expect(await unknown.agent.run('Hello')).toMatchObject({ error: { code: 'context-overflow' } });
      expect(unknown.second.requests).toEqual([]);
    });
  });
});

test('a context counts as known once the server has said how large it is', async () => {
  const tooLong = error(400, 'context_length_exceeded');
  const list = (size: number) => ({ pages: { '/v1/models': { data: [{ id: 'm', max_model_len: size }] } } });
  const [first, second] = await Promise.all([
    startModelServer(['Hi.', tooLong], list(4000)),
    startModelServer(['Long.'], list(9000)),
  ]);
  onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
  const model = [first, second].map(({ baseURL }) => modelAt({ baseURL, model: 'm', apiKey: 'none' }));
  const agent = createAgent({ model, silent: true, minContextSize: 5000 });
  expect((await agent.run('Hello')).result).toBe('Hi.');
  await expect.poll(() => model.map(({ contextSize }) => contextSize)).toEqual([4000, 9000]);
  const events = await eventsOf(agent.run('Something long'));
  expect(events.at(-1)).toMatchObject({ result: { result: 'Long.' } });
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toEqual([expect.stringContaining('4000 tokens')]);
});

test('reasoning of one model is not sent to another, and goes back to its own', async () => {
  const call = { reasoning: 'I think of tea.', toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };
  const { first, second, agent } = await twoServers(
    [[call, error(500), 'Done.'], [{ toolCalls: [{ id: 'b', name: 'look', arguments: {} }] }]],
    { tools: [fakeTool('look', [{ found: 'tea' }, { found: 'milk' }])] },
    [{ sendReasoning: true }, { sendReasoning: true }],
  );
  expect(await agent.run('Look.')).toMatchObject({ result: 'Done.' });
  expect(second.requests[0]?.text).not.toContain('I think of tea.');
  expect(first.requests[2]?.text).toContain('I think of tea.');
});

test('models of the AI SDK and of chatModel stand in one list', async () => {
  const [first, second] = await Promise.all([startModelServer([error(503)]), startModelServer(['Hi.'])]);
  onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
  const sdk = createOpenAICompatible({ name: 'local', baseURL: first.baseURL })('one');
  const agent = createAgent({
    model: [fromAiSdk(sdk), modelAt({ baseURL: second.baseURL, model: 'two' })],
    silent: true,
  });
  const events = await eventsOf(agent.run('Hello'));
  expect(events.find(({ type }) => type === 'model.replied')).toMatchObject({ model: expect.stringMatching(/:two$/) });
  expect(first.requests).toHaveLength(1);
});
