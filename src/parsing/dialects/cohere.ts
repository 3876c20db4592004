import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** Cohere Command: `<|START_ACTION|>[{"tool_name": …, "parameters": …}]<|END_ACTION|>`. */
export const cohere: Dialect = {
  name: 'cohere',
  markers: ['<|START_ACTION|>'],
  read: (source) =>
    readMarkedJson(source, { open: ['<|START_ACTION|>'], close: ['<|END_ACTION|>'], between: /^[\s,;]*(?=[{[])/ }),
};
