import type { McpClock } from '../link/link.ts';

/** A signal that fires when another does or when the time is up, and tells which. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
  readonly release: () => void;
}

/** Bounds a piece of work on a clock. `release` must be called when it is done. */
export function limitTime(clock: McpClock, ms: number, outer: AbortSignal): TimeLimit {
  const controller = new AbortController();
  let over = false;
  const abort = (): void => controller.abort();
  const timer = clock.setTimeout(() => {
    over = true;
    abort();
  }, ms);
  if (outer.aborted) abort();
  outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    isOver: () => over,
    release: () => {
      clock.clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
