import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortable } from '../../src/inspector/frames/event-loop.ts';

const never = (): Promise<string> => new Promise(() => undefined);

test('what comes before the end comes through, failures too', async () => {
  const unlessLeft = abortable(new AbortController().signal);
  expect(await unlessLeft(Promise.resolve('first'))).toBe('first');
  await expect(unlessLeft(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await unlessLeft(Promise.resolve('third'))).toBe('third');
});

test('the end comes at once, for who waits and for who waits later', async () => {
  const left = new AbortController();
  const unlessLeft = abortable(left.signal);
  const waiting = unlessLeft(never());
  left.abort();
  expect(await waiting).toBeNull();
  expect(await unlessLeft(never())).toBeNull();
});

test('however often is waited, one listener is all that the signal holds', async () => {
  const left = new AbortController();
  const unlessLeft = abortable(left.signal);
  for (let n = 0; n < 1000; n += 1) await unlessLeft(Promise.resolve(n));
  expect(getEventListeners(left.signal, 'abort')).toHaveLength(1);
});
