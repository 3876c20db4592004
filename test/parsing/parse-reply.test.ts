import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';

const CALL = { name: 'add', args: { a: 1 }, complete: true };

test('a call in the envelope is read as it stands', () => {
  const reply = parseReply('{"thought": "t", "goal": "g", "tool": "add", "tool_args": {"a": 1}}');
  expect(reply).toMatchObject({
    thought: 't',
    goal: 'g',
    calls: [CALL],
    strategy: 'direct',
    complete: true,
    repairs: [],
  });
});

test.each(['tool_args', 'arguments', 'args', 'parameters'])('arguments may stand under %s', (key) => {
  expect(parseReply(`{"tool": "add", "${key}": {"a": 1}}`).calls).toEqual([CALL]);
});

test('arguments written as text are decoded', () => {
  expect(parseReply('{"tool": "add", "tool_args": "{\\"a\\": 1}"}').calls).toEqual([CALL]);
});

test.each(['null', '""', '"  "'])('arguments that are %s mean none', (args) => {
  expect(parseReply(`{"tool": "add", "tool_args": ${args}}`).calls).toEqual([
    { name: 'add', args: {}, complete: true },
  ]);
});

test('a fenced envelope after prose is a code block', () => {
  const reply = parseReply('Sure!\n```json\n{"tool": "add", "tool_args": {"a": 1}}\n```\nDone.');
  expect(reply).toMatchObject({ strategy: 'code-block', calls: [CALL] });
});

test('an envelope in the middle of prose is found by its brackets', () => {
  const reply = parseReply('I use {braces} often. {"tool": "add", "tool_args": {"a": 1}} See?');
  expect(reply).toMatchObject({ strategy: 'balanced', calls: [CALL] });
});

test('among words, an object with nothing but an answer is data; with a thought it is the answer', () => {
  const among = (json: string) => `Here it is.\n\n${json}\n\nThat is all.`;
  const read = (json: string) => parseReply(among(json), { tools: ['add'], textCalls: 'narrated' }).answer;
  expect(read('{"answer": 42}')).toBe(among('{"answer": 42}'));
  expect(read('{"thought": "hm", "answer": 42}')).toBe('42');
});

test('a call outside fences beats one inside', () => {
  const reply = parseReply(
    'Like\n```json\n{"tool": "sub", "tool_args": {}}\n```\nNow:\n{"tool": "add", "tool_args": {"a": 1}}',
  );
  expect(reply.calls).toEqual([CALL]);
});

test('several different fenced calls are documentation: none runs', () => {
  const reply = parseReply(
    '```json\n{"tool": "a", "tool_args": {}}\n```\nor\n```json\n{"tool": "b", "tool_args": {}}\n```',
  );
  expect(reply.calls).toEqual([]);
  expect(reply.ambiguous).toEqual([
    { tool: 'a', tool_args: {} },
    { tool: 'b', tool_args: {} },
  ]);
});

test('the same call twice is one call', () => {
  const text = '{"tool": "add", "tool_args": {"a": 1}}';
  expect(parseReply(`${text}\n${text}`).calls).toEqual([CALL]);
});

test('broken JSON is repaired and every repair listed', () => {
  const reply = parseReply("{'tool': 'add', 'tool_args': {'a': 1,},}");
  expect(reply).toMatchObject({ strategy: 'repaired', calls: [CALL], complete: true });
  expect(reply.repairs.length).toBeGreaterThan(0);
});

test('fields without braces around them are recovered one by one', () => {
  const reply = parseReply('"thought": "t", "tool": "add", "tool_args": {"a": 1}');
  expect(reply).toMatchObject({ strategy: 'fields', thought: 't', calls: [CALL] });
});

test('plain conversation is the answer', () => {
  expect(parseReply('Hello there!')).toMatchObject({
    strategy: 'text',
    answer: 'Hello there!',
    calls: [],
    complete: true,
  });
});

test('a reasoning block becomes the thought', () => {
  const reply = parseReply('<think>\n{"tool": "no"}? No.\n</think>\nHello!');
  expect(reply).toMatchObject({ thought: '{"tool": "no"}? No.', answer: 'Hello!', calls: [] });
});

test.each(['', '   \n', '<think>only this</think>'])('%j has neither answer nor call', (text) => {
  const reply = parseReply(text);
  expect(reply.answer).toBeUndefined();
  expect(reply.calls).toEqual([]);
});

test.each([
  ['null', undefined],
  ['""', undefined],
  ['42', '42'],
  ['{"a":1}', '{"a":1}'],
])('the answer %s becomes %j', (written, answer) => {
  expect(parseReply(`{"thought": "t", "answer": ${written}}`).answer).toBe(answer);
});

test('a cut call stays in the list, marked incomplete', () => {
  const reply = parseReply('{"thought": "t", "tool": "add", "tool_args": {"a": 1');
  expect(reply).toMatchObject({
    strategy: 'direct',
    complete: false,
    calls: [{ ...CALL, complete: false }],
    repairs: [],
  });
});

test('a plan takes the argument keys of calls', () => {
  const reply = parseReply('{"plan": [{"step": 1, "tool": "a", "args": {"x": 1}}, {"tool": "b", "tool_args": null}]}');
  expect(reply.plan).toEqual([
    { tool: 'a', args: { x: 1 }, complete: true },
    { tool: 'b', args: {}, complete: true },
  ]);
});

test.each([
  ['[]', 'empty list'],
  ['{"tool": "a"}', 'single object'],
  ['"first a"', 'a string'],
  ['[{"name": "a"}]', 'Step 0 of "plan" has no "tool". It has "name" instead.'],
  ['["a"]', 'Step 0'],
])('the plan %s is malformed and says why', (plan, reason) => {
  const reply = parseReply(`{"thought": "t", "plan": ${plan}}`);
  expect(reply.plan).toBeUndefined();
  expect(reply.planError).toContain(reason);
});

test('a bare call counts for registered names only', () => {
  const text = '{"name": "add", "arguments": {"a": 1}}';
  expect(parseReply(text, { tools: ['add'] }).calls).toEqual([CALL]);
  expect(parseReply(text, { tools: [{ name: 'sub' }] }).calls).toEqual([]);
  expect(parseReply(text).calls).toEqual([]);
});

test("a tool's name counts in any case, and what has no name is no tool", () => {
  const text = '{"name": "readfile", "arguments": {}}';
  const tools: unknown = [7, null, {}, { name: 3 }, { name: 'ReadFile' }];
  expect(Reflect.apply(parseReply, undefined, [text, { tools }])).toMatchObject({ calls: [{ name: 'readfile' }] });
});

test.each([
  ['an envelope in a list', '[{"plan": [{"tool": "add"}]}]', { plan: [{ tool: 'add' }] }],
  ['an envelope as a string', '"{\\"tool\\": \\"add\\", \\"tool_args\\": {\\"a\\": 1}}" \n', { calls: [CALL] }],
  ['no object as a string', '"{"', { answer: '"{"' }],
  ['words behind an object in a string', '"{\\"tool\\": \\"add\\"} x"', { calls: [] }],
  [
    'a thought between prefix and suffix',
    '<|inner_prefix|>hm<|inner_suffix|>Hello',
    { thought: 'hm', answer: 'Hello' },
  ],
  ['thoughts of several calls', '[{"thought": "t", "tool": "add"}, {"thought": "u", "tool": "add"}]', { thought: 't' }],
  [
    'a name that the arguments swallowed',
    '{"tool_args": {"a": 1, "tool": "add"',
    { calls: [{ ...CALL, complete: false }], repairs: [{ kind: 'hoisted-name' }] },
  ],
])('%s is read', (_title, text, reply) => {
  expect(parseReply(text, { tools: ['add'] })).toMatchObject(reply);
});

test('an unregistered name in the envelope is still a call', () => {
  expect(parseReply('{"tool": "add", "tool_args": {"a": 1}}', { tools: ['sub'] }).calls).toEqual([CALL]);
});

test.each([undefined, null, 7, {}, [], Symbol('x'), () => 1])('what is no text is an empty reply', (input) => {
  const reply: unknown = Reflect.apply(parseReply, undefined, [input]);
  expect(reply).toMatchObject({ calls: [], strategy: 'text' });
});

test('fields that were cut off are no whole call', () => {
  const cut = parseReply('"thought": "t", "tool": "add", "tool_args": {"a": 1');
  expect(cut).toMatchObject({ strategy: 'fields', complete: false, calls: [{ name: 'add', complete: false }] });
});

test('fields on lines of their own are recovered without quotes', () => {
  const reply = parseReply('thought: I add, then stop\ntool: add\ntool_args: {"a": 1}');
  expect(reply).toMatchObject({ strategy: 'fields', thought: 'I add, then stop', calls: [CALL] });
});

test.each(['{"answer":{"-:":false},"unit":null}', '{"thought":"hm","answer":{"-:":"}"},"tool":"","unit":1}'])(
  'valid JSON that is no envelope holds no broken one: %s',
  (text) => expect(parseReply(text)).toMatchObject({ answer: text, calls: [], strategy: 'text' }),
);

test('one field quoted in prose is prose', () => {
  const text = 'Set this line:\n"tool": "add"\nand save.';
  expect(parseReply(text)).toMatchObject({ strategy: 'text', calls: [], answer: text });
});

test('of a list of calls that was cut off, only the last is incomplete', () => {
  const reply = parseReply('[{"tool": "add", "tool_args": {"a": 1}}, {"tool": "add", "tool_args": {"a": 2');
  expect(reply.calls.map(({ complete }) => complete)).toEqual([true, false]);
});

test('what is behind the token that ends the turn is another turn', () => {
  const reply = parseReply('{"tool": "add", "tool_args": {"a": 1}}<|im_end|>\n{"answer": "made up"}');
  expect(reply).toMatchObject({ calls: [CALL] });
  expect(reply.answer).toBeUndefined();
});

test('an object that only has a plan among other things is data', () => {
  const text = '{"plan": "premium", "seats": 3}';
  expect(parseReply(text)).toMatchObject({ strategy: 'text', answer: text });
});
