import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** Llama 3: `<|python_tag|>{"name": …, "parameters": …}`, several separated by semicolons. */
export const llama: Dialect = {
  name: 'llama',
  markers: ['<|python_tag|>'],
  read: (source) =>
    readMarkedJson(source, {
      open: ['<|python_tag|>'],
      close: ['<|eom_id|>', '<|eot_id|>'],
      between: /^\s*[;,]?\s*(?=[{[])/,
    }),
};
