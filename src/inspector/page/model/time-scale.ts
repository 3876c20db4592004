import type { StepInfo } from '../../frames/protocol.ts';

/** `elastic` keeps pauses short and bursts of steps apart; `even` gives each step the same room; `true` is the clock. */
export type Stretch = 'elastic' | 'even' | 'true';

/** Where on a line from 0 to 1 each step of a run lies. */
export interface TimeScale {
  /** The place of the step at `position`; the run's beginning for -1. */
  at(position: number): number;
  /** The step that lies at or before a place; -1 before the first. */
  step(place: number): number;
}

/** A step's least share in the elastic scale, against that of a pause of a second, which is about seven. */
const LEAST = 1;

/** Lays the steps of a run out on a line. Linear in the number of steps. */
export function timeScale(steps: readonly StepInfo[], stretch: Stretch): TimeScale {
  const places = new Float64Array(steps.length);
  let sum = 0;
  let before = 0;
  for (const [position, step] of steps.entries()) {
    const pause = Math.max(0, step.at - before);
    before = step.at;
    if (position > 0) sum += share(pause, stretch);
    places[position] = sum;
  }
  const whole = sum === 0 ? 1 : sum;
  return {
    at: (position) => (position < 0 ? 0 : (places[Math.min(position, places.length - 1)] ?? 0) / whole),
    step: (place) => lastUpTo(places.length, (index) => places[index], place * whole + 1e-9),
  };
}

function share(pause: number, stretch: Stretch): number {
  if (stretch === 'even') return 1;
  return stretch === 'true' ? pause : LEAST + 2 * Math.log2(1 + pause / 8);
}

/** A duration as people read it: `340 µs`, `12 ms`, `1.4 s`, `3 min 05 s`, `2 h 30 min`, `77 d 12 h`. */
export function durationText(ms: number): string {
  if (ms < 1) return ms <= 0 ? '0 ms' : `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return inTwo(seconds, 60, 'min', 1, 's');
  return seconds < 86_400 ? inTwo(seconds, 3600, 'h', 60, 'min') : inTwo(seconds, 86_400, 'd', 3600, 'h');
}

function inTwo(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = String(Math.floor((seconds % large) / small)).padStart(2, '0');
  return `${Math.floor(seconds / large)} ${largeUnit} ${rest} ${smallUnit}`;
}

/** The last step that had been made at a time, in milliseconds from the beginning; -1 before the first. */
export function placeAtTime(steps: readonly StepInfo[], ms: number): number {
  return lastUpTo(steps.length, (index) => steps[index]?.at, ms);
}

/** The last index of a rising sequence whose value is at most `most`; -1 when there is none. */
export function lastUpTo(count: number, valueAt: (index: number) => number | undefined, most: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((valueAt(middle) ?? Infinity) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
