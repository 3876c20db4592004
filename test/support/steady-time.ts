import { onTestFinished, vi } from 'vitest';

/**
 * Until the test ends, the timers of this process count its turns instead of the machine's time: a limit of some milliseconds
 * is not over because the process was held up. For tests in which both sides are in this process.
 */
export function steadyTime(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance'],
    shouldAdvanceTime: true,
    advanceTimeDelta: 5,
  });
  onTestFinished(() => void vi.useRealTimers());
}

/** Milliseconds for which this process has been at work since it began: what others do on the machine is no part of it. */
export function workedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
