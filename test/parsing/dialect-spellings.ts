const json = (text: string): string => JSON.stringify({ text });
const M3 = ']<]minimax[>[';

/** How one format writes the call of `note` with a text. */
export interface Spelling {
  readonly name: string;
  /** Formats that share their marks. */
  readonly family: string;
  readonly spell: (text: string) => string;
  /** The text stands in quotation marks, so that it may hold anything. */
  readonly quotes: boolean;
}

const QUOTING: readonly (readonly [string, (text: string) => string])[] = [
  ['Hermes', (text) => `<tool_call>\n{"name": "note", "arguments": ${json(text)}}\n</tool_call>`],
  ['Granite', (text) => `<function_call> {"name": "note", "arguments": ${json(text)}}`],
  ['Cohere', (text) => `<|START_ACTION|>[{"tool_name": "note", "parameters": ${json(text)}}]<|END_ACTION|>`],
  ['Phi', (text) => `<|tool_call|>[{"name": "note", "arguments": ${json(text)}}]<|/tool_call|>`],
  ['functools', (text) => `functools[{"name": "note", "arguments": ${json(text)}}]`],
  ['Llama 3', (text) => `<|python_tag|>{"name": "note", "parameters": ${json(text)}}<|eom_id|>`],
  ['InternLM', (text) => `<|action_start|><|plugin|>{"name": "note", "parameters": ${json(text)}}<|action_end|>`],
  ['Apertus', (text) => `<|tools_prefix|>[{"note": ${json(text)}}]<|tools_suffix|>`],
  ['GigaChat', (text) => `<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "note", "arguments": ${json(text)}}`],
  [
    'Inkling',
    (text) => `<|message_model|>note<|content_invoke_tool_json|>{"name":"note","args":${json(text)}}<|end_message|>`,
  ],
  ['Qwen-Agent', (text) => `✿FUNCTION✿: note\n✿ARGS✿: ${json(text)}`],
  ['Mistral', (text) => `[TOOL_CALLS]note[ARGS]${json(text)}`],
  [
    'Kimi K2',
    (text) => `<|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>${json(text)}<|tool_call_end|>`,
  ],
  [
    'Solar Open',
    (text) => `<|tool_call:begin|>0<|tool_call:name|>note<|tool_call:args|>${json(text)}<|tool_call:end|>`,
  ],
  [
    'Hunyuan 3 in JSON',
    (text) => `<tool_call:opensource>note<tool_sep:opensource>${json(text)}<end_of_tool_call:opensource>`,
  ],
  ['DeepSeek V3.1', (text) => `<｜tool▁call▁begin｜>note<｜tool▁sep｜>${json(text)}<｜tool▁call▁end｜>`],
  ['gpt-oss', (text) => `<|channel|>commentary to=functions.note <|constrain|>json<|message|>${json(text)}<|call|>`],
  [
    'distilled DeepSeek',
    (text) => `<｜tool calls begin｜>function<｜tool sep｜>note\n\`\`\`json\n${json(text)}\n\`\`\`<｜tool call end｜>`,
  ],
  ['Llama 3 with its own tools', (text) => `<|python_tag|>note.call(text=${JSON.stringify(text)})<|eom_id|>`],
  ['ReAct', (text) => `Thought: x\nAction: note\nAction Input: ${json(text)}`],
  ['Olmo', (text) => `<function_calls>note(text=${JSON.stringify(text)})</function_calls>`],
  ['LFM2', (text) => `<|tool_call_start|>[note(text=${JSON.stringify(text)})]<|tool_call_end|>`],
];

const TAGGING: readonly (readonly [string, string, (text: string) => string])[] = [
  ['Gemma 4', 'gemma', (text) => `<|tool_call>call:note{text:<|"|>${text}<|"|>}<tool_call|>`],
  [
    'FunctionGemma',
    'function-gemma',
    (text) => `<start_function_call>call:note{text:<escape>${text}<escape>}<end_function_call>`,
  ],
  ['Qwen3-Coder', 'qwen', (text) => `<function=note>\n<parameter=text>\n${text}\n</parameter>\n</function>`],
  ['MiniMax-M2', 'invoke', (text) => `<invoke name="note">\n<parameter name="text">${text}</parameter>\n</invoke>`],
  [
    'DSML',
    'dsml',
    (text) =>
      `<｜DSML｜invoke name="note">\n<｜DSML｜parameter name="text" string="true">${text}</｜DSML｜parameter>\n</｜DSML｜invoke>`,
  ],
  ['elements', 'elements', (text) => `<invoke name="note"><text>${text}</text></invoke>`],
  ['MiniMax-M3', 'elements', (text) => `${M3}<invoke name="note">${M3}<text>${text}${M3}</text>${M3}</invoke>`],
  ['MiniCPM', 'minicpm', (text) => `<function name="note"><param name="text">${text}</param></function>`],
  [
    'GigaChat 3.5',
    'gcml',
    (text) =>
      `<｜GCML｜tool_calls>\n<｜GCML｜invoke name="note">\n<｜GCML｜parameter name="text" string="true">${text}</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>`,
  ],
  [
    'dots',
    'invoke',
    (text) =>
      `<dots_function_call>\n<invoke name=note>\n<parameter name=text>${text}</parameter>\n</invoke>\n</dots_function_call>`,
  ],
  [
    'Solar Open 2',
    'solar-open-2',
    (text) =>
      `<|tool_call:start|>note\n<|tool_arg:start|>text<|tool_arg:value|>${text}<|tool_arg:end|>\n<|tool_call:end|>`,
  ],
  [
    'MiniCPM sections',
    'minicpm',
    (text) => `<function name="note"><param name="text"><![CDATA[${text}]]></param></function>`,
  ],
  [
    'Kimi K3',
    'kimi-k3',
    (text) =>
      `<|open|>call tool="note"<|sep|><|open|>argument key="text" type="string"<|sep|>${text}<|close|>argument<|sep|><|close|>call<|sep|>`,
  ],
  ['GLM', 'glm', (text) => `<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>${text}</arg_value>\n</tool_call>`],
  [
    'Hunyuan',
    'glm',
    (text) => `<tool_call>note<tool_sep>\n<arg_key>text</arg_key>\n<arg_value>${text}</arg_value>\n</tool_call>`,
  ],
  [
    'Hunyuan 3',
    'hunyuan',
    (text) =>
      `<tool_call:opensource>note<tool_sep:opensource><arg_key:opensource>text</arg_key:opensource><arg_value:opensource>${text}</arg_value:opensource></tool_call:opensource>`,
  ],
  [
    'K2 Horizon',
    'k2-horizon',
    (text) =>
      `<ifm|tool_call>note<ifm|arg_key>text</ifm|arg_key><ifm|arg_value>${text}</ifm|arg_value></ifm|tool_call>`,
  ],
];

/** All formats whose values are tested, those first that put their texts in quotation marks. */
export const SPELLINGS: readonly Spelling[] = [
  ...QUOTING.map(([name, spell]) => ({ name, family: name, spell, quotes: true })),
  ...TAGGING.map(([name, family, spell]) => ({ name, family, spell, quotes: false })),
];
