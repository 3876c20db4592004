import { isList } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { type ToolCallRequest, callsOf } from '../calls/call-forms.ts';
import type { Repair } from '../repair/repairs.ts';
import type { Dialect, DialectReading, DialectSource } from './dialect.ts';

/** A format that marks the JSON of its calls. */
interface Row {
  readonly name: string;
  readonly open: readonly string[];
  /** Where more than what opens a block belongs to its mark. */
  readonly markers?: readonly string[];
  /** What stands between the mark and the JSON. */
  readonly head?: RegExp;
  /** What ends a block beside its own value; a block may also end at the next opening or with the text. */
  readonly close: readonly string[];
  /** The calls of one value, where the format does not write `{name, arguments}`. */
  readonly calls?: (value: Json, complete: boolean) => readonly ToolCallRequest[];
}

const ROWS: readonly Row[] = [
  // Hermes, Qwen and many others: `<tool_call>{"name": …, "arguments": …}</tool_call>`.
  {
    name: 'hermes',
    open: ['<tool_call>', '<tool_calls>', '<toolcall>', '<TOOLCALL>'],
    close: ['</tool_call>', '</tool_calls>', '</toolcall>', '</TOOLCALL>', '<|im_start|>', '<|im_end|>'],
  },
  // LongCat: the same between its own tags.
  { name: 'longcat', open: ['<longcat_tool_call>'], close: ['</longcat_tool_call>'] },
  // Granite: `<function_call> {"name": …, "arguments": …}`, one after the other, mostly unclosed.
  {
    name: 'granite',
    open: ['<function_call>', '<|function_call|>'],
    close: ['</function_call>', '<|end_of_text|>', '<|endoftext|>'],
  },
  // Cohere Command: `<|START_ACTION|>[{"tool_name": …, "parameters": …}]<|END_ACTION|>`.
  { name: 'cohere', open: ['<|START_ACTION|>'], close: ['<|END_ACTION|>'] },
  // Phi-4 and Granite 3: `<|tool_call|>[…]<|/tool_call|>`, and Phi-4-mini's `functools[…]`.
  { name: 'phi', open: ['<|tool_call|>'], close: ['<|/tool_call|>', '<|end|>'] },
  { name: 'phi', open: ['functools'], markers: ['functools['], close: ['<|end|>', '<|im_end|>'] },
  // Llama 3: `<|python_tag|>{"name": …, "parameters": …}`, several separated by semicolons.
  { name: 'llama', open: ['<|python_tag|>'], close: ['<|eom_id|>', '<|eot_id|>'] },
  // InternLM: `<|action_start|><|plugin|>{"name": …, "parameters": …}<|action_end|>`.
  { name: 'internlm', open: ['<|plugin|>'], close: ['<|action_end|>'] },
  // LFM2 with calls in JSON: `<|tool_call_start|>[{"name": …}]<|tool_call_end|>`.
  { name: 'lfm2', open: ['<|tool_call_start|>'], close: ['<|tool_call_end|>'] },
  // GigaChat 3: `<|message_sep|>`, then `function call<|role_sep|>` on a line of its own, and `{"name": …}`.
  {
    name: 'gigachat',
    open: ['<|message_sep|>', 'function call<|role_sep|>'],
    head: /^\s*function call<\|role_sep\|>/,
    close: ['<|message_sep|>', '</s>'],
  },
  // Inkling: `<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": …}<|end_message|>`.
  {
    name: 'inkling',
    open: ['<|message_model|>', '<|content_invoke_tool_json|>'],
    head: /^[\p{L}\p{N}_.:/-]{0,200}<\|content_invoke_tool_json\|>/u,
    close: ['<|end_message|>', '<|content_model_end_sampling|>'],
  },
  // Apertus: `<|tools_prefix|>[{"name": {…arguments}}]<|tools_suffix|>`.
  { name: 'apertus', open: ['<|tools_prefix|>'], close: ['<|tools_suffix|>'], calls: callsByKey },
];

/** The formats that put JSON behind a mark, each value with calls as `{name, arguments}` or a list of these. */
export const MARKED_JSON: readonly Dialect[] = ROWS.map((row) => ({
  name: row.name,
  markers: row.markers ?? row.open,
  read: (source, at) => readBlock(source, at, row),
}));

const LONGEST_HEAD = 240;
/** Behind it stands another value, not a mark such as `[/THINK]`. */
const BETWEEN = /^[\s,;]*(?=[{[])(?!\[\/?[A-Z_]+\])/;

function readBlock(source: DialectSource, at: number, row: Row): DialectReading | undefined {
  const calls: ToolCallRequest[] = [];
  const repairs: Repair[] = [];
  let complete = true;
  let values = 0;
  let from = source.past(at, row.open);
  const head = row.head?.exec(source.text.slice(from, Math.min(from + LONGEST_HEAD, source.end)));
  from += head?.[0].length ?? 0;
  for (;;) {
    const found = source.value(from, ...row.close, ...row.open);
    if (found === undefined) break;
    values += 1;
    calls.push(...(row.calls ?? callsOf)(found.value, found.complete));
    repairs.push(...found.repairs);
    complete = complete && found.complete;
    from = found.end;
    const separator = BETWEEN.exec(source.text.slice(from, from + 20));
    if (separator === null) break;
    from += separator[0].length;
  }
  if (values === 0) return undefined;
  return { calls, complete, repairs, end: source.past(source.skipSpace(from), row.close) };
}

/** `{"get_weather": {"city": "Paris"}}`: the name is the key. */
function callsByKey(value: Json, complete: boolean): readonly ToolCallRequest[] {
  if (isList(value)) return value.flatMap((item, i) => callsByKey(item, complete || i < value.length - 1));
  if (!isJsonObject(value)) return [];
  const names = Object.keys(value);
  return names.map((name, i) => ({ name, args: value[name] ?? {}, complete: complete || i < names.length - 1 }));
}
