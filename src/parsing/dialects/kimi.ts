import type { Dialect } from './dialect.ts';
import { readNamedBlocks } from './named-block.ts';

/** Kimi K2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`. */
export const kimi: Dialect = {
  name: 'kimi',
  markers: ['<|tool_call_argument_begin|>'],
  read: (source) =>
    readNamedBlocks(source, {
      open: ['<|tool_call_begin|>'],
      separators: ['<|tool_call_argument_begin|>'],
      close: ['<|tool_call_end|>'],
      head: (id) => ({ id, name: id.replace(/^functions\./, '').replace(/:\d+$/, '') }),
    }),
};
