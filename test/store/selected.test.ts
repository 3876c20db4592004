import * as React from 'react';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { type RunStore, type UsedRun, runStore, useRun } from '../../src/react/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

/** What a component has called the hooks with. */
interface Hooked {
  readonly deps: readonly unknown[];
  readonly made: unknown;
}

/** What React would do with a store. */
interface Synced {
  readonly subscribe: RunStore['subscribe'];
  readonly read: () => unknown;
}

let mounted: Hooked | null = null;
let synced: Synced | null = null;

/** What React does for one component without a page. */
const hooks = {
  useMemo: (make: () => unknown, deps: readonly unknown[]): unknown => {
    const isSame = mounted !== null && deps.every((one, at) => one === mounted?.deps[at]);
    if (!isSame) mounted = { deps, made: make() };
    return mounted?.made;
  },
  useSyncExternalStore: (subscribe: RunStore['subscribe'], read: () => unknown): unknown => {
    synced = { subscribe, read };
    return read();
  },
};
const inside: { H: unknown } = Reflect.get(React, '__CLIENT_INTERNALS_DO_NOT_USE_OR_WARN_USERS_THEY_CANNOT_UPGRADE');
beforeAll(() => void (inside.H = hooks));
afterAll(() => void (inside.H = null));

/** A component that calls `useRun`: rendered with these arguments, and mounted until the test ends. */
function component() {
  let own: Hooked | null = null;
  let leave: (() => void) | null = null;
  const render = (...given: readonly unknown[]): unknown => {
    mounted = own;
    const value: unknown = Reflect.apply(useRun, undefined, given);
    const isNew = own !== mounted;
    own = mounted;
    if (isNew) {
      leave?.();
      leave = synced?.subscribe(() => undefined) ?? null;
    }
    return value;
  };
  onTestFinished(() => leave?.());
  return render;
}

const hello = () => createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');

const statusOf = ({ status }: UsedRun): string => status;

test('what a selector gives keeps its identity while it is equal, and only then', async () => {
  const run = hello();
  const store = runStore(run);
  const reading = (selector: (one: UsedRun) => unknown): (() => unknown) => {
    const render = component();
    return () => render(store, selector);
  };
  const selected = {
    list: reading(({ pending }) => [...pending]),
    object: reading(({ pending }) => ({ waiting: pending.length })),
    map: reading(({ messages }) => new Map(messages.map(({ id, text }) => [id, text]))),
    date: reading(({ step }) => new Date(step)),
    longer: reading(({ messages }) => messages.map(({ text }) => text)),
    other: reading(({ messages }) => (messages.length > 0 ? new Set([messages.length]) : [])),
  };
  const readAll = () => Object.values(selected).map((read) => read());
  const before = readAll();
  expect(readAll().map((one, at) => one === before[at])).toEqual([true, true, true, true, true, true]);
  await run;
  await expect.poll(() => store.getSnapshot().status).toBe('answered');
  const after = readAll();
  expect(after.map((one, at) => one === before[at])).toEqual([true, true, false, false, false, false]);
  expect([...Object(after[2]).values()]).toEqual(['Hello', 'Hi.']);
  expect(after.slice(4)).toEqual([['Hello', 'Hi.'], new Set([2])]);
});

test('another selector of the same view is asked at once', () => {
  const render = component();
  const store = runStore(hello());
  // Mounting it has changed the view.
  for (const _ of [1, 2]) expect(render(store, statusOf)).toBe('idle');
  expect(render(store, ({ state }: UsedRun) => state)).toBe('PLANNING');
});

test('a component of a run follows it, and rendering it again makes no other store', async () => {
  const run = hello();
  const render = component();
  expect(render(run, statusOf)).toBe('idle');
  await run;
  await expect.poll(() => render(run, statusOf)).toBe('answered');
});

test('a component of a URL has the options it was given, with a selector or without', async () => {
  for (const selector of [[], [statusOf]]) {
    const asked: unknown[] = [];
    const fetch = async (url: unknown): Promise<Response> => {
      asked.push(url);
      return new Response(null, { status: 204 });
    };
    const render = component();
    const url = 'http://chat/?id=a';
    render(url, ...selector, { fetch });
    // The literal is a new one, the connection is not.
    render(url, ...selector, { fetch });
    await expect.poll(() => asked).toEqual([url]);
  }
});
