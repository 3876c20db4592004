import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';
import { SPELLINGS } from './dialect-spellings.ts';

const TOOLS = ['add', 'note'];
const ADD_JSON = '{"a": 1, "b": [2]}';
const ADD = { name: 'add', args: { a: 1, b: [2] }, complete: true };

test.each([
  ['add{}', {}],
  ['add{a:true,b:None,c:-1.5e3,d:word}', { a: true, b: null, c: -1500, d: 'word' }],
  ['add{a:{b:{c:[{d:<|"|>{e}<|"|>}]}},f:[]}', { a: { b: { c: [{ d: '{e}' }] } }, f: [] }],
  ['add{a:"he said \\"x\\"",b:<|"|>\\n"<|"|>}', { a: 'he said "x"', b: '\\n"' }],
])('Gemma spells values of its own: %s', (spelt, args) => {
  expect(parseReply(`<|tool_call>call:${spelt}<tool_call|>`, { tools: TOOLS }).calls).toEqual([
    { name: 'add', args, complete: true },
  ]);
});

test('elements within an element are read by the schema of its parameter', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      place: {
        type: 'object',
        properties: { zip: { type: 'string' }, at: { type: 'string' }, no: { type: 'integer' } },
      },
      tags: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] },
      markup: { type: 'string' },
    },
  };
  const text =
    '<invoke name="add"><place><zip>00123</zip><at><b>1</b></at><no>7</no></place><tags><item>1</item><item>null</item></tags><markup><b>x</b></markup></invoke>';
  expect(parseReply(text, { tools: [{ name: 'add', inputSchema }] }).calls).toMatchObject([
    {
      args: { place: { zip: '00123', at: '<b>1</b>', no: 7 }, tags: ['1', 'null'], markup: '<b>x</b>' },
      complete: true,
    },
  ]);
});

test('DeepSeek says itself which values are text, whatever they look like', () => {
  const parameter = (name: string, isText: boolean, value: string): string =>
    `<｜DSML｜parameter name="${name}" string="${String(isText)}">${value}</｜DSML｜parameter>`;
  const text = `<｜DSML｜invoke name="add">${parameter('a', true, '1')}${parameter('b', false, '[2]')}</｜DSML｜invoke>`;
  expect(parseReply(text, { tools: TOOLS }).calls).toMatchObject([{ args: { a: '1', b: [2] }, complete: true }]);
});

test('arguments that DeepSeek wrapped once more are unwrapped where the tool has no such parameter', () => {
  const text =
    '<｜DSML｜invoke name="add"><｜DSML｜parameter name="arguments" string="false">{"a": 1}</｜DSML｜parameter></｜DSML｜invoke>';
  const schema = (key: string): object => ({ type: 'object', properties: { [key]: {} } });
  const calls = (key: string): unknown =>
    parseReply(text, { tools: [{ name: 'add', inputSchema: schema(key) }] }).calls;
  expect(calls('a')).toMatchObject([{ args: { a: 1 } }]);
  expect(calls('arguments')).toMatchObject([{ args: { arguments: { a: 1 } } }]);
});

test('what gpt-oss says to the assistant is a message, and a turn that it makes up calls nothing', () => {
  const answer = '<|channel|>commentary to=assistant<|channel|>final<|message|>Hello.';
  expect(parseReply(answer, { tools: [...TOOLS, 'assistant'] })).toMatchObject({ answer: 'Hello.', calls: [] });
  const called = `<|channel|>commentary to=functions.add<|message|>${ADD_JSON}<|call|>`;
  const made = '<|start|>functions.add to=assistant<|channel|>commentary<|message|>{"sum": 3}<|end|>';
  const after = '<|start|>assistant<|channel|>commentary to=functions.note<|message|>{"text": "3"}<|call|>';
  for (const textCalls of ['lenient', 'whole-reply'] as const) {
    expect(parseReply(called + made + after, { tools: TOOLS, textCalls }).calls).toEqual([ADD]);
  }
});

test('a call of Kimi without a name is no call, whatever its arguments look like', () => {
  const text = `<|tool_call_begin|>0<|tool_call_argument_begin|>{"name": "add", "arguments": ${ADD_JSON}}<|tool_call_end|>`;
  expect(parseReply(text, { tools: TOOLS }).calls).toEqual([]);
});

test.each([
  [
    'Kimi K3',
    '<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Hello.<|close|>response<|sep|><|close|>message<|sep|>',
  ],
  ['Kimi K3, begun in the prompt', 'hm<|close|>think<|sep|><|open|>response<|sep|>Hello.<|close|>response<|sep|>'],
  [
    'Inkling',
    '<|message_model|><|content_thinking|>hm<|end_message|><|message_model|><|content_text|>Hello.<|end_message|>',
  ],
])('thoughts and answers without their marks: %s', (_title, text) => {
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({ thought: 'hm', answer: 'Hello.', calls: [] });
});

const SCHEMAS = [
  { name: 'note', inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
  { name: 'add', inputSchema: { type: 'object', properties: { a: { type: 'integer' } } } },
];
const note = (text: string): object => ({ name: 'note', args: { text }, complete: true });

const calls = (text: string): readonly object[] =>
  parseReply(text, { tools: SCHEMAS }).calls.map(({ name, args, complete }) => ({ name, args, complete }));

/** The marks that a format writes before and behind a text. */
function marksOf(spell: (text: string) => string): readonly [string, string] {
  const [open = '', close = ''] = spell('HERE').split('HERE');
  return [open, close];
}

const PLAIN: readonly string[] = [
  'say "hi", \'he\' and `she` \\ done',
  'line one\nline two\n\n- item: {x}\n```js\nadd(a=1)\n```',
  '{"name": "add", "arguments": {"a": 1}}',
  '007',
  'null',
  'a, b; '.repeat(40),
  'x < y && {a: [1]} "q" '.repeat(110),
];

test.each(SPELLINGS)('$name: a text is taken exactly as it stands', ({ spell }) => {
  for (const text of PLAIN) expect(calls(spell(text))).toEqual([note(text)]);
});

test.each(SPELLINGS)('$name: the calls of all other formats in a text call nothing', ({ family, spell }) => {
  for (const other of SPELLINGS.filter((one) => one.family !== family)) {
    const [open, close] = marksOf(other.spell);
    for (const text of [other.spell('Paris'), `see ${open} there`, `see ${close} there`]) {
      expect(calls(spell(text))).toEqual([note(text)]);
    }
  }
});

test.each(SPELLINGS)('$name: its own marks in a text never cut the text of a call that runs', ({ spell, quotes }) => {
  const [open, close] = marksOf(spell);
  for (const text of [spell('Paris'), `see ${open} there`, `see ${close} there`, close]) {
    const read = calls(spell(text));
    if (quotes) expect(read).toEqual([note(text)]);
    else expect([[], [note(text)]]).toContainEqual(read.filter((call) => 'complete' in call && call.complete === true));
  }
});

test.each(SPELLINGS)('$name: a call that was cut anywhere runs with its whole text or not at all', ({ spell }) => {
  for (const text of ['Hello, {big} "world"!', 'a\nb', spell('Paris')]) {
    const whole = spell(text);
    for (let end = 1; end <= whole.length; end += 1) {
      const run = calls(whole.slice(0, end)).filter((call) => 'complete' in call && call.complete === true);
      expect([[], [note(text)]]).toContainEqual(run);
    }
  }
});

test('calls before one whose text holds closing marks do not run either, because they may be a part of it', () => {
  const [open, close] = marksOf((text) => `<function=note><parameter=text>${text}</parameter></function>`);
  const read = calls(`${open}a${close}${open}b${close} and ${close}`);
  expect(read).toMatchObject([{ complete: false }, { complete: false }]);
});

test('line breaks around a text are left out only where the format puts them there', () => {
  expect(calls('<function=note><parameter=text>\nx</parameter></function>')).toEqual([note('x')]);
  expect(calls('<function=note><parameter=text>\n\nx\n  \n</parameter></function>')).toEqual([note('\nx\n  ')]);
  const invoke = (text: string): string => `<invoke name="note"><parameter name="text">${text}</parameter></invoke>`;
  expect(calls(invoke('\nx\n'))).toEqual([note('\nx\n')]);
  const dsml = invoke('\nx\n').replaceAll(/(<\/?)(?=[ip])/g, '$1｜DSML｜');
  expect(calls(dsml)).toEqual([note('\nx\n')]);
});

test('what Gemma makes up as the result of its call, and what follows, calls nothing', () => {
  const made = '<|tool_response>response:note{value:1}<tool_response|><|tool_call>call:add{a:1}<tool_call|>';
  expect(calls(`<|tool_call>call:note{text:<|"|>x<|"|>}<tool_call|>${made}`)).toEqual([note('x')]);
});

test('a call between marks within a running sentence is only mentioned', () => {
  const call = '<|tool_call_start|>[note(text="x")]<|tool_call_end|>';
  const read = (text: string): number => parseReply(text, { tools: SCHEMAS, textCalls: 'narrated' }).calls.length;
  expect([read(`I call it.\n${call}\nThat was it.`), read(`I call it.\n${call} and so on.`)]).toEqual([1, 0]);
});

test('a tag without a name owns nothing behind it', () => {
  const text = 'I leave <invoke> tags alone.\n{"name": "note", "arguments": {"text": "x"}}';
  expect(calls(text)).toEqual([note('x')]);
});

test('sections that follow each other are one text', () => {
  const text = '<function name="note"><param name="text"><![CDATA[a ]]]]><![CDATA[> b]]></param></function>';
  expect(calls(text)).toEqual([note('a ]]> b')]);
});
