import type { JsonObject } from '../../src/json/json.ts';

/** A call as text. `whole`: how much of it holds the whole call; what follows only closes it. */
export interface Written {
  readonly text: string;
  readonly whole: number;
}

/** One way in which models write a call. */
export interface Writer {
  readonly name: string;
  /** Its markers cannot be taken for anything else. */
  readonly marked: boolean;
  /** `json`: a text argument travels as a quoted string and cannot end anything · `tags`: it stands between tags. */
  readonly kind: 'json' | 'tags';
  /** What begins the call, and what a text argument of `tags` would be ended by. */
  readonly open: string;
  readonly closers: readonly string[];
  write(tool: string, args: JsonObject): Written;
}

type Parts = readonly [before: string, call: string, after: string];

interface Form {
  readonly open: string;
  readonly closers: readonly string[];
  readonly parts: (tool: string, args: JsonObject) => Parts;
}

function writer(name: string, marked: boolean, kind: Writer['kind'], form: Form): Writer {
  return {
    name,
    marked,
    kind,
    open: form.open,
    closers: form.closers,
    write: (tool, args) => {
      const [before, call, after] = form.parts(tool, args);
      return { text: before + call + after, whole: before.length + call.length };
    },
  };
}

const json = (value: JsonObject | readonly JsonObject[]): string => JSON.stringify(value);
const named = (tool: string, args: JsonObject): string =>
  `{"name": ${JSON.stringify(tool)}, "arguments": ${json(args)}}`;
const withParameters = (tool: string, args: JsonObject): string =>
  `{"name": ${JSON.stringify(tool)}, "parameters": ${json(args)}}`;

/** A dialect of two marks around JSON. */
function around(name: string, open: string, close: string, body: Form['parts']): Writer {
  return writer(name, true, 'json', {
    open,
    closers: [close],
    parts: (tool, args) => {
      const [before, call, after] = body(tool, args);
      return [open + before, call, after + close];
    },
  });
}

/** A dialect of tags around every argument; `tag` writes one, `call` what stands around all. */
function tagged(name: string, form: Omit<Form, 'parts'> & TagForm): Writer {
  return writer(name, true, 'tags', {
    open: form.open,
    closers: form.closers,
    parts: (tool, args) => {
      const fields = Object.entries(args).map(([key, value]) =>
        form.tag(key, typeof value === 'string' ? value : JSON.stringify(value)),
      );
      return form.call(tool, fields.join(''));
    },
  });
}

interface TagForm {
  readonly tag: (key: string, value: string) => string;
  readonly call: (tool: string, fields: string) => Parts;
}

/** The families that write `invoke` and `parameter`, each with its prefix and a block around. */
function invoke(name: string, prefix: string, block: string): Writer {
  const [call, parameter] = [`${prefix}invoke`, `${prefix}parameter`];
  return tagged(name, {
    open: `<${call} name="wipe">`,
    closers: [`</${parameter}>`, `</${call}>`, `</${block}>`],
    tag: (key, value) => `<${parameter} name="${key}">${value}</${parameter}>`,
    call: (tool, fields) => [`<${block}>`, `<${call} name="${tool}">${fields}</${call}>`, `</${block}>`],
  });
}

const plain: Form['parts'] = (tool, args) => ['', named(tool, args), ''];
const list: Form['parts'] = (tool, args) => ['[', named(tool, args), ']'];

const python = (args: JsonObject): string =>
  Object.entries(args)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(', ');

/** The agent's own format. */
export const ENVELOPE: Writer = writer('envelope', false, 'json', {
  open: '{"thought": "I call it.", "tool": "wipe", "tool_args": {',
  closers: ['}}'],
  parts: (tool, args) => ['', json({ thought: 'I call it.', tool, tool_args: args }), ''],
});

/** Every way to write a call that the project reads. */
export const WRITERS: readonly Writer[] = [
  ENVELOPE,
  around('hermes', '<tool_call>\n', '\n</tool_call>', plain),
  around('granite', '<function_call>', '</function_call>', plain),
  around('cohere', '<|START_ACTION|>', '<|END_ACTION|>', (tool, args) => [
    '[',
    `{"tool_call_id": "0", "tool_name": "${tool}", "parameters": ${json(args)}}`,
    ']',
  ]),
  around('phi', '<|tool_call|>', '<|/tool_call|>', list),
  around('internlm', '<|action_start|><|plugin|>', '<|action_end|>', (tool, args) => [
    '',
    withParameters(tool, args),
    '',
  ]),
  around('llama', '<|python_tag|>', '<|eom_id|>', (tool, args) => ['', withParameters(tool, args), '']),
  around('mistral-old', '[TOOL_CALLS]', '</s>', list),
  around('mistral-new', '[TOOL_CALLS]', '</s>', (tool, args) => ['', `${tool}${json(args)}`, '']),
  around(
    'deepseek-v3',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>',
    '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    (tool, args) => [`function<｜tool▁sep｜>${tool}\n\`\`\`json\n`, json(args), '\n```'],
  ),
  around('named-hermes', '<tool_call>', '</tool_call>', (tool, args) => [`${tool}\n`, json(args), '\n']),
  around(
    'deepseek-v3.1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>',
    '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    (tool, args) => [`${tool}<｜tool▁sep｜>`, json(args), ''],
  ),
  around(
    'kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>',
    '<|tool_call_end|><|tool_calls_section_end|>',
    (tool, args) => [`functions.${tool}:0<|tool_call_argument_begin|>`, json(args), ''],
  ),
  around('solar', '<|tool_calls|><|tool_call:begin|>', '<|tool_call:end|><|calls|>', (tool, args) => [
    `0<|tool_call:name|>${tool}<|tool_call:args|>`,
    json(args),
    '',
  ]),
  around('functionary', '<|from|>assistant\n<|recipient|>', '<|stop|>', (tool, args) => [
    `${tool}\n<|content|>`,
    json(args),
    '',
  ]),
  around('harmony', '<|start|>assistant<|channel|>commentary to=functions.', '<|call|>', (tool, args) => [
    `${tool} <|constrain|>json<|message|>`,
    json(args),
    '',
  ]),
  invoke('minimax', '', 'minimax:tool_call'),
  invoke('step3', 'steptml:', 'steptml:toolcall'),
  invoke('dsml', '｜DSML｜', '｜DSML｜function_calls'),
  tagged('solar-open-2', {
    open: '<|tool_call:start|>wipe\n<|tool_arg:start|>',
    closers: ['<|tool_arg:end|>', '<|tool_call:end|>'],
    tag: (key, value) => `<|tool_arg:start|>${key}<|tool_arg:value|>${value}<|tool_arg:end|>\n`,
    call: (tool, fields) => ['', `<|tool_call:start|>${tool}\n${fields}<|tool_call:end|>`, ''],
  }),
  tagged('function-tags', {
    open: '<function=wipe>',
    closers: ['</parameter>', '</function>', '</tool_call>'],
    tag: (key, value) => `<parameter=${key}>${value}</parameter>`,
    call: (tool, fields) => ['', `<function=${tool}>${fields}</function>`, ''],
  }),
  tagged('qwen3-coder', {
    open: '<tool_call>\n<function=wipe>',
    closers: ['</parameter>', '</function>', '</tool_call>'],
    tag: (key, value) => `<parameter=${key}>${value}</parameter>`,
    call: (tool, fields) => ['<tool_call>', `<function=${tool}>${fields}</function>`, '</tool_call>'],
  }),
  tagged('glm', {
    open: '<tool_call>wipe\n<arg_key>',
    closers: ['</arg_value>', '</arg_key>', '</tool_call>'],
    tag: (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`,
    call: (tool, fields) => ['', `<tool_call>${tool}\n${fields}</tool_call>`, ''],
  }),
  tagged('hunyuan', {
    open: '<tool_call:opensource>wipe<tool_sep:opensource><arg_key:opensource>',
    closers: ['</arg_value:opensource>', '</arg_key:opensource>', '</tool_call:opensource>'],
    tag: (key, value) =>
      `<arg_key:opensource>${key}</arg_key:opensource><arg_value:opensource>${value}</arg_value:opensource>`,
    call: (tool, fields) => [
      '',
      `<tool_call:opensource>${tool}<tool_sep:opensource>${fields}</tool_call:opensource>`,
      '',
    ],
  }),
  writer('functools', false, 'json', {
    open: 'functools[',
    closers: [']'],
    parts: (tool, args) => ['functools[', named(tool, args), ']'],
  }),
  writer('pythonic', false, 'json', {
    open: '[wipe(',
    closers: [')]'],
    parts: (tool, args) => ['[', `${tool}(${python(args)})`, ']'],
  }),
  writer('react', false, 'json', {
    open: 'Action: wipe\nAction Input: ',
    closers: ['\nObservation:'],
    parts: (tool, args) => [`Thought: I call it.\nAction: ${tool}\nAction Input: `, json(args), ''],
  }),
  writer('named-object', false, 'json', {
    open: 'wipe\n{',
    closers: ['}'],
    parts: (tool, args) => [`${tool}\n`, json(args), ''],
  }),
  writer('bare-json', false, 'json', { open: '{"name": "wipe", ', closers: ['}}'], parts: plain }),
  writer('tool-calls-list', false, 'json', {
    open: '{"tool_calls": [',
    closers: [']}'],
    parts: (tool, args) => [
      '',
      json({ tool_calls: [{ type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }] }),
      '',
    ],
  }),
];

/** The dialects whose markers are unmistakable. */
export const MARKED: readonly Writer[] = WRITERS.filter(({ marked }) => marked);
