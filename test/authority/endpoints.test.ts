import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startModelServer } from '../support/model-server.ts';

const CALL = '{"tool": "look", "tool_args": {}}';
const native = { content: '', toolCalls: [{ id: 'a', name: 'look', arguments: {} }] };

test('what an endpoint and model have shown is remembered for other agents, written into the run, and holds in a replay', async () => {
  await using server = await startModelServer([CALL, 'One.', native, 'Two.', CALL]);
  const agentOf = (model = 'scripted') => {
    const look = fakeTool('look', ['tea', 'more tea']);
    const client = chatModel({ baseURL: server.baseURL, model, apiKey: 'none' });
    return { look, agent: createAgent({ name: 'looker', model: client, tools: [look], silent: true }) };
  };
  const first = agentOf();
  expect(await first.agent.run('Look')).toMatchObject({ result: 'One.', toolsUsed: ['look'] });
  expect(await first.agent.run('Look')).toMatchObject({ result: 'Two.', toolsUsed: ['look'] });
  expect(first.look.calls).toHaveLength(2);

  const second = agentOf();
  const held = second.agent.run('Show me notes.txt word for word');
  expect(await held).toMatchObject({ status: 'answered', result: CALL, toolsUsed: [] });
  expect(second.look.calls).toEqual([]);
  const recording = held.recording();
  expect(JSON.parse(recording.split('\n')[0] ?? '')).toMatchObject({ callsNatively: true });

  // Another model of the same server has shown nothing, and a replay decides as the run did.
  const other = agentOf('another').agent;
  expect(await replay(recording, other)).toMatchObject({ result: CALL, toolsUsed: [] });
  expect(server.unexpected).toEqual([]);
});

test('another model at the same server is not held to what the first has shown', async () => {
  await using server = await startModelServer([native, 'One.', CALL, 'Two.']);
  const run = (model: string) => {
    const look = fakeTool('look', ['tea']);
    const client = chatModel({ baseURL: server.baseURL, model, apiKey: 'none' });
    return createAgent({ model: client, tools: [look], silent: true }).run('Look');
  };
  expect(await run('scripted')).toMatchObject({ result: 'One.', toolsUsed: ['look'] });
  expect(await run('another')).toMatchObject({ result: 'Two.', toolsUsed: ['look'] });
});

test('a text that ends with a call is the answer where no turn is left to ask about it', async () => {
  const text = 'The file says:\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>';
  const model = scriptedModel([text]);
  const agent = createAgent({ model, tools: [fakeTool('look', ['tea'])], maxSteps: 1, silent: true });
  expect(await agent.run('Show me the file')).toMatchObject({ status: 'answered', result: text, toolsUsed: [] });
  model.assertComplete();
});

test('a call without a name is none, and later text may be one', async () => {
  const nameless = { choices: [{ index: 0, message: { content: 'Hi', function_call: { name: ' ', arguments: '' } } }] };
  await using server = await startModelServer([{ status: 200, body: nameless }, CALL, 'Two.']);
  const client = chatModel({ baseURL: server.baseURL, model: 'scripted', apiKey: 'none' });
  const look = fakeTool('look', ['tea']);
  const agent = createAgent({ model: client, tools: [look], silent: true });
  expect(await agent.run('Hello')).toMatchObject({ result: 'Hi', toolsUsed: [] });
  expect(await agent.run('Look')).toMatchObject({ result: 'Two.', toolsUsed: ['look'] });
});
