import { type Building, setOwn } from '../own-property.ts';
import type { ToolCallRequest } from '../reply.ts';
import type { Dialect } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';
import { parameterValue } from './parameter-value.ts';

/** GLM 4.5: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`. */
export const glmTags: Dialect = {
  name: 'glm',
  markers: ['<arg_key>'],
  read: (source) => {
    const calls: ToolCallRequest[] = [];
    let at = source.next(0, '<tool_call>');
    while (at < source.end) {
      const from = at + '<tool_call>'.length;
      const close = source.next(from, '</tool_call>', '<tool_call>');
      const nameEnd = Math.min(source.next(from, '<arg_key>', '\n<'), close);
      const name = source.text.slice(from, nameEnd).trim();
      if (/^[\p{L}_][\p{L}\p{N}_.:/-]*$/u.test(name.slice(0, 200))) calls.push(readCall(source, name, nameEnd, close));
      at = source.next(close, '<tool_call>');
    }
    return calls.length === 0 ? undefined : { calls, complete: calls.every(({ complete }) => complete), repairs: [] };
  },
};

function readCall(source: DialectSource, name: string, from: number, close: number): ToolCallRequest {
  const args: Building = {};
  let at = source.next(from, '<arg_key>');
  while (at < close) {
    const keyEnd = source.next(at, '</arg_key>');
    const open = source.next(keyEnd, '<arg_value>');
    const end = source.next(open, '</arg_value>');
    if (end >= close) return { name, args, complete: false };
    const key = source.text.slice(at + '<arg_key>'.length, keyEnd).trim();
    setOwn(args, key, parameterValue(source.text.slice(open + '<arg_value>'.length, end), source.maxDepth));
    at = source.next(end, '<arg_key>');
  }
  return { name, args, complete: close < source.end };
}
