import type { Style } from '../../output/console/paint.ts';

/** One thing that was recovered, beside its name. */
export interface Row {
  readonly label: string;
  readonly text: string;
  readonly style?: Style;
}
