import { expect, test } from 'vitest';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { Json, JsonSchema } from '../../src/json/json.ts';
import { createReplyStream, recoverArguments, recoverJson } from '../../src/parsing/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

// An id as Discord, X and databases give it. The nearest number is 1234567890123456800.
const ID = '1234567890123456789';

async function idOf(reply: Parameters<typeof scriptedModel>[0][number], type: JsonSchema, more: AgentOptions = {}) {
  const inputSchema = { type: 'object', properties: { id: type }, required: ['id'] };
  const remove = fakeTool('remove', ['gone'], { inputSchema });
  const agent = createAgent({ model: scriptedModel([reply, 'Done.']), tools: [remove], silent: true, ...more });
  const run = agent.run('Remove it');
  const { errorHistory } = await run;
  expect(await replay(run.recording(), agent)).toMatchObject({ errorHistory });
  return { ids: remove.calls.map((args) => Reflect.get(Object(args), 'id') as Json), errorHistory };
}

test.each([
  ['a native call', calls(['remove', `{"id": ${ID}}`])],
  ['a broken native call', calls(['remove', `{'id': ${ID},}`])],
  ['JSON that a proxy wrote twice', calls(['remove', JSON.stringify(`{"id": ${ID}}`)])],
  ['the envelope', `{"thought": "out with it", "tool": "remove", "tool_args": {"id": ${ID}}}`],
  ['a broken envelope', `{'tool': 'remove', 'tool_args': {'id': ${ID},},}`],
  ['a block of Hermes', `<tool_call>\n{"name": "remove", "arguments": {"id": ${ID}}}\n</tool_call>`],
  ['a call of Python', `[remove(id=${ID})]`],
  ['a plan', `{"plan": [{"tool": "remove", "tool_args": {"id": ${ID}}}]}`],
])('an id of 19 digits reaches the tool as it was written in %s', async (_form, reply) => {
  expect(await idOf(reply, { type: 'string' })).toEqual({ ids: [ID], errorHistory: [] });
  expect((await idOf(reply, true)).ids).toEqual([ID]);
});

test('a tool that takes whole numbers is not called with another one, and the model is told why', async () => {
  for (const written of [ID, `"${ID}"`]) {
    const { ids, errorHistory } = await idOf(calls(['remove', `{"id": ${written}}`]), { type: 'integer' });
    expect(ids).toEqual([]);
    expect(errorHistory).toMatchObject([{ message: expect.stringContaining('more digits than a number can hold') }]);
  }
});

test('a typed answer holds the digits', async () => {
  const outputSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
  const agent = createAgent({ model: scriptedModel([`{"id": ${ID}}`]), outputSchema, silent: true });
  expect((await agent.run('Which one?')).output).toEqual({ id: ID });
});

test('numbers that are held stay numbers, and so do those of a schema that asks for them', async () => {
  const held = [9007199254740991, -9007199254740991, 123456789012345680000, 1e21, 1e300, 0.1234567890123456];
  const schema = { type: 'object', properties: { n: { type: 'number' } } };
  for (const n of held) {
    expect(recoverJson(JSON.stringify({ n })), String(n)).toMatchObject({ ok: true, value: { n } });
    expect(recoverArguments(`{n: ${n}}`, schema)).toMatchObject({ ok: true, value: { n } });
  }
  expect(recoverArguments('{"n": 9007199254740992}', true)).toMatchObject({ value: { n: 9007199254740992 } });
  expect(recoverArguments(`{"n": ${ID}}`, schema)).toMatchObject({ ok: true, value: { n: Number(ID) } });
  expect(recoverArguments('{"n": 42}', { type: 'object', properties: { n: { type: 'string' } } })).toMatchObject({
    value: { n: '42' },
  });
  const read = recoverArguments('{"__proto__": {"n": 12345678901234567890}, "n": 1, "n": 2}', true);
  expect(read.ok && JSON.stringify(read.value)).toBe('{"__proto__":{"n":"12345678901234567890"},"n":2}');
  expect(recoverJson(`{"n": ${ID}}`)).toMatchObject({ value: { n: Number(ID) }, repairs: [] });
});

test('what is shown of a call while it streams has the digits too', () => {
  const stream = createReplyStream({ tools: ['remove'] });
  for (const char of `{"tool": "remove", "tool_args": {"id": ${ID}}}`) stream.push(char);
  expect(stream.partial.calls).toEqual([{ name: 'remove', args: { id: ID }, complete: true }]);
  expect(stream.end().calls).toEqual(stream.partial.calls);
});
