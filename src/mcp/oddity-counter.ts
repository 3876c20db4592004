import type { McpOddity } from './link/link.ts';

/** Counts odd behaviour and passes on what is worth telling. */
export interface OddityCounter {
  readonly note: (oddity: McpOddity) => void;
  /** What went past a limit and was cut to size or left out, the first twenty. */
  readonly warnings: () => readonly string[];
  /** Forgets the warnings: another link begins. */
  readonly beginAnew: () => void;
}

const FIRST = 20;
const EVERY = 1000;

/** Makes a counter that tells the first twenty oddities and then every thousandth: a server may flood us with them. */
export function createOddityCounter(tell: (oddity: McpOddity & { readonly count: number }) => void): OddityCounter {
  let count = 0;
  const warnings = new Set<string>();
  return {
    warnings: () => [...warnings],
    beginAnew: () => warnings.clear(),
    note(oddity) {
      count += 1;
      if (oddity.kind === 'limit' && warnings.size < FIRST) warnings.add(oddity.message);
      if (count <= FIRST || count % EVERY === 0) tell({ ...oddity, count });
    },
  };
}
