import type { StepInfo } from '../../../frames/protocol.ts';
import { lastUpTo } from './last-up-to.ts';

/** The last step that had been made at a time, in milliseconds from the beginning; -1 before the first. */
export function placeAtTime(steps: readonly StepInfo[], ms: number): number {
  return lastUpTo(steps.length, (index) => steps[index]?.at, ms);
}
