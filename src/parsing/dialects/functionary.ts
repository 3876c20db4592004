import type { Dialect } from './dialect.ts';
import { readNamedBlocks } from './named-block.ts';

/** Functionary: `<|recipient|>name<|content|>{…}`, and `>>>name` with the arguments on the next line. */
export const functionary: Dialect = {
  name: 'functionary',
  markers: ['<|content|>', '>>>'],
  read: (source) =>
    readNamedBlocks(source, {
      open: ['<|recipient|>', '>>>'],
      separators: ['<|content|>', '\n'],
      close: ['<|stop|>', '<|from|>'],
      head: (name) => ({ name }),
    }),
};
