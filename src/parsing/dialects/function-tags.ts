import type { Dialect } from './dialect.ts';
import { readTagged } from './tagged-parameters.ts';

/** Qwen3-Coder, Llama and Seed: `<function=name><parameter=key>value</parameter></function>`, or JSON inside. */
export const functionTags: Dialect = {
  name: 'function-tags',
  markers: ['<function='],
  read: (source) =>
    readTagged(source, {
      openCall: ['<function='],
      closeCall: ['</function>', '</tool_call>'],
      openParameter: ['<parameter='],
      closeParameter: ['</parameter>'],
      name: (tag) => tag.trim().replace(/^["']|["']$/g, ''),
    }),
};
