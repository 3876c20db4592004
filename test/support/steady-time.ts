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
