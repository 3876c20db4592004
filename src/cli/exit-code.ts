import type { RunStatus } from '../machines/contract/run-result.ts';

/** What the process ends with; scripts rely on these. */
export const EXIT_CODE = {
  answered: 0,
  failed: 1,
  usage: 2,
  stopped: 3,
  cancelled: 130,
  waiting: 3,
} as const satisfies Readonly<Record<RunStatus | 'usage', number>>;
