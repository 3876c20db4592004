import type { McpClock } from '../wire/link.ts';

/** The time limits of one call. */
interface CallLimits {
  /** The server is at work: its silence is counted anew. */
  heard(): void;
  /** Stops the time until the returned function is called; then both limits begin anew. */
  rest(): () => void;
  release(): void;
}

/** In milliseconds. */
export interface CallTimes {
  /** Longest silence. */
  readonly silenceMs: number;
  /** Longest time in all. */
  readonly totalMs: number;
}

/** A server that asks again and again must not hold a call for ever. */
const MAX_RESTS = 20;

/** Starts the limits of a call. `onOver` is called once, with the limit that was met. */
export function limitCall(clock: McpClock, times: CallTimes, onOver: (ms: number) => void): CallLimits {
  let silence: unknown = null;
  let total: unknown = null;
  let resting = 0;
  let rests = 0;
  let released = false;

  const stop = (): void => {
    if (silence !== null) clock.clearTimeout(silence);
    if (total !== null) clock.clearTimeout(total);
    [silence, total] = [null, null];
  };
  const over = (ms: number) => (): void => {
    released = true;
    stop();
    onOver(ms);
  };
  const start = (): void => {
    silence = clock.setTimeout(over(times.silenceMs), times.silenceMs);
    if (times.totalMs > times.silenceMs) total = clock.setTimeout(over(times.totalMs), times.totalMs);
  };
  start();
  return {
    heard() {
      if (released || resting > 0 || silence === null) return;
      clock.clearTimeout(silence);
      silence = clock.setTimeout(over(times.silenceMs), times.silenceMs);
    },
    rest() {
      rests += 1;
      if (released || rests > MAX_RESTS) return () => undefined;
      resting += 1;
      stop();
      let woken = false;
      return () => {
        if (woken) return;
        woken = true;
        resting -= 1;
        if (resting === 0 && !released) start();
      };
    },
    release() {
      released = true;
      stop();
    },
  };
}

/** How often a server may turn one call away until later, and the least time until it is asked again. */
const MAX_POSTPONED = 5;
const LEAST_POSTPONED_MS = 500;

/**
 * Says how long a call rests that its server turned away until later, by what it asked for in milliseconds; null where
 * that is not within the call's time, or where it does so again and again.
 */
export function createPostponer({ silenceMs }: CallTimes): (askedMs: unknown) => number | null {
  let times = 0;
  let total = 0;
  return (askedMs) => {
    const ms = Math.max(LEAST_POSTPONED_MS, Number(askedMs));
    [times, total] = [times + 1, total + ms];
    return times > MAX_POSTPONED || total >= silenceMs ? null : ms;
  };
}
