import { afterEach, expect, test, vi } from 'vitest';
import type { Frame } from '../../../src/inspector/frames/protocol.ts';
import { frameFeed } from '../../../src/inspector/page/state/feed.ts';
import { pageState } from '../../../src/inspector/page/state/page-state.ts';
import { sessionFrame, step } from './fixture.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A tab that can be hidden: no frame of the screen comes then. Each look at the time takes a millisecond. */
function tabWithClock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const asked: unknown[] = [];
  const page: { hidden: boolean; onvisibilitychange?: () => void } = { hidden: false };
  vi.stubGlobal('document', page);
  vi.stubGlobal('requestAnimationFrame', (callback: unknown) => asked.push(callback));
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
  const state = pageState();
  const turn = (hidden: boolean) => (): void => {
    page.hidden = hidden;
    page.onvisibilitychange?.();
  };
  return { asked, tab: { hide: turn(true), show: turn(false) }, state, take: frameFeed(state) };
}

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

/** The frames of a session of many steps. */
const steps = (count: number): readonly Frame[] => [
  sessionFrame('s'),
  ...Array.from({ length: count }, (_, n): Frame => ({ t: 'step', session: 's', step: step(n + 1, 'S') })),
];

test('a page that is hidden while it waits for the screen takes what comes, all of it with each tick of a slow clock', () => {
  const { asked, tab, state, take } = tabWithClock();
  const [session, ...rest] = steps(40_000);
  take(session as Frame);
  expect(asked).toHaveLength(1);
  tab.hide();
  expect(state.model.sessions.size).toBe(1);
  const known = () => state.model.sessions.get('s')?.steps.length;
  for (const part of [rest.slice(0, 20_000), rest.slice(20_000)]) {
    const before = known() ?? 0;
    part.forEach(take);
    expect(known()).toBe(before);
    vi.advanceTimersByTime(60_000);
    expect(known()).toBe(before + part.length);
  }
  // Nothing comes, and nothing is asked of screen or clock.
  vi.advanceTimersByTime(60_000);
  expect([asked.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test('a page that is hidden while it waits for nothing is not drawn for that', () => {
  const { tab, state } = tabWithClock();
  tab.hide();
  tab.show();
  expect([state.revision.value, vi.getTimerCount()]).toEqual([0, 0]);
});
