import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

test('a tool with another execute keeps its checks and its policy: a dry run', async () => {
  const inputSchema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
  const cancel = fakeTool('cancel', ['cancelled'], { inputSchema });
  const erase = fakeTool('erase', ['erased'], { policy: 'deny' });
  const dry = (made: Tool): Tool => ({ ...made, execute: (args) => ({ message: 'dry run', args }) });
  const agent = createAgent({
    model: scriptedModel([
      calls(['cancel', { id: '5' }, 'a'], ['cancel', { id: 'x' }, 'b'], ['erase', {}, 'c']),
      'Ok.',
    ]),
    tools: [cancel, erase].map(dry),
    silent: true,
  });
  const { messages } = await agent.run('Go');
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  expect(told[0]).toBe('{"status":"success","data":{"message":"dry run","args":{"id":5}}}');
  expect(told[1]).toContain('Invalid arguments');
  expect(told[2]).toContain('denied by policy');
  expect([...cancel.calls, ...erase.calls]).toEqual([]);
});
