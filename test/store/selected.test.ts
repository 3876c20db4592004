import * as React from 'react';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { type UsedRun, runStore, useRun } from '../../src/react/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

/** What React does for a component without a page: what is selected at a time is asked for by the returned function. */
const hooks = { useMemo: (make: () => unknown) => make(), useSyncExternalStore: (_: unknown, read: unknown) => read };
const inside: { H: unknown } = Reflect.get(React, '__CLIENT_INTERNALS_DO_NOT_USE_OR_WARN_USERS_THEY_CANNOT_UPGRADE');
beforeAll(() => void (inside.H = hooks));
afterAll(() => void (inside.H = null));

test('what a selector gives keeps its identity while it is equal, and only then', async () => {
  const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
  const store = runStore(run);
  const reading = (selector: (one: UsedRun) => unknown): (() => unknown) =>
    Reflect.apply(useRun, undefined, [store, selector]);
  const selected = {
    list: reading(({ pending }) => [...pending]),
    object: reading(({ pending }) => ({ waiting: pending.length })),
    map: reading(({ messages }) => new Map(messages.map(({ id, text }) => [id, text]))),
    date: reading(({ step }) => new Date(step)),
  };
  const readAll = () => Object.values(selected).map((read) => read());
  const leave = store.subscribe(() => undefined);
  const before = readAll();
  expect(readAll().map((one, at) => one === before[at])).toEqual([true, true, true, true]);
  await run;
  await expect.poll(() => store.getSnapshot().status).toBe('answered');
  const after = readAll();
  expect(after.map((one, at) => one === before[at])).toEqual([true, true, false, false]);
  expect([...Object(after[2]).values()]).toEqual(['Hello', 'Hi.']);
  leave();
});
