import { describe, expect, test } from 'vitest';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { tool } from '../../src/tools/tool.ts';
import type { Scripted } from '../support/model-server.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';
import { overEachTransport } from '../support/transports.ts';

const look = () => fakeTool('look', [{ found: 'tea' }]);

overEachTransport(() => {
  describe('over real HTTP, native tool calls', () => {
    test('an agent without instructions sends no system message: some servers refuse an empty one', async () => {
      const script: Scripted[] = [{ toolCalls: [{ id: 'a', name: 'look', arguments: {} }] }, 'Tea.', 'More.'];
      const { server, agent } = await agentOn(script, { tools: [look()] });
      await agent.run('What is there?');
      agent.configure({ instructions: 'Be brief.' });
      await agent.run('And?');
      const sent = server.requests.map(({ body }) => body?.messages.map(({ role }) => role));
      expect(sent).toEqual([
        ['user'],
        ['user', 'assistant', 'tool'],
        ['system', 'user', 'assistant', 'tool', 'assistant', 'user'],
      ]);
    });

    test('the conversation goes out with one system message, text beside calls, one tool message a call in call order', async () => {
      const { server, agent } = await agentOn(
        [
          {
            content: 'Let me look.',
            toolCalls: [
              { id: 'b', name: 'look', arguments: { n: 1 } },
              { id: 'a', name: 'look', arguments: { n: 2 } },
            ],
          },
          'Tea.',
        ],
        { tools: [look()], instructions: 'You know tea.' },
      );
      const result = await agent.run('What is there?');
      expect(result).toMatchObject({ status: 'answered', result: 'Tea.', stepsTaken: 2, toolsUsed: ['look'] });
      const sum = { inputTokens: 24, outputTokens: 14, totalTokens: 38 };
      expect(result.usage).toEqual({ ...sum, byModel: { [`127.0.0.1:${server.port}:scripted`]: sum } });
      const [first, second] = server.requests.map(({ body }) => body);
      expect(first?.tools?.map((offered) => offered.function.name)).toEqual(['look', 'make_plan']);
      expect(first?.messages).toEqual([
        { role: 'system', content: 'You know tea.' },
        { role: 'user', content: 'What is there?' },
      ]);
      expect(second?.messages.slice(0, 2)).toEqual(first?.messages);
      expect(second?.messages.slice(2)).toEqual([
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [
            { id: 'b', type: 'function', function: { name: 'look', arguments: '{"n":1}' } },
            { id: 'a', type: 'function', function: { name: 'look', arguments: '{"n":2}' } },
          ],
        },
        expect.objectContaining({ role: 'tool', tool_call_id: 'b' }),
        expect.objectContaining({ role: 'tool', tool_call_id: 'a' }),
      ]);
    });

    test('calls of one turn run side by side, and their results stand in call order', async () => {
      const inside: string[] = [];
      const both = Promise.withResolvers<void>();
      const meet = tool({
        name: 'meet',
        description: 'Waits for the other call.',
        inputSchema: { type: 'object', properties: { who: { type: 'string' } } },
        execute: async ({ who }) => {
          inside.push(String(who));
          if (inside.length === 2) both.resolve();
          await both.promise;
          // The later call ends first, so that only call order can put the earlier one before it.
          if (who === 'first') await new Promise((resolve) => setTimeout(resolve, 15));
          return who;
        },
      });
      const toolCalls = ['first', 'second'].map((who) => ({ id: who, name: 'meet', arguments: { who } }));
      const { server, agent } = await agentOn([{ toolCalls }, 'Met.'], { tools: [meet] });
      const run = agent.run('Meet');
      const finished = (await eventsOf(run)).flatMap((event) => (event.type === 'tool.finished' ? [event.callId] : []));
      expect(await run).toMatchObject({ status: 'answered' });
      expect(finished).toEqual(['c2', 'c1']);
      const results = server.requests[1]?.body.messages.filter(({ role }) => role === 'tool');
      expect(results?.map(({ tool_call_id: id }) => id)).toEqual(['first', 'second']);
    });

    test('with parallelToolCalls off, one call runs after the other and the server is told', async () => {
      let running = 0;
      let most = 0;
      const busy = fakeTool('busy', [
        async () => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 2));
          running--;
          return null;
        },
      ]);
      const toolCalls = [1, 2, 3].map((n) => ({ id: `i${n}`, name: 'busy', arguments: { n } }));
      const { server, agent } = await agentOn([{ toolCalls }, 'Done.'], { tools: [busy], parallelToolCalls: false });
      expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
      expect(busy.calls.map(({ n }) => n)).toEqual([1, 2, 3]);
      expect(most).toBe(1);
      expect(server.requests[0]?.body['parallel_tool_calls']).toBe(false);
    });

    test('ids that the model repeats in each turn never make two results for one call', async () => {
      const again = { toolCalls: [{ id: 'call_0', name: 'look', arguments: {} }] };
      const other = { toolCalls: [{ id: 'call_0', name: 'look', arguments: { n: 2 } }] };
      const twice = {
        toolCalls: [
          { id: 'call_0', name: 'look', arguments: { n: 3 } },
          { id: 'call_0', name: 'look', arguments: { n: 4 } },
        ],
      };
      const { server, agent } = await agentOn([again, other, twice, 'One.', again, 'Two.'], { tools: [look()] });
      await agent.run('First');
      expect(await agent.run('Second')).toMatchObject({ status: 'answered', result: 'Two.' });
      const sent = server.requests.at(-1)?.body.messages ?? [];
      const asked = sent.flatMap(({ tool_calls: list }) => list ?? []).map((call) => Reflect.get(Object(call), 'id'));
      const answered = sent.flatMap(({ role, tool_call_id: id }) => (role === 'tool' ? [id] : []));
      expect(asked).toHaveLength(5);
      expect(new Set(asked).size).toBe(5);
      expect(answered).toEqual(asked);
    });

    test('a reply in the form of the envelope is understood in native mode too', async () => {
      const { server, agent } = await agentOn(
        ['{"thought": "look first", "tool": "look", "tool_args": {"n": 1}}', '{"thought": "seen", "answer": "Tea."}'],
        { tools: [look()] },
      );
      expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'Tea.', toolsUsed: ['look'] });
      expect(String(server.requests[1]?.body.messages.at(-1)?.content)).toMatch(/^\[Result from look\]: /);
    });

    test('arguments that are empty, absent or null mean an empty object', async () => {
      const tools = [look()];
      const toolCalls = [
        { id: 'a', name: 'look', arguments: '' },
        { id: 'b', name: 'look' },
        { id: 'c', name: 'look', arguments: ' null' },
        { id: 'd', name: 'look', arguments: '"null"' },
      ];
      const { agent } = await agentOn([{ toolCalls }, 'Done.'], { tools, maxConsecutiveRepeats: 9 });
      expect(await agent.run('Go')).toMatchObject({ status: 'answered', errorHistory: [] });
      expect(tools[0]?.calls).toEqual([{}, {}, {}, {}]);
    });
  });

  describe('over real HTTP, json mode', () => {
    test('no tools and no tool calls are sent; a result is a user message', async () => {
      const { server, agent } = await agentOn(
        [
          '{"thought": "look", "tool": "look", "tool_args": {"n": 1}}',
          '{"answer": "Tea."}',
          '{"answer": "Still tea."}',
        ],
        { tools: [look()], toolCalling: 'json', instructions: 'You know tea.' },
      );
      const { messages } = await agent.run('Go');
      await agent.run('Again');
      for (const { body } of server.requests) {
        expect(body.tools).toBeUndefined();
        expect(body.messages.filter(({ role }) => role === 'system')).toHaveLength(1);
        expect(body.messages.every(({ tool_calls: list, role }) => list === undefined && role !== 'tool')).toBe(true);
        expect(String(body.messages[0]?.content)).toContain('look');
      }
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
      expect(messages.some((message) => 'toolCalls' in message)).toBe(false);
      expect(messages[2]?.content).toMatch(/^\[Result from look\]: .*"found":"tea"/);
      expect(server.requests[2]?.body.messages).toHaveLength(6);
    });

    test('a plan in the envelope runs step by step without a model turn between', async () => {
      const tools = [look()];
      const { server, agent } = await agentOn(
        [
          '{"thought": "plan", "plan": [{"tool": "look", "tool_args": {"n": 1}}, {"step": 2, "tool": "look", "args": {"what": "$PREV.found", "list": [{"deep": "$STEP_0.found"}]}}]}',
          '{"answer": "Done."}',
        ],
        { tools, toolCalling: 'json' },
      );
      expect(await agent.run('Go')).toMatchObject({ status: 'answered', stepsTaken: 4, planIterations: 1 });
      expect(tools[0]?.calls).toEqual([{ n: 1 }, { what: 'tea', list: [{ deep: 'tea' }] }]);
      expect(server.requests).toHaveLength(2);
    });
  });

  describe("over real HTTP, toolCalling 'auto'", () => {
    const refusal: Scripted = {
      status: 400,
      body: {
        error: { message: 'does not support tools', type: 'invalid_request_error', code: 'tools_not_supported' },
      },
    };
    const refuses: Scripted = ({ body }) => (body.tools === undefined ? '{"answer": "Tea."}' : refusal);

    test('a server that refuses tools is asked again with the envelope, not counted as an attempt', async () => {
      const { server, agent } = await agentOn([refuses, refuses, refuses], {
        tools: [look()],
        retry: { maxAttempts: 1 },
      });
      const run = agent.run('Go');
      const retries = (await eventsOf(run)).filter(({ type }) => type === 'model.retrying');
      expect(await run).toMatchObject({ status: 'answered', result: 'Tea.', stepsTaken: 1, errorHistory: [] });
      expect(retries).toEqual([]);
      expect(server.requests.map(({ body }) => body.tools === undefined)).toEqual([false, true]);
    });

    test('the run goes on in json mode, and the next run does not ask with tools again', async () => {
      const call: Scripted = ({ body }) => (body.tools === undefined ? '{"tool": "look", "tool_args": {}}' : refusal);
      const { server, agent } = await agentOn([call, call, refuses, refuses], { tools: [look()] });
      expect(await agent.run('Go')).toMatchObject({ status: 'answered', toolsUsed: ['look'] });
      await agent.run('Again');
      expect(server.requests.map(({ body }) => body.tools === undefined)).toEqual([false, true, true, true]);
    });
  });

  describe('over real HTTP, streaming', () => {
    test('pieces arrive as events while the reply is on its way, and add up to the reply', async () => {
      const { agent } = await agentOn(['The kettle is on the stove.'], { streaming: true });
      const events = await eventsOf(agent.run('Where?'));
      const tokens = events.flatMap((event) => (event.type === 'model.token' ? [event] : []));
      expect(tokens.map(({ text }) => text).join('')).toBe('The kettle is on the stove.');
      expect(tokens.length).toBeGreaterThan(2);
      expect(tokens.map(({ index }) => index)).toEqual(tokens.map((_, index) => index));
      expect(tokens.every(({ attempt, kind }) => attempt === 1 && kind === 'text')).toBe(true);
      const before = events.findIndex(({ type }) => type === 'model.token');
      expect(tokens.every(({ seq }) => seq === events[before - 1]?.seq)).toBe(true);
      expect(events.findIndex(({ type }) => type === 'model.replied')).toBeGreaterThan(before);
    });

    test('a stream that breaks off is asked again; the pieces of the second attempt say so', async () => {
      const { agent } = await agentOn([{ content: 'The kettle is', breakOffAfter: 2 }, 'On the stove.'], {
        streaming: true,
      });
      const run = agent.run('Where?');
      const tokens = (await eventsOf(run)).flatMap((event) => (event.type === 'model.token' ? [event] : []));
      expect(await run).toMatchObject({ status: 'answered', result: 'On the stove.' });
      expect(
        tokens
          .filter(({ attempt }) => attempt === 2)
          .map(({ text }) => text)
          .join(''),
      ).toBe('On the stove.');
    });

    test('cancelling in the middle of a stream really closes the socket', async () => {
      const { server, agent } = await agentOn([{ content: 'A long long story', stallAfter: 3 }], { streaming: true });
      const run = agent.run('Tell me');
      for await (const { type } of run) if (type === 'model.token') break;
      await run.cancel();
      await server.abandoned();
      expect(await run).toMatchObject({ status: 'cancelled', stepsTaken: 1 });
    });
  });
});
