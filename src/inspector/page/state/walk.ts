import { stepMarks } from '../model/time/step-marks.ts';
import type { PageState } from './page-state.ts';

/** Moves the cursor by so many steps. Stepping past the end is following again. */
export function walk(state: PageState, by: number): void {
  const last = (state.session.value?.steps.length ?? 0) - 1;
  const to = state.position.value + by;
  state.speed.value = null;
  state.cursor.value = to >= last && by > 0 ? null : Math.max(0, to);
}

/** Puts the cursor on a step; null follows what comes. */
export function goTo(state: PageState, position: number | null): void {
  state.speed.value = null;
  state.cursor.value = position === null ? null : Math.max(0, position);
}

/** Goes to the next or the last mark: a retry, an error, an approval, an answer. */
export function walkMarks(state: PageState, direction: 1 | -1): void {
  const marks = stepMarks(state.session.value?.told ?? []).map(({ position }) => position);
  const here = state.position.value;
  const to = direction > 0 ? marks.find((at) => at > here) : marks.findLast((at) => at < here);
  if (to !== undefined) goTo(state, to);
}

/** Shows another session from its end, as if the page had been opened on it. */
export function showSession(state: PageState, id: string): void {
  state.chosen.value = id;
  state.cursor.value = null;
  state.speed.value = null;
  state.focus.value = null;
}
