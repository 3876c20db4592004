import { stepMarks } from '../model/timeline.ts';
import type { PageState } from './page-state.ts';
import { effect } from '@preact/signals';
import { placeAtTime } from '../model/time-scale.ts';

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

/** The speeds that playing goes through, as multiples of the recorded one. */
const SPEEDS = [1, 4, 16, 64, 0.1, 0.25] as const;
/** The longest pause that is played, in milliseconds: the rest of it is skipped. */
const LONGEST_PAUSE = 1000;

/** Starts playing from the cursor, or from the beginning when it stands at the end; stops when it plays. */
export function togglePlay(state: PageState): void {
  if (state.speed.value !== null) {
    state.speed.value = null;
    return;
  }
  const last = (state.session.value?.steps.length ?? 0) - 1;
  if (last < 0) return;
  if (state.position.value >= last) state.cursor.value = 0;
  else state.cursor.value = state.position.value;
  state.speed.value = 1;
}

/** The next speed, the slowest after the fastest. */
export function nextSpeed(state: PageState): void {
  const at = SPEEDS.findIndex((speed) => speed === state.speed.value);
  if (state.speed.value === null) togglePlay(state);
  state.speed.value = SPEEDS[(at + 1) % SPEEDS.length] ?? 1;
}

/** Moves the cursor with the clock while a speed is set. Call once; ends with the page. */
export function runPlayer(state: PageState): void {
  effect(() => {
    const speed = state.speed.value;
    if (speed === null) return;
    const session = state.session.peek();
    const from = session?.steps[state.position.peek()]?.at ?? 0;
    const began = performance.now();
    let frame = 0;
    let skipped = 0;
    const tick = (): void => {
      const steps = state.session.peek()?.steps ?? [];
      const now = from + skipped + (performance.now() - began) * speed;
      const to = placeAtTime(steps, now);
      const pause = (steps[to + 1]?.at ?? 0) - now - LONGEST_PAUSE * speed;
      if (pause > 0) skipped += pause;
      if (to >= steps.length - 1) {
        state.cursor.value = null;
        state.speed.value = null;
        return;
      }
      state.cursor.value = Math.max(to, state.cursor.peek() ?? 0);
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(frame);
  });
}
