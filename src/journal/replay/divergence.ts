import { CAUSE_TEXTS, type DivergenceCause } from './likely-cause.ts';

/** Where a replay left its recording. */
export interface Divergence {
  /** Number of the record, counted from 1, the head included; also its line in a file. */
  readonly entry: number;
  /** The machine's state at that moment. */
  readonly state: string;
  readonly expected: string;
  readonly actual: string;
  /** The first place in which the two requests differ, and how; empty where they are of different kinds. */
  readonly difference: string;
  /** All of what differs, over several lines and bounded: `-` as recorded, `+` as it is now. Empty like `difference`. */
  readonly diff: string;
  /** What most likely was changed. */
  readonly cause: DivergenceCause;
}

/**
 * A replay came to a point at which the code does something else than was recorded: a prompt or a tool was edited, or the
 * code changed. Thrown by the replay and never seen by the machine.
 */
export class ReplayDivergenceError extends Error implements Divergence {
  override readonly name = 'ReplayDivergenceError';
  readonly code = 'replay-divergence';
  readonly entry: number;
  readonly state: string;
  readonly expected: string;
  readonly actual: string;
  readonly difference: string;
  readonly diff: string;
  override readonly cause: DivergenceCause;

  constructor(divergence: Divergence) {
    super(textOf(divergence));
    this.entry = divergence.entry;
    this.state = divergence.state;
    this.expected = divergence.expected;
    this.actual = divergence.actual;
    this.difference = divergence.difference;
    this.diff = divergence.diff;
    this.cause = divergence.cause;
  }
}

function textOf({ entry, state, expected, actual, difference, diff, cause }: Divergence): string {
  const lines = [
    `The replay left the recording at entry ${entry}, in state ${state}.`,
    `  recorded: ${expected}`,
    `  now:      ${actual}`,
  ];
  if (difference !== '') lines.push(`  first difference: ${difference}`);
  lines.push(`  likely cause: ${CAUSE_TEXTS[cause]}`);
  if (diff !== '') lines.push('  what differs (- recorded, + now):', ...diff.split('\n').map((line) => `    ${line}`));
  return lines.join('\n');
}
