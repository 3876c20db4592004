import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { fromAiSdk } from '../../../src/models/ai-sdk/from-ai-sdk.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { compatible, openaiChat, openaiResponses } from './openai-wires.ts';
import { anthropic, google } from './other-wires.ts';
import { type Answer, type Wire, agentOver, startWireServer, valuesOf } from './wire-server.ts';

const outputSchema = z.object({ city: z.string(), note: z.string().optional() });
const answer = { text: '{"city":"Oslo"}' };

/** An agent with a typed answer over a provider. */
async function typedOver<T>(wire: Wire, answers: readonly Answer[], schema: z.ZodType<T>, streaming = true) {
  const server = await startWireServer(wire, answers);
  const model = fromAiSdk(wire.model(server.origin));
  const agent = createAgent({ model, silent: true, streaming, outputSchema: schema });
  onTestFinished(() => agent.close());
  return { agent, server };
}

describe.each([compatible, openaiChat, openaiResponses, google, anthropic])('typed answers over $name', (wire) => {
  test.each([true, false])('the schema goes along, and the answer has its type (streamed: %s)', async (streaming) => {
    const { agent, server } = await typedOver(wire, [answer], outputSchema, streaming);
    expect(await agent.run('Where?')).toMatchObject({ status: 'answered', output: { city: 'Oslo' } });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.text).toContain('city');
  });

  test('beside tools it is a tool of ours', async () => {
    const calls: readonly Answer[] = [
      { calls: [{ id: 'a', name: 'look', args: {} }] },
      { calls: [{ id: 'b', name: 'final_answer', args: { city: 'Oslo' } }] },
    ];
    const server = await startWireServer(wire, calls);
    const model = fromAiSdk(wire.model(server.origin));
    const tools = [fakeTool('look', ['a fjord'])];
    const agent = createAgent({ model, silent: true, streaming: true, tools, outputSchema, outputMode: 'tool' });
    onTestFinished(() => agent.close());
    const result = await agent.run('Where?');
    expect(result).toMatchObject({ status: 'answered', output: { city: 'Oslo' }, toolsUsed: ['look'] });
  });
});

test('a server that refuses the schema is asked without it, from then on', async () => {
  const refused = { status: 400, body: { error: { message: 'no response_format here' } } };
  const { agent, server } = await typedOver(openaiChat, [refused, answer, answer], outputSchema);
  expect(await agent.run('Where?')).toMatchObject({ status: 'answered', output: { city: 'Oslo' } });
  expect(await agent.run('Where?')).toMatchObject({ status: 'answered', output: { city: 'Oslo' } });
  expect(server.requests.map(({ text }) => text.includes('response_format'))).toEqual([true, false, false]);
});

test('any other refusal ends the run, and the schema is sent again in the next', async () => {
  const refused = { status: 400, body: { error: { message: 'no' } } };
  const { agent, server } = await typedOver(openaiChat, [refused, refused, answer], outputSchema);
  expect(await agent.run('Where?')).toMatchObject({ status: 'failed', error: { code: 'bad-request' } });
  expect(await agent.run('Where?')).toMatchObject({ status: 'answered' });
  expect(server.requests.map(({ text }) => text.includes('response_format'))).toEqual([true, false, true]);
});

test('OpenAI holds the reply to it strictly where it has such a form', async () => {
  const { agent, server } = await typedOver(openaiChat, [answer], outputSchema);
  await agent.run('Where?');
  expect(valuesOf(server.requests[0]?.body, 'strict')).toEqual([true]);
  const open = z.object({ city: z.string(), more: z.record(z.string(), z.string()).optional() });
  const loose = await typedOver(openaiChat, [answer], open);
  await loose.agent.run('Where?');
  expect(valuesOf(loose.server.requests[0]?.body, 'strict')).toEqual([false]);
});

test('in json mode the envelope is written in the prompt alone', async () => {
  const { agent, server } = await agentOver(openaiChat, [{ text: '{"answer":"Hi."}' }], { toolCalling: 'json' });
  expect(await agent.run('Hello')).toMatchObject({ result: 'Hi.' });
  expect(server.requests[0]?.text).not.toContain('response_format');
});
