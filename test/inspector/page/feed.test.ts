import { afterEach, expect, test, vi } from 'vitest';
import { frameFeed } from '../../../src/inspector/page/state/feed.ts';
import { pageState } from '../../../src/inspector/page/state/page-state.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A screen whose frames come when the test says so; what is drawn takes `cost` milliseconds. */
function screen(cost: number) {
  vi.useFakeTimers({ toFake: ['performance'] });
  const asked: (() => void)[] = [];
  vi.stubGlobal('document', { hidden: false });
  vi.stubGlobal('requestAnimationFrame', (revision: () => void) => asked.push(revision));
  const state = pageState();
  const take = frameFeed(state);
  let drawn = 0;
  state.revision.subscribe(() => (drawn += 1));
  const first = drawn;
  let told = 0;
  return {
    drawn: () => drawn - first,
    waits: () => asked.length > 0,
    /** One frame of the screen, in which something new has come if `news`. */
    frame: (news: boolean) => {
      if (news) take({ t: 'actor-gone', session: 's', path: `a${told++}`, step: 1 });
      const before = drawn;
      for (const revision of asked.splice(0)) revision();
      vi.advanceTimersByTime(drawn > before ? cost : 16);
    },
  };
}

test('a page that is drawn in time is drawn with every frame of the screen', () => {
  const { frame, drawn } = screen(16);
  for (let n = 0; n < 30; n += 1) frame(true);
  expect(drawn()).toBe(30);
});

test('one that takes long is drawn half of the time at most, and what came last is drawn in the end', () => {
  const { frame, drawn, waits } = screen(100);
  for (let n = 0; n < 60; n += 1) frame(true);
  expect(drawn()).toBeGreaterThan(5);
  expect(drawn()).toBeLessThan(12);
  // Something comes while the page rests, and nothing after it.
  for (let before = -1; before !== drawn();) {
    before = drawn();
    frame(true);
  }
  const rested = drawn();
  for (let n = 0; n < 20; n += 1) frame(false);
  expect(drawn()).toBe(rested + 1);
  expect(waits()).toBe(false);
});

test('nothing is drawn, and the screen is not asked, when nothing comes', () => {
  const { frame, drawn, waits } = screen(16);
  frame(true);
  for (let n = 0; n < 5; n += 1) frame(false);
  expect(drawn()).toBe(1);
  expect(waits()).toBe(false);
});
