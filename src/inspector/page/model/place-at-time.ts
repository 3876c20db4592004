import type { StepInfo } from '../../protocol.ts';

/** The last step that had been made at a time, in milliseconds from the beginning; -1 before the first. */
export function placeAtTime(steps: readonly StepInfo[], ms: number): number {
  let [low, high] = [-1, steps.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((steps[middle]?.at ?? Infinity) <= ms) low = middle;
    else high = middle - 1;
  }
  return low;
}
