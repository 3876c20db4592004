import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** Granite: `<function_call> {"name": …, "arguments": …}`, one after the other, mostly unclosed. */
export const granite: Dialect = {
  name: 'granite',
  markers: ['<function_call>', '<|function_call|>'],
  read: (source) =>
    readMarkedJson(source, {
      open: ['<function_call>', '<|function_call|>'],
      close: ['</function_call>', '<|end_of_text|>', '<|endoftext|>'],
      between: /^[\s,;]*(?=[{[])/,
    }),
};
