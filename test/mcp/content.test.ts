import { expect, onTestFinished, test } from 'vitest';
import { ModelError, type ModelRequest, type Part } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/index.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { recover } from '../../src/recovery/recover.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { agentWith, modern, toldBy } from '../support/mcp/modern.ts';
import { httpToolServer } from '../support/mcp/tool-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { calls, plan } from '../support/replies.ts';

const BASE64 = /iVBORw0KGgo|UklGRiQ|UEsDBAo/;
const gallery = calls(['lab_gallery', {}, 'a']);
const say = (what: string, isError = false) => calls(['lab_say', { what, isError }]);

function imagesIn({ messages }: ModelRequest): readonly (readonly [string, readonly Part[]])[] {
  return messages.flatMap(({ role, content }) => (typeof content === 'string' ? [] : [[role, content] as const]));
}

test.each(['native', 'json'] as const)(
  'a model that takes no images is told their type and size, and never base64 (%s)',
  async (toolCalling) => {
    const { config } = await modern('stdio');
    const call = toolCalling === 'native' ? gallery : '{"tool": "lab_gallery", "tool_args": {}}';
    const model = scriptedModel([call, 'Done.'], { toolCalling });
    const { agent, events } = agentWith(config, { model, toolCalling });
    await agent.run('Show me');
    const messages = model.requests[1]?.messages ?? [];
    expect(messages).toHaveLength(4);
    const told = JSON.stringify(messages);
    expect(told).not.toContain('follows');
    expect(told).not.toMatch(BASE64);
    for (const words of [
      'image/png',
      'audio/wav',
      'application/zip',
      '70 bytes',
      '9 bytes',
      'not shown to you',
      'words',
    ])
      expect(told).toContain(words);
    const finished = events.find(({ type }) => type === 'tool.finished');
    expect(JSON.stringify(finished)).toMatch(BASE64);
  },
);

test('a model that takes images gets them after all results, and all else by type and size', async () => {
  const { config } = await modern('HTTP');
  const both = calls(['lab_gallery', {}, 'a'], ['lab_say', {}, 'b']);
  const model = scriptedModel([both, 'Done.'], { takesImages: true });
  const { agent } = agentWith(config, { model });
  await agent.run('Show me');
  const messages = model.requests[1]?.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'user']);
  expect(String(messages[3]?.content).match(/follows as an image/g)).toHaveLength(2);
  expect(String(messages[3]?.content)).not.toMatch(BASE64);
  const [first, ...parts] = messages[5]?.content ?? [];
  expect(first).toMatchObject({ type: 'text', text: expect.stringContaining('lab_gallery') });
  expect(parts).toHaveLength(2);
  for (const part of parts) expect(part).toMatchObject({ url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) });
});

test('images travel to a server for models as Chat Completions has them', async () => {
  const { config } = await modern('HTTP');
  const server = await startModelServer([{ toolCalls: [{ name: 'lab_gallery' }] }, 'Done.']);
  const model = chatModel({ baseURL: server.baseURL, model: 'scripted', images: true });
  const { agent } = agentWith(config, { model });
  await agent.run('Show me');
  const last = server.requests[1]?.body.messages.at(-1);
  expect(last).toMatchObject({ role: 'user' });
  expect(JSON.stringify(last)).toContain('{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBOR');
  await server.close();
});

test('results of a plan bring their images as well', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([plan(['lab_gallery'], ['lab_say']), 'Done.'], { takesImages: true });
  const { agent } = agentWith(config, { model });
  await agent.run('Show me');
  const [request] = model.requests.slice(1);
  expect(request === undefined ? [] : imagesIn(request)).toHaveLength(1);
  expect(JSON.stringify(request?.messages.filter(({ role }) => role === 'tool'))).not.toMatch(BASE64);
});

test('an image that no model takes, or that is no base64, is named only', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([say('odd-images'), 'Done.'], { takesImages: true });
  const { agent } = agentWith(config, { model });
  const [told = ''] = await toldBy(agent);
  expect(told.match(/not shown to you/g)).toHaveLength(3);
  expect(told).toContain('3.8 MB');
  expect(model.requests.flatMap(imagesIn)).toEqual([]);
});

test('of one result at most ten images are sent, and the others are said not to be', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([say('many-images'), 'Done.'], { takesImages: true });
  const { agent } = agentWith(config, { model, maxToolResultChars: 9000 });
  const [told = ''] = await toldBy(agent);
  expect(told.match(/follows as an image/g)).toHaveLength(10);
  expect(told.match(/not shown to you/g)).toHaveLength(2);
  expect(model.requests.flatMap(imagesIn)[0]?.[1]).toHaveLength(11);
});

test('images are left out for a model of which it is not known that it takes them', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([gallery, say('pin', true), 'Done.'], { takesImages: true });
  const strong = scriptedModel([say('nothing')]);
  const { agent } = agentWith(config, {
    model,
    models: { strong },
    onError: { executionError: [recover.escalate()] },
    onEscalation: (_error, to) => to.retryWithModel('strong'),
  });
  expect(await agent.run('Show me')).toMatchObject({ status: 'answered' });
  const plain = scriptedModel(['Done.']);
  agent.configure({ model: plain });
  await agent.run('And now?');
  for (const { requests } of [strong, plain]) {
    expect(requests.flatMap(imagesIn)).toEqual([]);
    expect(JSON.stringify(requests[0]?.messages)).toContain('its images (2), in their order [left out here]');
  }
  expect(model.requests.map((request) => imagesIn(request).length)).toEqual([0, 1, 1]);
});

test('images of older turns are left out when the conversation has become too long', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel(
    [gallery, calls(['lab_say', {}, 'b']), new ModelError('context-overflow', 'too long'), 'Done.'],
    { takesImages: true },
  );
  const { agent } = agentWith(config, { model });
  await agent.run('Show me');
  expect(model.requests.map((request) => imagesIn(request).length)).toEqual([0, 1, 1, 0]);
});

test('a run with images is replayed as it was, whatever the model of the agent takes', async () => {
  const { config } = await modern('HTTP');
  const { agent } = agentWith(config, { model: scriptedModel([gallery, 'Done.'], { takesImages: true }) });
  const run = agent.run('Show me');
  await run;
  const { agent: other } = agentWith(config, { model: scriptedModel([]), mcpServers: {} });
  const again = await replay(run.recording(), other);
  expect(again).toMatchObject({ result: 'Done.', status: 'answered' });
});

test('what is for the user alone is kept for the app, and the model is told no more than that', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([say('pin'), say('pin-and-words'), 'Done.']);
  const { agent, events } = agentWith(config, { model });
  const [first = '', second = ''] = await toldBy(agent);
  expect(first).toContain('for the user alone');
  expect(second).toBe('{"status":"success","data":"for both"}');
  expect(JSON.stringify(model.requests)).not.toMatch(/PIN \d/);
  const kept = events.flatMap((event) => (event.type === 'tool.finished' ? [event.result.forUser] : []));
  expect(kept).toEqual([[{ type: 'text', text: 'PIN 1234' }], [{ type: 'text', text: 'PIN 5678' }]]);
});

test('an error whose words are for the user alone is an error all the same', async () => {
  const { config } = await modern('HTTP');
  const model = scriptedModel([say('pin', true), 'Done.']);
  const { agent, events } = agentWith(config, { model });
  const [told = ''] = await toldBy(agent);
  expect(told).toContain('"status":"error"');
  expect(told).toContain('for the user alone');
  expect(JSON.stringify(model.requests)).not.toContain('PIN 1234');
  const finished = events.find(({ type }) => type === 'tool.finished');
  expect(finished).toMatchObject({ ok: false, result: { forUser: [{ text: 'PIN 1234' }] } });
});

test('what a server closes without naming a member is open where it means a map or alternatives, and only there', async () => {
  const closed = { type: 'object', additionalProperties: false };
  const server = await httpToolServer([
    {
      name: 'map',
      inputSchema: { type: 'object', properties: { map: { ...closed, propertyNames: { type: 'string' } } } },
    },
    {
      name: 'either',
      inputSchema: {
        ...closed,
        oneOf: [
          { properties: { x: { type: 'string' } }, required: ['x'] },
          { properties: { y: {} }, required: ['y'] },
        ],
      },
    },
    { name: 'nothing', inputSchema: closed },
    { name: 'named', inputSchema: { ...closed, properties: { x: {} }, anyOf: [{ required: ['x'] }] } },
  ]);
  const model = scriptedModel([
    calls(['s_map', { map: { a: 1 } }], ['s_either', { x: 'a' }]),
    calls(['s_either', {}], ['s_nothing', { a: 1 }], ['s_named', { x: 1, a: 1 }]),
    'Done.',
  ]);
  const agent = createAgent({ model, silent: true, mcpServers: { s: server.entry() } });
  onTestFinished(() => agent.close());
  const { errorHistory } = await agent.run('Call all.');
  expect(server.ran()).toEqual(['map', 'either']);
  expect(errorHistory.map(({ code }) => code)).toEqual(['deserialization', 'deserialization', 'deserialization']);
});
