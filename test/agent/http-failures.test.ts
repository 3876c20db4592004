import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { recover } from '../../src/recovery/recover.ts';
import { tool } from '../../src/tools/tool.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';
import { steadyTime } from '../support/steady-time.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';

/** The waits of a run, in milliseconds. */
const pausesOf = (recording: string): readonly number[] =>
  recording
    .split('\n')
    .flatMap((line) => [...line.matchAll(/"name":"timer".*"ms":(\d+)/g)].map(([, ms]) => Number(ms)));

const look = () => fakeTool('look', [{ found: 'tea' }]);

overEachTransport(() => {
  describe('over real HTTP, failures', () => {
    const broken: Scripted = { status: 503, body: { error: { message: 'overloaded' } } };

    test('half a character, as cutting leaves it, is sent as a whole one: servers refuse it', async () => {
      const half = '\ud83d';
      const tools = [
        fakeTool('look', ['😀'.repeat(99)]),
        tool({ name: 'listen', description: half, execute: () => 'rain' }),
      ];
      const called = { toolCalls: [{ name: 'look', arguments: { at: half } }] };
      const server = await startModelServer([called, 'Hi.']);
      onTestFinished(server.close);
      const model = modelAt({ baseURL: server.baseURL, model: 'm', apiKey: 'none', images: true });
      const agent = createAgent({ model, silent: true, tools, instructions: half, maxToolResultChars: 50 });
      const picture = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const;
      await agent.run([{ type: 'text', text: `Look ${half}` }, picture]).orThrow();
      expect(server.requests).toHaveLength(2);
      for (const { text } of server.requests) {
        expect(text).not.toMatch(/(?<!\\)\\ud[89a-f]/);
        expect(text.match(/\ufffd/g)?.length).toBeGreaterThanOrEqual(3);
      }
      expect(server.requests[1]?.text).toMatch(/\ufffd\\n… \[\d+ characters cut out here\] …\\n\ufffd?😀/u);
    });

    test('white space before a call, which some models write and others refuse, is no text', async () => {
      const called = { content: '\n\n', toolCalls: [{ name: 'look', arguments: {} }] };
      const { agent, server } = await agentOn([called, 'Hi.'], { tools: [look()] });
      const { messages } = await agent.run('Hello');
      expect(messages[1]?.content).toBe('\n\n');
      expect(server.requests[1]?.body.messages).toContainEqual(
        expect.objectContaining({ role: 'assistant', content: null }),
      );
    });

    test('a tool that is not described has its name for a description: some servers refuse an empty one', async () => {
      const { agent, server } = await agentOn(['Hi.'], { tools: [fakeTool('peek', ['x'], { description: ' ' })] });
      await agent.run('Hello').orThrow();
      expect(server.requests[0]?.text).toContain('"name":"peek","description":"peek"');
    });

    test('Retry-After is waited for', async () => {
      const refused = { status: 429, headers: { 'retry-after-ms': '120', 'retry-after': '0.12' }, body: {} };
      const { agent } = await agentOn([refused, 'Hi.']);
      const run = agent.run('Hello');
      const types = (await eventsOf(run)).map(({ type }) => type);
      expect(run.recording()).toMatch(/"name":"timer".*"ms":120/);
      expect(types.filter((type) => type === 'model.retrying')).toHaveLength(1);
      expect(await run).toMatchObject({ status: 'answered', stepsTaken: 1 });
    });

    test('after 503 or 429 without Retry-After about a second goes by, then two', async () => {
      // Beside each other: most of it is waiting.
      const pauses = [503, 429].map(async (status) => {
        const busy = { status, body: { error: { message: 'busy' } } };
        const { agent, server } = await agentOn([busy, busy, 'Hi.'], { retry: { maxAttempts: 3 } });
        const run = agent.run('Hello');
        expect(await run).toMatchObject({ status: 'answered', result: 'Hi.' });
        expect(server.requests).toHaveLength(3);
        return pausesOf(run.recording());
      });
      for (const [first = 0, second = 0] of await Promise.all(pauses)) {
        expect(first).toBeGreaterThanOrEqual(750);
        expect(first).toBeLessThanOrEqual(1000);
        expect(second).toBeGreaterThanOrEqual(1500);
        expect(second).toBeLessThanOrEqual(2000);
      }
    });

    test('other failures, a Retry-After, and a backoff of the user’s own are waited for as before', async () => {
      const asks = { status: 503, headers: { 'retry-after-ms': '3' }, body: {} };
      const cutOff = { status: 200, body: 'no reply' };
      const first = await agentOn([asks, 'Hi.'], { retry: {} });
      const second = await agentOn([cutOff, 'Hi.'], { retry: {} });
      const third = await agentOn([broken, 'Hi.']);
      const pauses = [];
      for (const { agent } of [first, second, third]) {
        const run = agent.run('Hello');
        expect(await run).toMatchObject({ status: 'answered' });
        pauses.push(...pausesOf(run.recording()));
      }
      expect(pauses).toEqual([expect.any(Number), expect.any(Number), 1]);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(250);
    });

    test('a wait never takes what totalMs leaves: the second attempt is made in time', async () => {
      steadyTime();
      const { agent, server } = await agentOn([broken, 'Hi.'], { retry: {}, timeouts: { totalMs: 600 } });
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.' });
      expect(server.requests).toHaveLength(2);
    });

    test('two attempts, then the run fails with the message of the last one', async () => {
      const { server, agent } = await agentOn([broken, { status: 500, body: { error: { message: 'on fire' } } }]);
      const result = await agent.run('Hello');
      expect(result).toMatchObject({ status: 'failed', reason: 'llm-error', success: false, stepsTaken: 1 });
      expect(result.result).toBe(`Unable to complete task due to LLM error: ${result.error?.message}`);
      expect(result.error?.message).toContain('on fire');
      expect(server.requests).toHaveLength(2);
      expect(server.unexpected).toEqual([]);
    });

    test.each([
      [
        413,
        '<html><h1>413 Request Entity Too Large</h1></html>',
        'larger than the server, or a proxy before it, accepts',
      ],
      [400, { error: { message: 'no', code: 'context_length_exceeded' } }, "longer than the context of 'm'"],
    ])(
      'what is too large for a proxy is not said to be too long for the model (HTTP %i)',
      async (status, body, said) => {
        const server = await startModelServer([{ status, body }]);
        onTestFinished(server.close);
        const model = modelAt({ baseURL: server.baseURL, model: 'm', apiKey: 'none', images: true });
        const picture = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const;
        const { error } = await createAgent({ model, silent: true }).run([{ type: 'text', text: 'Look.' }, picture]);
        expect([error?.code, server.requests.length]).toEqual(['context-overflow', 1]);
        expect(error?.message).toContain(said);
        expect(error?.message).not.toContain('html');
      },
    );

    test('maxAttempts is counted per turn', async () => {
      const call = { toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };
      const { server, agent } = await agentOn([broken, broken, call, broken, broken, 'Hi.'], {
        tools: [look()],
        retry: { maxAttempts: 3, backoff: recover.constant(0) },
      });
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered', stepsTaken: 2 });
      expect(server.requests).toHaveLength(6);
    });

    test.each([
      ['a wrong key', { status: 401, body: { error: { message: 'bad key' } } }, 'auth'],
      [
        'an exhausted quota',
        { status: 429, body: { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } } },
        'quota-exhausted',
      ],
      // LiteLLM's, with 400 or 429 by its version.
      [
        'a budget of a proxy that is spent',
        { status: 400, body: { error: { message: 'Over', type: 'budget_exceeded', param: null, code: '400' } } },
        'quota-exhausted',
      ],
      [
        'a budget of a newer proxy that is spent',
        { status: 429, body: { error: { message: 'Over', type: 'budget_exceeded', param: null, code: '429' } } },
        'quota-exhausted',
      ],
      [
        'a key of a proxy that has expired',
        { status: 400, body: { error: { message: 'Expired', type: 'expired_key', param: 'sk-...1234', code: '400' } } },
        'auth',
      ],
      [
        'an unknown model',
        { status: 404, body: { error: { message: 'no such model', code: 'model_not_found' } } },
        'model-not-found',
      ],
    ])('%s is not asked again and has a code', async (_what, answer, code) => {
      const { server, agent } = await agentOn([answer, 'Hi.']);
      expect(await agent.run('Hello')).toMatchObject({ reason: 'llm-error', error: { code, step: 1 } });
      expect(server.requests).toHaveLength(1);
    });

    test('retryable decides over the kind of the error', async () => {
      const seen: unknown[] = [];
      const { agent, server } = await agentOn([{ status: 401, body: {} }, 'Hi.'], {
        retry: { backoff: recover.constant(0), retryable: (error) => (seen.push(error), true) },
      });
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered' });
      expect(seen).toHaveLength(1);
      expect(server.requests).toHaveLength(2);
    });

    test('a model that is silent for responseMs has timed out', async () => {
      const { agent } = await agentOn([{ hang: true }, { hang: true }], { timeouts: { responseMs: 40 } });
      expect(await agent.run('Hello')).toMatchObject({ reason: 'llm-error', error: { code: 'timeout' } });
    });

    test('an endpoint that is not there is an error with a code, and no crash', async () => {
      const { server, agent } = await agentOn([]);
      await server.close();
      expect(await agent.run('Hello')).toMatchObject({
        status: 'failed',
        reason: 'llm-error',
        error: { code: 'connect-failed' },
      });
    });

    test("a server that could not parse its model's call is a malformed reply, not an outage", async () => {
      const answer = {
        status: 500,
        body: { error: { code: 500, message: 'Failed to parse tool call arguments as JSON', type: 'server_error' } },
      };
      const { agent } = await agentOn([answer, 'Hi.'], { tools: [look()], retry: { maxAttempts: 1 } });
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered', result: 'Hi.', stepsTaken: 2 });
    });

    test('a signal that is aborted already gives cancelled, and nothing is asked of the server', async () => {
      const { server, agent } = await agentOn(['Hi.']);
      expect(await agent.run('Hello', { signal: AbortSignal.abort() })).toMatchObject({ status: 'cancelled' });
      expect(server.requests).toEqual([]);
      expect(server.otherPaths).toEqual([]);
      expect(await agent.run('Hello')).toMatchObject({ status: 'answered' });
    });
  });
});
