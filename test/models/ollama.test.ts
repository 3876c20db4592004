import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { agentOn, eventsOf } from '../agent/agent-on-server.ts';
import { type Scripted, startModelServer } from '../support/model-server.ts';
import { modelAt, overEachTransport } from '../support/transports.ts';

/** Ollama's own error, which holds that of its runner as the runner wrote it. */
const refused = (status: number, message: string): Scripted => ({
  status,
  body: { error: { message, type: status === 400 ? 'invalid_request_error' : 'api_error', param: null, code: null } },
});
const ofRunner = (status: number, error: object) =>
  refused(status, JSON.stringify({ error: { code: status, ...error } }));

const overflow = ofRunner(400, {
  message: 'request (15565 tokens) exceeds the available context size (1024 tokens), try increasing it',
  type: 'exceed_context_size_error',
  n_prompt_tokens: 15565,
  n_ctx: 1024,
});
const looking = (id: string): Scripted => ({ toolCalls: [{ id, name: 'look', arguments: '{}' }] });
const tools = () => [fakeTool('look', ['x'.repeat(3000), 'a cat'])];

overEachTransport(() => {
  test('a conversation that is longer than the context of a model at Ollama is shortened', async () => {
    const { agent, server } = await agentOn([looking('a'), looking('b'), overflow, 'A cat.'], { tools: tools() });
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'A cat.' });
    expect(JSON.stringify(server.requests[3]?.body)).toContain('[shortened:');
  });

  test('a prompt that is too long at once says so, and is not taken for a model without tools', async () => {
    const { agent, server } = await agentOn([overflow], { tools: tools() });
    const { error } = await agent.run('Look.');
    expect(error).toMatchObject({ code: 'context-overflow' });
    expect(error?.message).toMatch(/The server said: request \(15565 tokens\) exceeds/);
    expect(server.requests).toHaveLength(1);
  });

  test('a tool call that its runner could not read is quoted to the model as it was written', async () => {
    const written = '<tool_call>{"name": "look", "arguments": {"at": "the \\"door\\""</tool_call>';
    const unread = ofRunner(500, { message: `Failed to parse input at pos 12: ${written}`, type: 'server_error' });
    const { agent, server } = await agentOn([unread, 'Sorry.'], { tools: tools() });
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'Sorry.' });
    expect(server.requests[1]?.body.messages).toContainEqual({ role: 'assistant', content: written });
  });

  test.each(['{"answer": 42}', '{"error": "no reason"}', '["error"]', 'null', '{"error": {"type": "exceed'])(
    'a message that holds no error of a runner stays what it is: %s',
    async (message) => {
      const { agent } = await agentOn([refused(400, message)]);
      const { error } = await agent.run('Hello');
      expect(error).toMatchObject({ code: 'bad-request' });
      expect(error?.message).toContain(`The server said: ${message}`);
    },
  );

  test('a model without tools is asked with the envelope, once for all', async () => {
    const body = refused(400, 'registry.ollama.ai/library/gemma2:latest does not support tools');
    const call = '{"thought": "I look.", "tool": "look", "tool_args": {}}';
    const { agent, server } = await agentOn([body, call, '{"answer": "A cat."}', '{"answer": "Yes."}'], {
      tools: tools(),
    });
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered', result: 'A cat.' });
    expect(await agent.run('Sure?')).toMatchObject({ status: 'answered', result: 'Yes.' });
    expect(server.requests.map(({ body: { tools: sent } }) => sent !== undefined)).toEqual([true, false, false, false]);
  });

  test('a stream that Ollama gives up in the middle is no answer', async () => {
    const chunk = (delta: object) => ({
      id: 'chatcmpl-127',
      object: 'chat.completion.chunk',
      system_fingerprint: 'fp_ollama',
      choices: [{ index: 0, delta, finish_reason: null }],
    });
    // Its error becomes a piece without text, and the stream ends.
    const pieces = [chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: '' })];
    const raw = pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`);
    const headers = { 'content-type': 'text/event-stream' };
    const { agent } = await agentOn([{ status: 200, headers, body: raw.join('') }, 'Hello.'], { streaming: true });
    const run = agent.run('Hi');
    const events = await eventsOf(run);
    expect(events.filter(({ type }) => type === 'model.retrying')).toMatchObject([{ error: { code: 'bad-response' } }]);
    expect(await run).toMatchObject({ status: 'answered', result: 'Hello.' });
  });

  test.each([
    ['m', 'm:latest'],
    ['hf.co/maker/m:Q4_K_M', 'hf.co/maker/m:Q4_K_M'],
  ])('the context of %s is asked for again once Ollama has loaded it', async (model, listed) => {
    const pages: Record<string, unknown> = {
      '/v1/models': { data: [{ id: listed, owned_by: 'library' }] },
      '/api/ps': { models: [] },
    };
    const server = await startModelServer(() => 'Hi.', { pages });
    onTestFinished(server.close);
    const own = modelAt({ baseURL: server.baseURL, model, apiKey: 'none' });
    const agent = createAgent({ model: own, silent: true });
    await agent.run('Hello');
    await server.askedElsewhere(2);
    pages['/api/ps'] = { models: [{ name: listed, context_length: 4096 }] };
    const size = async () => {
      await agent.run('Hello');
      return own.contextSize;
    };
    await expect.poll(size).toBe(4096);
    const asked = ['/v1/models', '/api/ps', '/v1/models', '/api/ps'];
    expect(server.otherPaths).toEqual(asked);
    const told = (await eventsOf(agent.run('Hello'))).flatMap((event) => (event.type === 'warning' ? [event] : []));
    expect(told).toMatchObject([{ message: expect.stringContaining(`'${model}' has 4096 tokens of context`) }]);
    expect(server.otherPaths).toEqual(asked);
  });
});
