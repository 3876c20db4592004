import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** InternLM: `<|action_start|><|plugin|>{"name": …, "parameters": …}<|action_end|>`. */
export const internlm: Dialect = {
  name: 'internlm',
  markers: ['<|plugin|>'],
  read: (source) => readMarkedJson(source, { open: ['<|plugin|>'], close: ['<|action_end|>'] }),
};
