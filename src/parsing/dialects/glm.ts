import { type Building, setOwn } from '../../json/json.ts';
import type { ToolCallRequest } from '../calls/call-forms.ts';
import type { Dialect, DialectSource } from './dialect.ts';
import { closesAgain, parameterValue, valueEnd } from './tag-values.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';
const KEY = '<arg_key>';
const VALUE = { open: '<arg_value>', close: '</arg_value>', before: [KEY, CLOSE, OPEN] };
const NAME = /^\s*([\p{L}_][\p{L}\p{N}_.:/-]{0,199})\s*(?:<tool_sep>\s*)?(?=<)/u;
const LONGEST_HEAD = 240;

/** GLM and Hunyuan: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`. */
export const glm: Dialect = {
  name: 'glm',
  markers: [OPEN],
  read: (source, at) => {
    const from = at + OPEN.length;
    const head = NAME.exec(source.text.slice(from, Math.min(from + LONGEST_HEAD, source.end)));
    const name = head?.[1];
    if (head === null || name === undefined) return undefined;
    const { end, ...call } = readCall(source, name, source.skipSpace(from + head[0].length));
    if (end === undefined) return undefined;
    return { calls: [call], complete: call.complete, repairs: [], end };
  },
};

/** A call's arguments; no end where neither an argument nor the closing tag follows the name. */
function readCall(
  source: DialectSource,
  name: string,
  from: number,
): ToolCallRequest & { readonly end: number | undefined } {
  const args: Building = {};
  let complete = true;
  let at = from;
  while (source.text.startsWith(KEY, at)) {
    const keyEnd = source.next(at, '</arg_key>');
    const open = source.skipSpace(Math.min(keyEnd + '</arg_key>'.length, source.end));
    if (!source.text.startsWith(VALUE.open, open)) return { name, args, complete: false, end: Math.max(open, at + 1) };
    const start = open + VALUE.open.length;
    const value = valueEnd(source, start, VALUE);
    const key = source.text.slice(at + KEY.length, keyEnd).trim();
    setOwn(
      args,
      key,
      parameterValue(source, { tool: name, key, raw: source.text.slice(start, value.end), layout: 'none' }),
    );
    if (value.past === value.end) return { name, args, complete: false, end: value.end };
    complete = complete && value.sure;
    at = source.skipSpace(value.past);
  }
  if (!source.text.startsWith(CLOSE, at)) return { name, args, complete: false, end: at === from ? undefined : at };
  const end = at + CLOSE.length;
  return { name, args, complete: complete && !closesAgain(source, end, [VALUE.close, CLOSE], [KEY, OPEN]), end };
}
