import type { Dialect } from './dialect.ts';
import { readMarkedJson } from './marked-json.ts';

/** Phi-4 and Granite 3: `<|tool_call|>[…]<|/tool_call|>`, and Phi-4-mini's `functools[…]`. */
export const phi: Dialect = {
  name: 'phi',
  markers: ['<|tool_call|>', 'functools['],
  read: (source) =>
    readMarkedJson(source, { open: ['<|tool_call|>'], close: ['<|/tool_call|>', '<|end|>'] }) ?? readFunctools(source),
};

function readFunctools(source: Parameters<Dialect['read']>[0]): ReturnType<Dialect['read']> {
  return readMarkedJson(source, { open: ['functools'], close: ['<|end|>', '<|im_end|>'] });
}
