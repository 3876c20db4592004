import { expect, test } from 'vitest';
import { MARKED_DIALECTS } from '../../src/parsing/dialects/index.ts';
import { createReplyStream, parseReply, type PartialReply } from '../../src/parsing/index.ts';
import type { TextCalls } from '../../src/parsing/reply/reply-source.ts';

/** What a user interface sees after each piece. */
function watch<T>(
  text: string,
  size: number,
  see: (partial: PartialReply) => T,
  textCalls: TextCalls = 'lenient',
): readonly T[] {
  const stream = createReplyStream({ tools: ['add'], textCalls });
  const seen: T[] = [];
  for (let i = 0; i < text.length; i += size) seen.push(see(stream.push(text.slice(i, i + size))));
  return seen;
}

test('the answer grows without the envelope around it', () => {
  const seen = watch('{"thought": "easy", "answer": "It is 21 degrees"}', 7, ({ answer }) => answer);
  expect(seen).toEqual([undefined, undefined, undefined, undefined, 'It i', 'It is 21 de', 'It is 21 degrees']);
});

test('the thought grows first', () => {
  const stream = createReplyStream();
  expect(stream.push('{"thought": "I nee').thought).toBe('I nee');
  expect(stream.push('d more').thought).toBe('I need more');
  expect(stream.partial.phase).toBe('envelope');
});

test('a tool is named when its name is whole, its arguments come when they are', () => {
  const stream = createReplyStream();
  expect(stream.push('{"tool": "ad').calls).toEqual([]);
  expect(stream.push('d", "tool_args": {"a": ').calls).toEqual([{ name: 'add', args: {}, complete: false }]);
  expect(stream.push('1}').calls).toEqual([{ name: 'add', args: { a: 1 }, complete: false }]);
  expect(stream.push('}').calls).toEqual([{ name: 'add', args: { a: 1 }, complete: true }]);
});

const ENVELOPE = '{"tool": "add", "tool_args": {"a": 1}}';
const PLANNED = '{"thought": "x", "plan": [{"tool": "add"}]}';

test.each(['whole-reply', 'narrated'] as const)('%s: nothing is complete before the end, which may be text', (mode) => {
  const stream = createReplyStream({ tools: ['add'], textCalls: mode });
  expect(stream.push(ENVELOPE).calls).toEqual([{ name: 'add', args: { a: 1 }, complete: false }]);
  expect(stream.push(' is what I would write, or so.')).toMatchObject({
    phase: mode === 'narrated' ? 'envelope' : 'text',
  });
  expect(stream.end()).toMatchObject({ calls: [], strategy: 'text' });
  const plan = createReplyStream({ tools: ['add'], textCalls: mode });
  expect(plan.push(PLANNED).plan).toEqual([{ tool: 'add', args: {}, complete: false }]);
  plan.end();
  expect(plan.partial.plan).toEqual([{ tool: 'add', args: {}, complete: true }]);
});

test('whole-reply: a call in another form is announced at the end', () => {
  const stream = createReplyStream({ tools: ['add'], textCalls: 'whole-reply' });
  expect(stream.push('{"name": "add", "arguments": {}}').phase).toBe('waiting');
  expect(stream.push(' is a call.').phase).toBe('text');
});

test('a call behind prose may be a part of it until the end', () => {
  const stream = createReplyStream({ tools: ['add'] });
  expect(stream.push(`1. ${ENVELOPE}`).calls).toEqual([{ name: 'add', args: { a: 1 }, complete: false }]);
  expect(stream.end().calls).toEqual([]);
});

test('plain text is shown as it comes, without trailing space', () => {
  expect(watch('Hello  there! ', 4, ({ answer }) => answer)).toEqual([
    'Hell',
    'Hello  t',
    'Hello  there',
    'Hello  there!',
  ]);
});

test('prose before an envelope is taken back', () => {
  const stream = createReplyStream();
  expect(stream.push('Sure! ').answer).toBe('Sure!');
  expect(stream.push('```json\n{"thought": "x').answer).toBeUndefined();
  expect(stream.push('", "answer": "Done').answer).toBe('Done');
});

test('braces in prose stay prose', () => {
  const stream = createReplyStream();
  stream.push('Use {name} and {"a": 1} here');
  expect(stream.partial.answer).toBe('Use {name} and {"a": 1} here');
});

test('a reasoning block is the thought', () => {
  const stream = createReplyStream();
  expect(stream.push('<thi').phase).toBe('waiting');
  expect(stream.push('nk>hm {not')).toMatchObject({ phase: 'thinking', thought: 'hm {not' });
  expect(stream.push('}</think>Yes')).toMatchObject({ phase: 'text', thought: 'hm {not}', answer: 'Yes' });
});

test('a tool call in a format of the model is never shown as an answer', () => {
  const text = 'I look.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
  const stream = createReplyStream({ tools: ['add'] });
  stream.push(text);
  expect(stream.partial).toMatchObject({ phase: 'calls', calls: [] });
  expect(stream.partial.answer).toBeUndefined();
  expect(stream.end().calls).toEqual([{ name: 'add', args: { a: 1 }, complete: true }]);
});

test('an escape or a character cut in two is held back until it is whole', () => {
  const stream = createReplyStream();
  expect(stream.push('{"answer": "a\\u00').answer).toBe('a');
  expect(stream.push('e9\\').answer).toBe('aé');
  expect(stream.push('n\ud83d').answer).toBe('aé\n');
  expect(stream.push('\ude00"}').answer).toBe('aé\n😀');
});

test('a plan comes when it is whole', () => {
  const stream = createReplyStream();
  expect(stream.push('{"plan": [{"tool": "a"}, {"too').plan).toBeUndefined();
  expect(stream.push('l": "b"}]').plan?.map(({ tool }) => tool)).toEqual(['a', 'b']);
});

test('the end is what the whole text says', () => {
  const text = "Sure:\n{'thought': 't', 'tool': 'add', 'tool_args': {'a': 1}}";
  const stream = createReplyStream();
  for (const character of text) stream.push(character);
  expect(stream.end()).toEqual(parseReply(text));
});

/** The answers that a user sees while a text arrives character by character. */
const answers = (text: string, textCalls?: TextCalls) => watch(text, 1, ({ answer = '' }) => answer, textCalls);
const shown = (text: string, textCalls?: TextCalls) => answers(text, textCalls).at(-1);
const CALL = '{"name": "add", "arguments": {"a": 1}}';
const MODES = ['never', 'whole-reply', 'lenient'] as const;

test('once the message is whole, all that was held back is decided', () => {
  const stream = createReplyStream({ tools: ['add'] });
  stream.push('A bracket opens with {');
  expect(stream.partial.answer).toBe('A bracket opens with');
  stream.end();
  expect(stream.partial).toMatchObject({ phase: 'text', answer: 'A bracket opens with {' });
});

test.each([
  'Use f({a: 1}) like this: `f({b})`, and {never} mind.',
  'See [1], [add] and [2, 3]; add(1) is two, as add (the tool) says.',
  'add is a tool.\nadd(1) gives two.\nTo add: call me, maybe. Action: none.',
  'The <tool_call> tag opens a call, and [TOOL_CALLS] does, too; `<function=add>` is quoted.',
  '```js\nconst a = {"b": {"tool": "add"}};\n```\n<b>bold</b> <|odd|> 1 < 2 > 1 >> x',
  '{"rows": [{"tool": "add", "tool_args": {}}], "answer": 1} is what came back.',
  '{"name": "Bob", "arguments": "none"}',
  '[{"id": 1, "type": "a"}, {"id": 2}]',
  'Write `{"tool": "add"}` or `<tool_call>{"name": "add"}</tool_call>` or `add\n',
  'x = add{"b": 1} is odd; Action: {"b": 1} is no call.',
  'Inside a fence:\n```\n<think>not a thought</think>\n```\nand in prose <think> as well.',
])('an answer does not vanish: %s', (text) => {
  for (const mode of MODES) {
    const seen = answers(text, mode);
    for (const [i, answer] of seen.entries())
      expect(answer.startsWith(seen[i - 1] ?? ''), `${mode}: ${answer}`).toBe(true);
    expect(text.startsWith(seen.at(-1) ?? '')).toBe(true);
    expect(text.length - (seen.at(-1) ?? '').length).toBeLessThanOrEqual(1);
  }
});

test.each([
  ['brackets', '['],
  ['back-ticks', '`'],
  ['a key that does not end', '{"', 'a key '],
  ['a mark and nothing behind it', '<tool_call>', '* '],
  ['a header that does not end', '<|channel|>', 'to be '],
])('nothing is held back for ever: %s', (_title, opening, more = opening) => {
  expect((shown(opening + more.repeat(300)) ?? '').length).toBeGreaterThan(90);
});

test('a character cut in two is shown when it is whole', () => {
  expect(answers('b\ud83d\ude00')).toEqual(['b', 'b', 'b😀']);
});

test('data is shown as soon as its first key says that it is no envelope', () => {
  for (const mode of MODES) expect(shown('{"rows": [', mode)).toBe('{"rows": [');
});

test('an envelope has its own fields only: with another one it is shown as it stands', () => {
  for (const mode of MODES) {
    const seen = answers('{"thought": "t", "answer": "42", "unit": "kg"}', mode);
    expect(seen).toContain('42');
    expect(seen.at(-1)).toBe('{"thought": "t", "answer": "42", "unit": "kg"}');
  }
  expect(shown('{"plan": "premium", "tool": "none"}')).toBe('{"plan": "premium", "tool": "none"}');
});

const markers = MARKED_DIALECTS.flatMap(({ markers: own }) => own).filter((mark) => mark !== '<|message|>');

test.each(markers)('the mark %s of a call is never shown as an answer', (mark) => {
  const bare = /^[<[]/.test(mark) ? [`I look.\n${mark}\n${CALL}`] : [];
  for (const text of [`I look. ${mark}add\n`, `I look.\n${mark} "add" `, ...bare]) {
    const seen = answers(text);
    for (const answer of seen) expect(answer.toLowerCase()).not.toContain(mark.toLowerCase());
    for (const answer of seen) expect(answer).not.toContain('arguments');
  }
});

test.each([
  CALL,
  `Sure:\n${CALL}`,
  `[${CALL}]`,
  '```json\n' + CALL + '\n```',
  '```\n[' + CALL + ', ' + CALL + ']\n```',
  "{'name': 'add', 'arguments': {'a': 1}}",
  '{"arguments": {"a": 1}, "name": "add"}',
  '{"tool_calls": [{"name": "add", "arguments": {}}]}',
  '{"type": "function", "function": {"name": "add", "parameters": {}}}',
  '{tool: "add", tool_args: {}}',
  'add\n{"a": 1}',
  'ADD\n{"a": 1}',
  'functions.add {"a": 1}',
  'add:\n{"a": 1}',
  '[add(a=1)]',
  'Now: [ add(a=1), add(a=2)]',
  'add(a=1)\n',
  'add(a="x)", b=(1)), add(a=2)',
  'result = add(a=1)  # two\n',
  '```python\nadd(a=1)\n```',
  'Action: add\nAction Input: {"a": 1}',
  '<function_calls><invoke name="add"><parameter name="a">1</parameter></invoke></function_calls>',
  '<tool_call>\n<function=add>\n<parameter=a>1</parameter>\n</function>\n</tool_call>',
  '<tool_call>add\n<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>',
  '<longcat_tool_call>' + CALL + '</longcat_tool_call>',
  '<tool_calls:opensource><tool_call:opensource>add<tool_sep:opensource>{"a": 1}<end_of_tool_call:opensource>',
  '<ifm|tool_calls><ifm|tool_call>add<ifm|arg_key>a</ifm|arg_key><ifm|arg_value>1</ifm|arg_value></ifm|tool_call>',
  '<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>{"a": 1}<|tool_call:end|><|calls|>',
  '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```',
  '<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}',
  '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}',
  '<|channel|>commentary to=add<|message|>{"a": 1}',
  ' to=functions.add<|channel|>analysis<|message|>{"a": 1}',
  '<|python_tag|>' + CALL,
  '[TOOL_CALLS]add[ARGS]{"a": 1}',
  'functools[' + CALL + ']',
  '✿FUNCTION✿: add\n✿ARGS✿: {"a": 1}\n✿RESULT✿',
  '[THINK]Shall I?[/THINK]' + CALL,
])('a call is never shown as an answer: %s', (text) => {
  for (const answer of answers(text)) expect(answer).not.toMatch(/add|[{<[|(]|tool|name|functions|```/i);
  expect(watch(text, 1, ({ phase }) => phase).at(-1)).not.toBe('thinking');
});

test.each(['<tool_call>add', '<tool_call>' + CALL, 'add(a=1)\n', '[add(a=1)]', CALL])(
  'where no text is a call, all text is the answer: %s',
  (text) => {
    expect(shown(text, 'never')).toBe(text.trim());
    expect(shown(`Hello ${text}`, 'whole-reply')).toBe(`Hello ${text}`.trim());
  },
);

test.each([CALL, '```json\n' + CALL + '\n```', `<tool_call>${CALL}</tool_call>\n<|im_end|>`, `[${CALL},\n${CALL}]`])(
  'a message that may be a call as a whole is held back, and shown when more follows: %s',
  (text) => {
    expect(answers(text, 'whole-reply').every((answer) => answer === '')).toBe(true);
    expect(answers(`<think>hm</think>\n${text}`, 'whole-reply').every((answer) => answer === '')).toBe(true);
  },
);

test.each([CALL, '```json\n' + CALL + '\n```', `<tool_call>${CALL}</tool_call>`])(
  'a message that begins with a call but goes on is text: %s',
  (text) => {
    expect(shown(`${text}\nThat is how.`, 'whole-reply')).toBe(`${text}\nThat is how.`);
  },
);

test('where no text is a call, an envelope with a thought still gives its answer, and none without', () => {
  for (const mode of ['never', 'whole-reply'] as const) {
    const seen = answers('{"thought": "easy", "answer": "It is 21"} <|im_end|>', mode);
    expect(seen).toContain('It i');
    expect(seen.at(-1)).toBe('It is 21');
    expect(shown('{"answer": "It is 21"}', mode)).toBe('{"answer": "It is 21"}');
    expect(shown('{"thought": "t", "answer": "It is"} Yes', mode)).toBe('{"thought": "t", "answer": "It is"} Yes');
    expect(shown('See {"thought": "t", "answer": "It is"}', mode)).toBe('See {"thought": "t", "answer": "It is"}');
  }
  expect(shown('{"thought": "t", "answer": "a"} {"b', 'never')).toBe('{"thought": "t", "answer": "a"} {"b');
  expect(shown('{"thought": "t", "answer": 42}', 'never')).toBe('{"thought": "t", "answer": 42}');
  expect(shown('{"thought": "t", "tool": "add"}', 'never')).toBe('{"thought": "t", "tool": "add"}');
});

test.each([
  '<think>hm</think>',
  '<seed:think>hm</seed:think>',
  '<think:opensource>hm</think:opensource>',
  '<|think|>hm<|end|><|begin|>assistant<|content|>',
  '[THINK]hm[/THINK]',
  '◁think▷hm◁/think▷',
  '<|START_THINKING|>hm<|END_THINKING|>',
  '<|channel>thought\nhm<channel|>',
  '<scratchpad>hm</scratchpad>',
  'hm</think>\n',
])('reasoning is not the answer, with whatever tags: %s', (text) => {
  for (const mode of MODES) {
    const stream = createReplyStream({ tools: ['add'], textCalls: mode });
    for (const char of `${text}Yes`) stream.push(char);
    expect(stream.partial).toMatchObject({ thought: 'hm', answer: 'Yes' });
  }
});

test('what stands before a closing tag that is only mentioned is kept', () => {
  expect(shown('The `</think>` tag, or </think> as such, ends a thought.')).toBe(
    'The `</think>` tag, or </think> as such, ends a thought.',
  );
});

test('reasoning is shown as it is written, block after block', () => {
  const stream = createReplyStream();
  stream.push('<think>a<b<c</b</think>\n<think>so</think>Yes');
  expect(stream.partial).toMatchObject({ thought: 'a<b<c</b\nso', answer: 'Yes' });
});

test('channels say what is thought and what is answered', () => {
  const stream = createReplyStream({ tools: ['add'] });
  stream.push('<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>');
  expect(stream.partial).toMatchObject({ phase: 'text', thought: 'hm', answer: 'Yes' });
  const open = createReplyStream();
  open.push('<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>Yes');
  expect(open.partial).toMatchObject({ thought: 'hm', answer: 'Yes' });
});

test('special tokens at the beginning and the end are not shown, in the middle they are', () => {
  for (const mode of MODES) {
    expect(shown('<|im_start|>assistant\nYes<|im_end|></s>\n', mode)).toBe('Yes');
    expect(shown('Yes <|im_end|> no', mode)).toBe('Yes <|im_end|> no');
  }
});

test.each([
  `{"tool": "add", "tool_args": {"a": 1,},}`,
  `{'thought': 'hm', 'tool': 'add', 'tool_args': {'a': 1}}`,
  `{"tool": "add", "tool_args": {"a": 1}}`,
  `{"tool": "add"}`,
])('a call that is shown as complete has the arguments that it ends with: %s', (text) => {
  const stream = createReplyStream({ tools: ['add'], textCalls: 'lenient' });
  const complete = text.split('').flatMap((char) => stream.push(char).calls.filter((call) => call.complete));
  const { calls } = stream.end();
  expect(calls).toHaveLength(1);
  for (const call of complete) expect(calls).toContainEqual(call);
  expect(stream.partial.calls).toEqual(calls);
});

test('a long answer that comes in small pieces is not read again with each of them', () => {
  const stream = createReplyStream();
  stream.push('{"thought": "a", "answer": "');
  for (let i = 0; i < 250_000; i += 1) stream.push('abcd');
  expect(stream.partial.answer).toHaveLength(1_000_000);
});
