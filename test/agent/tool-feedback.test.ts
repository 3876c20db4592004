import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const inputSchema = z.object({ path: z.string(), tags: z.array(z.object({ id: z.int() })) });
const good = { path: 'a', tags: [] };

/** What the model is told of one call of `save`. */
async function told(given: Partial<Parameters<typeof tool<typeof inputSchema>>[0]>, args: JsonObject | string = good) {
  const save: Tool = tool({ name: 'save', description: 'Saves.', inputSchema, execute: () => 'saved', ...given });
  const options: AgentOptions = { tools: [save], silent: true, maxSteps: 7 };
  const reply = { content: '', toolCalls: [{ id: 'a', name: 'save', arguments: args }] };
  const { messages } = await createAgent({ ...options, model: scriptedModel([reply, 'Done.']) }).run('Go');
  const text = String(messages.find(({ role }) => role === 'tool')?.content);
  const result: Record<string, unknown> = JSON.parse(text);
  return { text, result };
}

const throwing = (error: unknown) => () => {
  throw error;
};

describe('the model gets of an unmended error', () => {
  test('for arguments that do not fit: code, message, issues by path, the schema, a hint, attempts left', async () => {
    const { result } = await told({}, { path: 1.5, tags: [{ id: 'x' }] });
    expect(result).toEqual({
      status: 'error',
      code: 'deserialization',
      error: expect.stringContaining("Invalid arguments for 'save': "),
      issues: [expect.objectContaining({ path: '/tags/0/id', message: expect.stringMatching(/\S/) })],
      schema: expect.objectContaining({ required: ['path', 'tags'] }),
      suggestion: expect.stringMatching(/\S/),
      attemptsLeft: 6,
    });
  });

  test('for arguments that cannot be read: the same without issues', async () => {
    const { result } = await told({}, 'path is a');
    expect(result).toMatchObject({ code: 'invalid-args', schema: {}, suggestion: expect.any(String), attemptsLeft: 6 });
  });

  test('for a tool that throws: its message, and neither stack nor cause', async () => {
    const { text, result } = await told({ execute: throwing(new Error('disk full', { cause: new Error('inner') })) });
    expect(result).toEqual({
      status: 'error',
      code: 'execution',
      error: 'Tool execution failed: disk full',
      suggestion: expect.stringMatching(/\S/),
      attemptsLeft: 6,
    });
    expect(text).not.toMatch(/\bat .*:\d+:\d+|inner/);
  });

  test('for a tool that reports an error: its own words, all of them', async () => {
    const own = { status: 'error', error: 'no room', suggestion: 'Delete something.', code: 'E_ROOM' };
    expect((await told({ execute: () => own })).result).toEqual({ ...own, attemptsLeft: 6 });
    expect((await told({ execute: () => ({ error: 'no room' }) })).result).toMatchObject({
      code: 'execution',
      error: 'no room',
    });
  });

  test('for an escalation: why, and not to try again', async () => {
    const { result } = await told({
      execute: throwing(new Error('locked')),
      onError: { executionError: recover.escalate('ask the operator') },
    });
    expect(result).toMatchObject({
      code: 'escalation',
      error: expect.stringContaining('ask the operator'),
      suggestion: expect.stringContaining('not make this call again'),
    });
  });

  test('for an outcome that nobody knows: the tool by its name, and no other way to do the same', async () => {
    const never = () => new Promise(() => undefined);
    const pay = fakeTool('pay', [never], { timeoutMs: 5 });
    const model = scriptedModel([calls(['pay']), 'Unsure.']);
    await createAgent({ model, tools: [pay], silent: true }).run('Pay');
    const [result, recovery] = (model.requests[1]?.messages ?? []).slice(-2).map(({ content }) => String(content));
    for (const text of [result, recovery]) {
      expect(text).toContain("whether the call of 'pay' took effect: it may have");
      expect(text).toContain('not do the same in another way or with another tool');
    }
    expect(recovery).not.toContain('alternative');
    expect(pay.calls).toHaveLength(1);
  });

  test('for an unknown outcome beside a plain failure, and one that was escalated: each its own', async () => {
    const lost = Object.assign(new Error('the line broke'), { code: 'unknown-outcome' });
    const pay = fakeTool('pay', [lost], { onError: { executionError: recover.escalate('no line', 'low') } });
    const look = fakeTool('look', [lost], { effects: 'none' });
    const model = scriptedModel([calls(['pay'], ['look']), 'Unsure.']);
    await createAgent({ model, tools: [pay, look], silent: true }).run('Pay');
    const recovery = String(model.requests[1]?.messages.at(-1)?.content);
    expect(recovery).toMatch(
      /^Tool execution failed\. Please try an alternative approach\.\n.*call of 'pay' took effect/,
    );
    expect(recovery).not.toContain("call of 'look'");
  });

  test('a bounded text, however long the error', async () => {
    const { text } = await told({ execute: throwing(new Error('x'.repeat(1_000_000))) });
    expect(text.length).toBeLessThan(2000);
    const many = { path: 'a', tags: Array.from({ length: 500 }, () => ({ id: 'x' })) };
    const reply = await told({}, many);
    expect(reply.text.length).toBeLessThan(4200);
    expect(reply.result.issues).toHaveLength(10);
  });

  test('a bounded text, however long a name it has called', async () => {
    const model = scriptedModel([calls(['x'.repeat(100_000)]), 'Done.']);
    const { errorHistory } = await createAgent({ model, tools: [fakeTool('look')], silent: true }).run('Go');
    const [, , ...after] = model.requests[1]?.messages.filter(({ role }) => role !== 'assistant') ?? [];
    expect(after.map(({ content }) => String(content).length < 2500)).toEqual([true, true]);
    expect(errorHistory[0]?.message).toMatch(/^Tool 'x{1000} …' not found$/);
  });

  test.each([
    [{ message: 'not yours', code: 5 }, '{"message":"not yours","code":5}'],
    [Object.create(null), '{}'],
    [new RangeError(''), 'RangeError'],
    ['not yours', 'not yours'],
  ])('for a check that throws %o: what it says', async (thrown: unknown, says) => {
    const { result } = await told({ validateArgs: throwing(thrown) });
    expect(result).toMatchObject({ error: `Argument validation failed: ${says}`, code: 'deserialization' });
  });
});

test('a denied call and a success say nothing of attempts', async () => {
  expect((await told({ policy: 'deny' })).result).not.toHaveProperty('attemptsLeft');
  expect((await told({})).result).toEqual({ status: 'success', data: 'saved' });
});

test('a step of a plan that fails tells the same, in either mode', async () => {
  const save = tool({ name: 'save', description: 'Saves.', execute: throwing(new Error('disk full')) });
  const steps = [{ tool: 'save' }];
  const native = { content: '', toolCalls: [{ name: 'make_plan', arguments: { plan: steps } }] };
  for (const [toolCalling, reply] of [
    ['native', native],
    ['json', JSON.stringify({ plan: steps })],
  ] as const) {
    const model = scriptedModel([reply, '{"answer": "Done."}']);
    const { messages } = await createAgent({ model, tools: [save], toolCalling, silent: true }).run('Go');
    expect(JSON.stringify(messages[2])).toMatch(/disk full.*attemptsLeft.{0,4}:18/);
  }
});

test('in JSON mode the model is told the same', async () => {
  const save = tool({ name: 'save', description: 'Saves.', execute: throwing(new Error('disk full')) });
  const model = scriptedModel(['{"tool": "save", "tool_args": {}}', '{"answer": "Done."}']);
  const { messages } = await createAgent({ model, tools: [save], toolCalling: 'json', silent: true }).run('Go');
  expect(String(messages[2]?.content)).toMatch(/^\[Result from save\]: .*disk full.*"attemptsLeft":19/);
});

test('calls beside it are told on their own', async () => {
  const save = tool({ name: 'save', description: 'Saves.', execute: throwing(new Error('disk full')) });
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 1 });
  const model = scriptedModel([calls(['look', {}, 'a'], ['save', {}, 'b']), 'Done.']);
  const { messages } = await createAgent({ model, tools: [save, look], silent: true }).run('Go');
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  expect(results[0]).toBe('{"status":"success","data":1}');
  expect(results[1]).toContain('attemptsLeft');
});
