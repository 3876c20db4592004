import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createReplyStream, parseReply, recoverArguments, recoverJson } from '../../src/parsing/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';

/** Numbers of which JavaScript keeps the value and loses the spelling. */
const SPELLINGS = ['3.10', '1.0', '-0', '1e3', '2E+10', '2.50e-7', '0.0000001', '100000000000000000000.5', '1e21'];
/** The same in what only a repair can read. */
const LOOSE = ['+5', '.50', '7.', '+1.20e5'];

const inputSchema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    number: { type: 'number' },
    list: { type: 'array', items: { type: 'string' } },
    inner: { type: 'object', properties: { text: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    any: {},
  },
} as const;

test.each(SPELLINGS)('a text is %s as it was written, a number its value', (n) => {
  const raw = `{"text": ${n}, "list": [${n}, 5, ${n}], "inner": {"text": ${n}}, "number": ${n}, "either": ${n}, "any": ${n}}`;
  const value = Number(n);
  const read = recoverArguments(raw, inputSchema);
  expect(read).toMatchObject({
    ok: true,
    value: { text: n, list: [n, '5', n], inner: { text: n }, number: value, either: value, any: value },
  });
  const listed = read.ok ? read.repairs.filter(({ kind }) => kind === 'number-to-text').map(({ path }) => path) : [];
  expect(listed).toEqual(['/text', '/list/0', '/list/2', '/inner/text', '/list/1']);
});

test.each([...SPELLINGS, ...LOOSE])('broken JSON keeps %s, too', (n) => {
  const read = recoverArguments(`{'text': ${n}, 'list': [${n},], 'number': ${n}}`, inputSchema);
  expect(read).toMatchObject({ ok: true, value: { text: n, list: [n], number: Number(n) } });
});

test('without a schema that takes text, valid JSON is what JSON.parse makes of it', () => {
  const raw = `{"text": [${SPELLINGS.join(', ')}]}`;
  expect(recoverJson(raw)).toEqual({ ok: true, value: JSON.parse(raw), complete: true, repairs: [] });
  expect(parseReply(`{"tool": "note", "tool_args": ${raw}}`).calls[0]?.args).toEqual(JSON.parse(raw));
});

test('a key that stands twice has the spelling of the number that counts', () => {
  for (const raw of ['{"text": 3.10, "text": 5}', "{'text': 3.10, 'text': 5}"]) {
    expect(recoverArguments(raw, inputSchema)).toMatchObject({ ok: true, value: { text: '5' } });
  }
});

test('a number that is the whole text is that text', () => {
  expect(recoverJson(' 3.10\n', { schema: z.string() })).toMatchObject({ ok: true, value: '3.10' });
  expect(recoverJson('3.10', { schema: z.number() })).toMatchObject({ ok: true, value: 3.1 });
  expect(recoverJson('It is {"text": 3.10}.', { schema: z.object({ text: z.string() }) })).toMatchObject({
    value: { text: '3.10' },
  });
});

const IN_REPLIES: readonly string[] = [
  '{"tool": "note", "tool_args": {"text": 3.10}}',
  "{'tool': 'note', 'tool_args': {'text': 3.10}}",
  '"tool": "note", "tool_args": {"text": 3.10}}',
  '<tool_call>{"name": "note", "arguments": {"text": 3.10}}</tool_call>',
  '{"tool_calls": [{"function": {"name": "note", "arguments": "{\\"text\\": 3.10}"}}]}',
  '[TOOL_CALLS]note{"text": 3.10}',
  '[note(text=3.10)]',
  '<|tool_call>call:note{text:3.10}<tool_call|>',
  '<function=note>{"text": 3.10}</function>',
  'Thought: x\nAction: note\nAction Input: {"text": 3.10}',
];

test.each(IN_REPLIES)('%s', (text) => {
  const options = { tools: [{ name: 'note', inputSchema }] };
  const reply = parseReply(text, options);
  expect(reply.calls).toEqual([{ name: 'note', args: { text: '3.10' }, complete: true }]);
  expect(reply.repairs).toContainEqual(expect.objectContaining({ kind: 'number-to-text', path: '/text' }));
  const stream = createReplyStream(options);
  const whole = stream.push(text).calls.filter(({ complete }) => complete);
  expect([[], reply.calls]).toContainEqual(whole);
});

test('a tool gets the text of a number, called natively, in text and in a plan', async () => {
  const got: string[] = [];
  const note = tool({
    name: 'note',
    description: 'Notes a version.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => void got.push(text),
  });
  const run = async (...script: Parameters<typeof scriptedModel>[0]): Promise<void> => {
    const toolCalling = typeof script[0] === 'string' ? ('json' as const) : ('native' as const);
    const agent = createAgent({ model: scriptedModel([...script, 'Done.']), tools: [note], toolCalling, silent: true });
    expect(await agent.run('Go.')).toMatchObject({ success: true });
  };
  await run({ content: '', toolCalls: [{ name: 'note', arguments: '{"text": 3.10}' }] });
  await run('{"thought": "x", "tool": "note", "tool_args": {"text": 1.0}}');
  await run('{"thought": "x", "plan": [{"tool": "note", "tool_args": {"text": 2e3}}]}');
  expect(got).toEqual(['3.10', '1.0', '2e3']);
});

test('to look for such numbers costs little beside reading the reply', () => {
  const args = { path: '/tmp/report.md', content: 'A line of the report, with "quotes" in it.\n'.repeat(300) };
  const text = JSON.stringify(
    { thought: 'The file has to be written. '.repeat(100), tool: 'write', tool_args: args },
    null,
    2,
  );
  const fastest = { reply: Infinity, json: Infinity };
  const round = (what: keyof typeof fastest, read: (text: string) => unknown) => {
    const start = performance.now();
    for (let time = 0; time < 20; time += 1) read(text);
    fastest[what] = Math.min(fastest[what], performance.now() - start);
  };
  const isCheap = () => fastest.reply < fastest.json * 2;
  // More rounds on a machine that is busy: each side needs one that nothing disturbs.
  for (let rounds = 0; rounds < 100 || (rounds < 2_000 && !isCheap()); rounds += 1) {
    round('reply', parseReply);
    round('json', JSON.parse);
  }
  expect(isCheap()).toBe(true);
});
