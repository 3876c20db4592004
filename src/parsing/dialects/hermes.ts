import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** Hermes, Qwen and many others: `<tool_call>{"name": …, "arguments": …}</tool_call>`. */
export const hermes: Dialect = {
  name: 'hermes',
  markers: ['<tool_call>', '<tool_calls>', '<toolcall>', '<TOOLCALL>'],
  read: (source) =>
    readMarkedJson(source, {
      open: ['<tool_call>', '<tool_calls>', '<toolcall>', '<TOOLCALL>'],
      close: ['</tool_call>', '</tool_calls>', '</toolcall>', '</TOOLCALL>', '<|im_start|>', '<|im_end|>'],
      between: /^[\s,;]*(?=[{[])/,
    }),
};
