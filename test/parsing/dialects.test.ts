import { expect, test } from 'vitest';
import { parseReply } from '../../src/parsing/index.ts';

const TOOLS = ['add', 'note', '天気'];
const ADD = { name: 'add', args: { a: 1, b: [2] }, complete: true };
const NOTE = { name: 'note', args: { text: 'x "y"' }, complete: true };
const ADD_JSON = '{"a": 1, "b": [2]}';

const WHOLE: readonly (readonly [string, string, string])[] = [
  ['hermes', 'Hermes and Qwen', `<tool_call>\n{"name": "add", "arguments": ${ADD_JSON}}\n</tool_call>`],
  ['hermes', 'Hermes closed by the next turn', `<tool_call>\n{"name": "add", "arguments": ${ADD_JSON}}<|im_start|>`],
  ['hermes', 'Hermes in Python', `<tool_call>\n{'name': 'add', 'arguments': {'a': 1, 'b': [2]}}\n</tool_call>`],
  ['hermes', 'a list between the tags', `<tool_calls>[{"name": "add", "arguments": ${ADD_JSON}}]</tool_calls>`],
  [
    'function-tags',
    'Qwen3-Coder',
    '<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n[2]\n</parameter>\n</function>\n</tool_call>',
  ],
  ['function-tags', 'Llama with JSON between its tags', `<function=add>${ADD_JSON}</function>`],
  ['longcat', 'LongCat', `<longcat_tool_call>{"name": "add", "arguments": ${ADD_JSON}}</longcat_tool_call>`],
  ['granite', 'Granite', `<function_call> {"name": "add", "arguments": ${ADD_JSON}}`],
  ['llama', 'Llama 3', `<|python_tag|>{"name": "add", "parameters": ${ADD_JSON}}<|eom_id|>`],
  ['mistral', 'Mistral, old', `[TOOL_CALLS] [{"name": "add", "arguments": ${ADD_JSON}}]`],
  ['mistral', 'Mistral, new', `[TOOL_CALLS]add${ADD_JSON}`],
  ['mistral', 'Mistral with its argument mark', `[TOOL_CALLS]add[ARGS]${ADD_JSON}</s>`],
  [
    'deepseek',
    'DeepSeek V3',
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n\`\`\`json\n${ADD_JSON}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  ],
  [
    'deepseek',
    'DeepSeek V3.1',
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>${ADD_JSON}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  ],
  [
    'invoke-tags',
    'DSML of DeepSeek',
    '<｜DSML｜function_calls><｜DSML｜invoke name="add"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter><｜DSML｜parameter name="b">[2]</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
  ],
  [
    'kimi',
    'Kimi K2',
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>${ADD_JSON}<|tool_call_end|><|tool_calls_section_end|>`,
  ],
  [
    'solar',
    'Solar Open',
    `<|tool_calls|><|tool_call:begin|>a1b2<|tool_call:name|>add<|tool_call:args|>${ADD_JSON}<|tool_call:end|><|calls|>`,
  ],
  [
    'solar',
    'Solar Open without an id',
    `<|tool_calls|><|tool_call:begin|><|tool_call:name|>add\n<|tool_call:args|>${ADD_JSON}<|tool_call:end|>`,
  ],
  ['named-object', 'GLM 4', `add\n${ADD_JSON}`],
  [
    'glm',
    'GLM 4.5',
    '<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>[2]</arg_value>\n</tool_call>',
  ],
  [
    'hunyuan',
    'Hunyuan 3',
    '<tool_calls:opensource>\n<tool_call:opensource>add<tool_sep:opensource>\n<arg_key:opensource>a</arg_key:opensource>\n<arg_value:opensource>1</arg_value:opensource>\n<arg_key:opensource>b</arg_key:opensource>\n<arg_value:opensource>[2]</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>',
  ],
  [
    'hunyuan',
    'Hunyuan 3 with JSON',
    `<tool_call:opensource>add<tool_sep:opensource>${ADD_JSON}<end_of_tool_call:opensource>`,
  ],
  ['glm', 'Hunyuan with JSON', `<tool_calls><tool_call>add<tool_sep>\n${ADD_JSON}</tool_call></tool_calls>`],
  [
    'k2-horizon',
    'K2 Horizon',
    '<ifm|tool_calls><ifm|tool_call>add<ifm|arg_key>a</ifm|arg_key><ifm|arg_value>1</ifm|arg_value><ifm|arg_key>b</ifm|arg_key><ifm|arg_value>[2]</ifm|arg_value></ifm|tool_call></ifm|tool_calls>',
  ],
  [
    'longcat',
    'LongCat with its own tags around arguments',
    '<longcat_tool_call>add\n<longcat_arg_key>a</longcat_arg_key>\n<longcat_arg_value>1</longcat_arg_value>\n<longcat_arg_key>b</longcat_arg_key>\n<longcat_arg_value>[2]</longcat_arg_value>\n</longcat_tool_call>',
  ],
  [
    'invoke-tags',
    'Muse',
    '<atem:function_calls><atem:invoke name="add"><atem:parameter name="a">1</atem:parameter><atem:parameter name="b">[2]</atem:parameter></atem:invoke></atem:function_calls>',
  ],
  [
    'invoke-tags',
    'MiniMax',
    '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n<parameter name="b">[2]</parameter>\n</invoke>\n</minimax:tool_call>',
  ],
  [
    'invoke-tags',
    'Step3',
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="add"><steptml:parameter name="a">1</steptml:parameter><steptml:parameter name="b">[2]</steptml:parameter></steptml:invoke><｜tool_call_end｜>',
  ],
  [
    'cohere',
    'Cohere',
    `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "add", "parameters": ${ADD_JSON}}]<|END_ACTION|>`,
  ],
  [
    'cohere',
    'Cohere, whose thoughts began in the prompt',
    `<|END_THINKING|><|START_ACTION|>[{"tool_name": "add", "parameters": ${ADD_JSON}}]<|END_ACTION|>`,
  ],
  ['phi', 'Phi-4', `<|tool_call|>[{"name": "add", "arguments": ${ADD_JSON}}]<|/tool_call|>`],
  ['phi', 'functools', `functools[{"name": "add", "arguments": ${ADD_JSON}}]`],
  ['internlm', 'InternLM', `<|action_start|><|plugin|>{"name": "add", "parameters": ${ADD_JSON}}<|action_end|>`],
  [
    'harmony',
    'gpt-oss',
    `<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>${ADD_JSON}<|call|>`,
  ],
  [
    'harmony',
    'gpt-oss with the recipient before the channel',
    `<|start|>assistant to=functions.add<|channel|>commentary <|constrain|>json<|message|>${ADD_JSON}<|call|>`,
  ],
  [
    'harmony',
    'gpt-oss whose first tokens stood in the prompt',
    `to=functions.add<|channel|>commentary json<|message|>${ADD_JSON}`,
  ],
  [
    'harmony',
    'gpt-oss that calls from its thoughts',
    `<|channel|>analysis to=functions.add code<|message|>${ADD_JSON}<|call|>`,
  ],
  ['gemma', 'Gemma 4', '<|tool_call>call:add{a:1,b:[2]}<tool_call|>'],
  ['gemma', 'FunctionGemma', '<start_function_call>call:add{a:1,b:[2]}<end_function_call>'],
  ['gemma', 'Gemma 4 with keys and words as in JSON', '<|tool_call>call:add{"a": 1, <|"|>b<|"|>: [ 2 ]}'],
  ['olmo', 'Olmo 3', '<function_calls>\nadd(a=1, b=[2])\n</function_calls>'],
  ['olmo', 'Olmo 3 on one line', '<function_calls>add(a=1, b=[2])</function_calls>'],
  ['lfm2', 'LFM2', '<|tool_call_start|>[add(a=1, b=[2])]<|tool_call_end|>'],
  ['lfm2', 'LFM2 with a prefix before the name', '<|tool_call_start|>[functions.add(a=1, b=[2])]<|tool_call_end|>'],
  ['lfm2', 'LFM2 in JSON', `<|tool_call_start|>[{"name": "add", "arguments": ${ADD_JSON}}]<|tool_call_end|>`],
  ['llama4', 'Llama 4', '<|python_start|>[add(a=1, b=[2])]<|python_end|>'],
  ['gigachat', 'GigaChat 3', `<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "add", "arguments": ${ADD_JSON}}`],
  [
    'gigachat',
    'GigaChat 3 without its first mark',
    `function call<|role_sep|>\n{"name": "add", "arguments": ${ADD_JSON}}</s>`,
  ],
  [
    'inkling',
    'Inkling',
    `<|message_model|>add<|content_invoke_tool_json|>{"name":"add","args":${ADD_JSON}}<|end_message|>`,
  ],
  [
    'kimi-k3',
    'Kimi K3',
    '<|open|>tools<|sep|><|open|>call tool="add" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|><|open|>argument key="b" type="array"<|sep|>[2]<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
  ],
  [
    'kimi-k3',
    'Kimi K3 with one object',
    `<|open|>call tool="add" index="1"<|sep|><|open|>json type="object"<|sep|>${ADD_JSON}<|close|>json<|sep|><|close|>call<|sep|>`,
  ],
  [
    'invoke-tags',
    'MiniMax-M3',
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="add">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[<b>]<]minimax[>[<item>2]<]minimax[>[</item>]<]minimax[>[</b>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  ],
  ['invoke-tags', 'elements named like their parameters', '<invoke name="add"><a>1</a><b>[2]</b></invoke>'],
  [
    'function-elements',
    'MiniCPM 5',
    '<function name="add"><param name="a">1</param><param name="b">[2]</param></function>',
  ],
  ['qwen-agent', 'Qwen-Agent', `✿FUNCTION✿: add\n✿ARGS✿: ${ADD_JSON}`],
  ['qwen-agent', 'Qwen-Agent with what stops it', `✿FUNCTION✿: add\n✿ARGS✿: ${ADD_JSON}\n✿RESULT✿`],
  [
    'qwen-agent',
    'Qwen-Agent with a made-up result',
    `✿FUNCTION✿: add\n✿ARGS✿: ${ADD_JSON}\n✿RESULT✿: 3\n✿FUNCTION✿: note\n✿ARGS✿: {}\n✿RETURN✿: It is 3.`,
  ],
  ['functionary', 'Functionary', `<|from|>assistant\n<|recipient|>add\n<|content|>${ADD_JSON}<|stop|>`],
  ['react', 'ReAct', `Thought: I add.\nAction: add\nAction Input: ${ADD_JSON}\nObservation: 3`],
  [
    'bare-json',
    'a list of calls',
    `{"tool_calls": [{"type": "function", "function": {"name": "add", "arguments": ${JSON.stringify(ADD_JSON)}}}]}`,
  ],
  ['bare-json', 'Llama without its tag', `{"name": "add", "parameters": ${ADD_JSON}}`],
  ['pythonic', 'a Python list', '[add(a=1, b=[2])]'],
  ['pythonic', 'Python in a fence', '```python\nadd(a=1, b=[2])\n```\nThis adds.'],
  ['pythonic', 'Python with escaped names', '[add(a=1, b=[2]),]'],
  ['pythonic', 'Python with a dict', '[add({"a": 1, "b": [2]})]'],
  ['pythonic', 'Python with a dict and a keyword', '[add({"a": 1}, b=[2])]'],
  [
    'invoke-tags',
    'Kimi with its name in the JSON, too',
    `<invoke name="add">{"name": "add", "arguments": ${ADD_JSON}}</invoke>`,
  ],
];

test.each(WHOLE)('%s: %s', (dialect, _title, text) => {
  const reply = parseReply(`I call it now.\n${text}`, { tools: TOOLS });
  expect(reply.calls.map(({ name, args, complete }) => ({ name, args, complete }))).toEqual([ADD]);
  expect(reply).toMatchObject({ strategy: 'dialect', dialect, complete: true });
});

/** The one with a sentence behind its fence. */
const ALONE = WHOLE.filter(([, title]) => title !== 'Python in a fence');

test.each(ALONE)('%s: %s, where nothing else may stand in the message', (dialect, _title, text) => {
  const reply = parseReply(text, { tools: TOOLS, textCalls: 'whole-reply' });
  expect(reply.calls.map(({ name, args, complete }) => ({ name, args, complete }))).toEqual([ADD]);
  expect(reply.dialect).toBe(dialect);
});

test.each(WHOLE)('%s: %s, with a name that is not registered, is no call', (_dialect, _title, text) => {
  expect(parseReply(text, { tools: ['other'] }).calls).toEqual([]);
  expect(parseReply(text).calls).toEqual([]);
});

const SEVERAL: readonly (readonly [string, string])[] = [
  [
    'Hermes',
    `<tool_call>{"name": "add", "arguments": ${ADD_JSON}}</tool_call>\n<tool_call>{"name": "note", "arguments": {"text": "x \\"y\\""}}</tool_call>`,
  ],
  [
    'Hermes without closing tags',
    `<tool_call>{"name": "add", "arguments": ${ADD_JSON}}<tool_call>{"name": "note", "arguments": {"text": "x \\"y\\""}}`,
  ],
  ['Mistral', `[TOOL_CALLS]add${ADD_JSON}[TOOL_CALLS]note{"text": "x \\"y\\""}`],
  [
    'Llama',
    `<|python_tag|>{"name": "add", "parameters": ${ADD_JSON}}; {"name": "note", "parameters": {"text": "x \\"y\\""}}`,
  ],
  ['bare JSON', `{"name": "add", "parameters": ${ADD_JSON}}\n{"name": "note", "parameters": {"text": "x \\"y\\""}}`],
  ['Python', `[add(a=1, b=[2]), note(text='x "y"')]`],
  ['lists of Python', `[add(a=1, b=[2])]\n[note(text='x "y"')]`],
  ['Python on lines of their own', `add(a=1, b=[2])\nnote(text='x "y"')\nThat is all.`],
  ['Gemma', '<|tool_call>call:add{a:1,b:[2]}<tool_call|><|tool_call>call:note{text:<|"|>x "y"<|"|>}<tool_call|>'],
  ['Olmo', `<function_calls>add(a=1, b=[2])\nnote(text='x "y"')</function_calls>`],
  ['Olmo on one line', `<function_calls>add(a=1, b=[2]) note(text='x "y"')</function_calls>`],
  [
    'groups of LFM2 with words between them',
    `<|tool_call_start|>[add(a=1, b=[2])]<|tool_call_end|>\nThen:\n<|tool_call_start|>[other(c=1), note(text='x "y"')]<|tool_call_end|>`,
  ],
  [
    'MiniMax-M3',
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="add">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[<b>[2]]<]minimax[>[</b>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name="note">]<]minimax[>[<text>x "y"]<]minimax[>[</text>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  ],
  [
    'sections of Kimi',
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>${ADD_JSON}<|tool_call_end|><|tool_calls_section_end|><|tool_calls_section_begin|><|tool_call_begin|>functions.note:1<|tool_call_argument_begin|>{"text": "x \\"y\\""}<|tool_call_end|><|tool_calls_section_end|>`,
  ],
  [
    'Inkling',
    `<|message_model|>add<|content_invoke_tool_json|>{"name":"add","args":${ADD_JSON}}<|end_message|><|message_model|>note<|content_invoke_tool_json|>{"name":"note","args":{"text":"x \\"y\\""}}<|end_message|>`,
  ],
  [
    'Solar Open',
    `Both.<|flush|><|tool_calls|><|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>${ADD_JSON}<|tool_call:end|><|tool_call:begin|>1<|tool_call:name|>note<|tool_call:args|>{"text": "x \\"y\\""}<|tool_call:end|><|calls|>`,
  ],
  [
    'Hunyuan 3',
    `<tool_call:opensource>add<tool_sep:opensource>${ADD_JSON}<end_of_tool_call:opensource><tool_call:opensource>note<tool_sep:opensource><arg_key:opensource>text</arg_key:opensource><arg_value:opensource>x "y"</arg_value:opensource></tool_call:opensource>`,
  ],
  ['GLM', `add\n${ADD_JSON}\nnote\n{"text": "x \\"y\\""}`],
];

test.each(SEVERAL)('several calls at once: %s', (_title, text) => {
  const { calls } = parseReply(text, { tools: TOOLS });
  expect(calls.map(({ name, args, complete }) => ({ name, args, complete }))).toEqual([ADD, NOTE]);
});

test.each([
  ['<tool_call>', '</tool_call>'],
  ['<longcat_tool_call>', '</longcat_tool_call>'],
  ['<function_call>', '<|end_of_text|>'],
  ['<|START_ACTION|>', '<|END_ACTION|>'],
  ['<|tool_call|>', '<|/tool_call|>'],
  ['<|python_tag|>', '<|eom_id|>'],
  ['<|action_start|><|plugin|>', '<|action_end|>'],
  ['<|tool_call_start|>', '<|tool_call_end|>'],
])('a call behind %s that lacks its last brace is whole where %s ends it, and not without', (open, close) => {
  const call = `${open}{"name": "add", "arguments": ${ADD_JSON}`;
  expect(parseReply(`${call}${close} Done.`, { tools: TOOLS }).calls).toEqual([ADD]);
  expect(parseReply(call, { tools: TOOLS }).calls).toEqual([{ ...ADD, complete: false }]);
});

test('a closing tag inside a string ends nothing', () => {
  const text =
    '<|START_ACTION|>{"tool_name": "note", "parameters": {"text": "say <|END_ACTION|> please"}}<|END_ACTION|>';
  expect(parseReply(text, { tools: TOOLS }).calls).toMatchObject([
    { name: 'note', args: { text: 'say <|END_ACTION|> please' } },
  ]);
});

test('in a fence, a comment calls nothing, and the line behind it does', () => {
  const fenced = (...lines: readonly string[]): unknown =>
    parseReply(['I call it:', '```python', ...lines, '```'].join('\n'), { tools: TOOLS }).calls;
  expect(fenced('# add(a=1, b=[2])')).toEqual([]);
  expect(fenced('# adds', 'add(a=1, b=[2])')).toEqual([ADD]);
  expect(fenced('add(a=1, b=[2])', '# add(a=3, b=[4])')).toEqual([ADD]);
  expect(fenced(`// {"name": "add", "arguments": ${ADD_JSON}}`)).toEqual([]);
});

test.each([
  ['without a name', '<tool_call>{"arguments": {"a": 1}}</tool_call>'],
  ['that is a list of numbers', '<tool_call>[1, 2]</tool_call>'],
  ['by key that is a text', '<|tools_prefix|>["add"]<|tools_suffix|>'],
  ['within a sentence', 'I use Action: add\nAction Input: {"a": 1}'],
  ['in fences that differ', '```python\nadd(a=1)\n```\n```python\nadd(a=2)\n```'],
])('a call %s is none', (_title, text) => {
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({ calls: [], answer: text });
});

test.each([
  ['a function tag that closes itself', '<function=add/>', {}],
  ['an invoke tag that closes itself', '<invoke name="add"/>', {}],
  ['a parameter that closes itself', '<invoke name="add"><parameter name="a"/></invoke>', { a: '' }],
  ['two fences with one call', '```python\nadd(a=1)\n```\n```python\nadd(a=1)\n```', { a: 1 }],
  ['a second call behind words', '[add(a=1)]\nand then\n[add(a=2)]', { a: 1 }],
  [
    'a turn of a user that it makes up',
    `<|channel|>commentary to=functions.add<|message|>{"a": 1}<|call|><|start|>user<|message|>Hi<|end|>`,
    { a: 1 },
  ],
])('one call: %s', (_title, text, args) => {
  expect(parseReply(text, { tools: TOOLS }).calls).toEqual([{ name: 'add', args, complete: true }]);
});

test('names may be of any script', () => {
  expect(parseReply('天気(都市="東京")', { tools: TOOLS }).calls).toMatchObject([
    { name: '天気', args: { 都市: '東京' } },
  ]);
});

test('one invalid call among good ones is returned as invalid, the good ones stay', () => {
  const bad = '<｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n{not json}\n```<｜tool▁call▁end｜>';
  const good = `<｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n\`\`\`json\n${ADD_JSON}\n\`\`\`<｜tool▁call▁end｜>`;
  const { calls } = parseReply(bad + good, { tools: TOOLS });
  expect(calls).toMatchObject([{ name: 'note', issues: [{ path: '' }] }, ADD]);
});

test.each([
  ['Hermes', '<tool_call>{"name": "add", "arguments": {"a": 1, "b": [2'],
  ['function tags', '<function=add><parameter=a>1</parameter><parameter=b>[2'],
  ['GLM', '<tool_call>add<arg_key>a</arg_key><arg_value>1'],
  ['Hunyuan 3', '<tool_call:opensource>add<tool_sep:opensource><arg_key:opensource>a</arg_key:opensource>'],
  ['Hunyuan 3 in JSON', '<tool_call:opensource>add<tool_sep:opensource>{"a": 1, "b": [2'],
  ['Solar Open', '<|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>{"a": 1, "b": [2'],
  ['Python', '[add(a=1, b=[2'],
  ['harmony', '<|channel|>commentary to=functions.add<|message|>{"a": 1'],
  ['Gemma', '<|tool_call>call:add{a:1,b:[2'],
  ['Gemma in a text', '<|tool_call>call:add{a:1,b:<|"|>x'],
  ['Gemma with an escape that JSON does not have', '<|tool_call>call:add{a:"x\\q"}<tool_call|>'],
  ['harmony without JSON', '<|channel|>commentary to=functions.add<|message|>one<|call|>'],
  ['Gemma with an argument that cannot be read', '<|tool_call>call:add{a:1,b:<|"|>x<|"|>y}<tool_call|>'],
  ['LFM2', '<|tool_call_start|>[add(a=1, b=[2'],
  ['MiniMax-M3', ']<]minimax[>[<invoke name="add">]<]minimax[>[<a>1]<]minimax[>[</a>'],
  ['MiniCPM', '<function name="add"><param name="a">1</param>'],
  ['MiniCPM in words', '<function name="add"><param name="a"><![CDATA[1]]></param> and'],
  ['MiniCPM in a section', '<function name="add"><param name="a"><![CDATA[1</param></function>'],
  ['MiniCPM with a parameter without a name', '<function name="add"><param>1</param></function>'],
  ['MiniCPM with a parameter whose name cannot be read', '<function name="add"><param x="a">1</param></function>'],
  [
    'MiniCPM with words among its parameters',
    '<function name="add"><param name="a"><![CDATA[1]]></param> and</function>',
  ],
  ['Kimi K3', '<|open|>call tool="add"<|sep|><|open|>argument key="a" type="number"<|sep|>1'],
  ['an element that is not closed', '<invoke name="add"><a>1</invoke>'],
  ['an element that stands twice', '<invoke name="add"><a>1</a><a>2</a></invoke>'],
  ['a parameter that is not closed', '<function=add><parameter=a>1</function>'],
])('a call that was cut off is incomplete: %s', (_title, text) => {
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({
    complete: false,
    calls: [{ name: 'add', complete: false }],
  });
});

test('values between tags keep their text unless they are JSON', () => {
  const text =
    '<function=note><parameter=text>\n007\n</parameter><parameter=price>1.50</parameter><parameter=count>3</parameter><parameter=on>True</parameter><parameter=raw>  two\nlines </parameter></function>';
  expect(parseReply(text, { tools: TOOLS }).calls).toMatchObject([
    { args: { text: '007', price: '1.50', count: 3, on: true, raw: '  two\nlines ' } },
  ]);
});

test('the channels of gpt-oss are thought and answer', () => {
  const text =
    '<|channel|>analysis<|message|>easy<|end|><|start|>assistant<|channel|>final<|message|>It is 3.<|return|>';
  expect(parseReply(text)).toMatchObject({ thought: 'easy', answer: 'It is 3.', calls: [] });
});

test.each(ALONE.filter(([dialect, title]) => dialect !== 'react' && !title.includes('prompt')))(
  '%s: %s, in a thought that began in the prompt, is no call',
  (_dialect, _title, text) => {
    for (const close of ['[/THINK]', '</think>']) {
      const reply = parseReply(`${text}\n${close}\n\nThere is nothing to add.`, { tools: TOOLS });
      expect(reply).toMatchObject({ calls: [], answer: 'There is nothing to add.' });
    }
  },
);

test('the messages of Solar Open are thought and answer', () => {
  const text = '<|think|>easy<|end|><|begin|>assistant<|content|>It is 3.<|end|>';
  expect(parseReply(text)).toMatchObject({ thought: 'easy', answer: 'It is 3.', calls: [] });
  const call = `<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>${ADD_JSON}<|tool_call:end|>`;
  const before = '<|think|>easy<|end|><|begin|>assistant';
  for (const message of [call, `<|content|>Let me see.\n<|end|><|begin|>assistant${call}`])
    expect(parseReply(before + message, { tools: TOOLS })).toMatchObject({ thought: 'easy', calls: [ADD] });
});

test.each(['<|end|><|begin|>user\nThanks!', '<|begin|>tool\n3', '<|calls|>', '<tool_responses:opensource>3'])(
  "a call with a turn behind it that is not the model's stands alone: %s",
  (behind) => {
    const call = '<|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>{"a": 1}<|tool_call:end|>';
    expect(parseReply(call + behind, { tools: TOOLS, textCalls: 'whole-reply' }).calls).toHaveLength(1);
    expect(parseReply(`${call} That is how.`, { tools: TOOLS, textCalls: 'whole-reply' }).calls).toEqual([]);
  },
);

test('what ends a message of Solar Open is not part of its answer', () => {
  for (const token of ['<|flush|>', '<|calls|>', '<|end|>'])
    expect(parseReply(`It is 3.${token}`).answer).toBe('It is 3.');
});

test.each([
  ['a thought', '<|think|><|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>{"a": 1}<|tool_call:end|>'],
  ['what a user said', 'Done.\n<|begin|>user<|tool_call:begin|>0<|tool_call:name|>add<|tool_call:args|>{"a": 1}'],
  [
    'what follows a result that it made up',
    '<tool_responses:opensource>3</tool_responses:opensource>\n<tool_call:opensource>add<tool_sep:opensource>{"a": 1}<end_of_tool_call:opensource>',
  ],
])('a call within %s runs nothing', (_what, text) => {
  expect(parseReply(text, { tools: TOOLS }).calls).toEqual([]);
});

test.each([
  'You can call add(a=1) whenever you like.',
  'First, add(a=1) is called.',
  'add(a=1) is a tool that adds.',
  'The tools are:\n- add(a=1)\n- note(text="x")',
  'Use <tool_call> tags to call add.',
  'The format is [TOOL_CALLS] and then a list.',
  'The action: add. Its input follows.',
  'Gemma writes <|tool_call> and then call:add.',
  'Kimi K3 begins with <|open|>call and a name.',
  'Hunyuan writes <tool_call:opensource>, then add and <tool_sep:opensource>.',
  'Solar begins a call with <|tool_call:begin|> and names it after <|tool_call:name|>, add for example.',
  'It stands between <function_calls> and its end: add(a=1) for example.',
])('talking about a tool is no call: %s', (text) => {
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({ calls: [], strategy: 'text', answer: text });
});

test('an envelope that mentions a marker is still the envelope', () => {
  const text = "{'thought': 'use <tool_call> or add(a=1)', 'answer': 'done'}";
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({ answer: 'done', calls: [], strategy: 'repaired' });
});

const FLOWERS = `✿FUNCTION✿: add\n✿ARGS✿: ${ADD_JSON}`;

test('Qwen-Agent: several calls before the first result', () => {
  const { calls } = parseReply(`I add twice.\n${FLOWERS}\n${FLOWERS}\n✿RESULT✿`, { tools: TOOLS });
  expect(calls).toEqual([ADD, ADD]);
});

test.each([
  `Write \`✿FUNCTION✿: add\`, then ✿ARGS✿ and the arguments.`,
  `The format is "${FLOWERS}".`,
  `> ${FLOWERS.replace('\n', '\n> ')}`,
  `- ${FLOWERS.replace('\n', '\n  ')}`,
  `<think>${FLOWERS}</think>Done.`,
  `<tool_response>${FLOWERS}</tool_response>`,
  FLOWERS.replace('add', 'remove'),
  FLOWERS.replace('add', ''),
  '✿FUNCTION✿: add',
  '✿FUNCTION✿: add\n✿ARGS✿: later',
  `It was\n✿RESULT✿: ${FLOWERS}`,
])('Qwen-Agent: marks that are quoted, thought, made up or without a known tool call nothing: %j', (text) => {
  for (const textCalls of ['lenient', 'narrated', 'whole-reply'] as const) {
    expect(parseReply(text, { tools: TOOLS, textCalls }).calls).toEqual([]);
  }
});

test('Qwen-Agent: arguments that were cut off do not run, and a fence is a sample where words stand around it', () => {
  expect(parseReply(FLOWERS.slice(0, -3), { tools: TOOLS }).calls.every(({ complete }) => !complete)).toBe(true);
  const sample = `Write this:\n\`\`\`\n${FLOWERS}\n\`\`\`\nand the tool is called.`;
  expect(parseReply(sample, { tools: TOOLS, textCalls: 'whole-reply' }).calls).toEqual([]);
});

test('a call in a thought that began in the prompt is none, whatever result the thought makes up', () => {
  const text = `I need 3.\nAction: add\nAction Input: ${ADD_JSON}\nObservation: 3\n</think>\nIt is 3.`;
  expect(parseReply(text, { tools: TOOLS })).toMatchObject({ calls: [], answer: 'It is 3.' });
  const answered = `Action: add\nAction Input: ${ADD_JSON}\nObservation: 3\n<think>So it is 3.</think>`;
  expect(parseReply(answered, { tools: TOOLS }).calls).toEqual([ADD]);
});
