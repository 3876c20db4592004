import { AsyncLocalStorage } from 'node:async_hooks';
import { type TestContext, aroundEach, expect, onTestFinished as ofTheOnlyTest } from 'vitest';

/**
 * For files whose tests wait most of the time: with `test.concurrent` and this they run beside each other, and what helpers
 * start ends with the test that called them. Vitest's own `onTestFinished` and `expect.poll` know one test at a time.
 */
const running = new AsyncLocalStorage<TestContext>();

/** To be called once in each such file. */
export function besideEachOther(): void {
  aroundEach((run, test) => running.run(test, run));
}

/** Does this when the test that calls it has ended; one that runs alone, too. */
export function onTestFinished(end: () => unknown): void {
  const later = async (): Promise<void> => void (await end());
  const test = running.getStore();
  if (test === undefined) ofTheOnlyTest(later);
  else test.onTestFinished(later);
}

/** `expect.poll`, for the test that calls it. */
export const poll: typeof expect.poll = (...args) => (running.getStore()?.expect ?? expect).poll(...args);
