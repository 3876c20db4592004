import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { sentName } from '../../src/tools/lookup.ts';
import type { Scripted } from '../support/model-server.ts';
import { agentOn, eventsOf } from './agent-on-server.ts';

/** A server that takes no name that OpenAI would not take. */
const strict =
  (reply: Scripted): Scripted =>
  ({ text, body }) => {
    const sent = [...(body.tools ?? []).map((tool) => tool.function.name), ...namesOfCalls(text)];
    const wrong = sent.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
    return wrong.length === 0 ? reply : { status: 400, body: { error: { message: wrong.join(), param: 'tools[0]' } } };
  };

const namesOfCalls = (text: string): readonly string[] =>
  [...text.matchAll(/"function":\{"name":"([^"]*)"/g)].map(([, name = '']) => name);

describe('a tool whose name servers do not take', () => {
  const NAMES = ['my.tool', 'wetter_für', '天气', '天文'];

  test('is sent under a clean one, and called, told and kept under its own', async () => {
    const tools = NAMES.map((name) => fakeTool(name, [{ from: name }]));
    const toolCalls = NAMES.map((name) => ({ name: sentName(name), arguments: {} }));
    const { agent, server } = await agentOn([strict({ toolCalls }), strict('Done.')], { tools });
    const run = agent.run('Go');
    const told = (await eventsOf(run)).flatMap((event) => (event.type === 'tool.finished' ? [event.tool] : []));
    expect(await run).toMatchObject({ status: 'answered', toolsUsed: NAMES, errorHistory: [] });
    expect(told).toEqual(NAMES);
    expect(tools.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 1]);
    expect((await run).messages.flatMap(({ toolCalls: made = [] }) => made.map(({ name }) => name))).toEqual(NAMES);
    expect(namesOfCalls(server.requests[1]?.text ?? '').slice(0, 4)).toEqual([
      'my_tool',
      'wetter_fur',
      'u5929u6c14',
      'u5929u6587',
    ]);
    expect(JSON.stringify((await run).messages)).not.toContain('repaired');
  });

  test('is found under the clean one in a plan too', async () => {
    const tools = NAMES.map((name) => fakeTool(name, [{ from: name }]));
    const plan = NAMES.map((name) => ({ tool: sentName(name), tool_args: {} }));
    const toolCalls = [{ name: 'make_plan', arguments: { plan } }];
    const { agent } = await agentOn([strict({ toolCalls }), strict('Done.')], { tools });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', toolsUsed: NAMES, errorHistory: [] });
  });
});

test('a name that needs no other is sent as it is', () => {
  for (const name of ['look', 'a-b_C9', 'x'.repeat(64)]) expect(sentName(name)).toBe(name);
  for (const name of ['天'.repeat(60), 'a.b', 'é', '١٢', '𝒜𝒷']) expect(sentName(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
});

describe('two tools that would be sent under one name', () => {
  const make = (...names: readonly string[]) =>
    createAgent({ model: scriptedModel([]), silent: true, tools: names.map((name) => fakeTool(name)) });

  test.each([
    ['my.tool', 'my_tool'],
    ['my_tool', 'my.tool'],
    ['für', 'fur'],
  ])('are refused by their names: %s and %s', (first, second) => {
    expect(() => make(first, second)).toThrow(new RegExp(`'${second}' and '${first}' would both be sent`));
    const agent = make(first);
    expect(() => agent.tools.register(fakeTool(second))).toThrow(TypeError);
    expect(agent.tools.size).toBe(1);
  });

  test('one that would be sent as the plan’s own name is refused', () => {
    expect(() => make('make.plan')).toThrow(/'make\.plan' and 'make_plan' would both be sent/);
  });

  test('an agent below beside a tool is refused too', () => {
    const children = [createAgent({ name: 'my.helper', model: scriptedModel([]), silent: true })];
    const options = { model: scriptedModel([]), silent: true, children };
    expect(() => createAgent({ ...options, tools: [fakeTool('my_helper')] })).toThrow(/would both be sent/);
    expect(createAgent(options).tools.size).toBe(1);
  });

  test('once the first is gone, the second is taken', () => {
    const agent = make('my.tool');
    agent.tools.remove('my.tool');
    agent.tools.register(fakeTool('my_tool'));
    expect(agent.tools.size).toBe(1);
  });
});
