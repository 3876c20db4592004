import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { StandardSchema } from '../../src/tools/schema.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

/** What a model is told of a call. */
async function told(made: Tool, options: AgentOptions = {}, name = made.name, args: object = {}) {
  const model = scriptedModel([calls([name, { ...args }]), 'Done.']);
  await createAgent({ model, tools: [made], silent: true, ...options }).run('Go');
  return String(model.requests[1]?.messages.find(({ role }) => role === 'tool')?.content);
}

const failing = (thrown: object) => fakeTool('look', [Object.assign(new Error('busy'), thrown)]);

describe('of a result', () => {
  test('seven tenths are shown from the beginning and three from the end, and all of what just fits', async () => {
    const data = Array.from({ length: 300 }, (_, n) => String(n)).join(',');
    const whole = JSON.stringify({ status: 'success', data });
    const cut = async (maxToolResultChars: number) => told(fakeTool('look', [data]), { maxToolResultChars });
    expect(await cut(whole.length)).toBe(whole);
    expect(await cut(100)).toBe(
      `${whole.slice(0, 70)}\n… [${whole.length - 100} characters cut out here] …\n${whole.slice(-30)}`,
    );
    expect(await cut(2)).toBe(`${whole.slice(0, 2)}\n… [${whole.length - 2} characters cut out here] …\n`);
  });

  test('an error that is an empty text is none', async () => {
    expect(await told(fakeTool('look', [{ error: '' }]))).toBe('{"status":"success","data":{"error":""}}');
  });
});

describe('of an error', () => {
  test('it says how long the tool cannot be called, in whole seconds, and nothing of that for no time', async () => {
    expect(await told(failing({ retryAfterMs: 1200 }))).toContain('It cannot be called again for 2 s.');
    expect(await told(failing({ retryAfterMs: 0 }))).toContain('Change the arguments, use another tool');
  });

  test('a schema is shown only where it is short, and of many issues how many there are', async () => {
    const wide = (count: number) =>
      z.object(Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, z.int()])));
    const made = (count: number) =>
      tool({ name: 'look', description: 'Looks.', inputSchema: wide(count), execute: () => 1 });
    expect(await told(made(12))).toMatch(/and 2 more.*"schema":/);
    expect(await told(made(200))).not.toContain('"schema":');
  });

  test.each([
    ['get', fakeTool('widget_list')],
    ['get_wether', fakeTool('get_weather', [1], { enabled: false })],
  ])('a tool called %j is none that there is, and no other is suggested', async (name, made) => {
    const text = await told(made, {}, name);
    expect(JSON.parse(text)).toMatchObject({
      code: 'unknown-tool',
      suggestion: 'Call one of the tools that you were given, by its exact name.',
    });
    expect(made.calls).toEqual([]);
  });
});

test('a name without letters, or one that is longer than names are, runs nothing', async () => {
  const longest = 'a'.repeat(64);
  const made = [fakeTool('run_'), fakeTool(longest)];
  const registry = createToolRegistry();
  registry.register(...made);
  for (const name of ['', ' ', `${longest}a`])
    expect(await registry.execute(name)).toMatchObject({ code: 'unknown-tool' });
  expect(made.map((one) => one.calls)).toEqual([[], []]);
});

test('a schema may be a function, and name the members of a path in objects', async () => {
  const standard: StandardSchema['~standard'] = {
    version: 1,
    vendor: 'mine',
    validate: () => ({ issues: [{ message: 'is odd', path: [{ key: 'list' }, 0, { key: 'a/b' }] }] }),
  };
  const inputSchema = Object.assign(() => undefined, { '~standard': standard });
  const jsonSchema = { type: 'object', properties: { list: { type: 'array' } } };
  const made = tool({ name: 'look', description: 'Looks.', inputSchema, jsonSchema, execute: () => 1 });
  expect(JSON.parse(await told(made, {}, 'look', { list: [1] })).issues).toEqual([
    { path: '/list/0/a~1b', message: 'is odd' },
  ]);
});
