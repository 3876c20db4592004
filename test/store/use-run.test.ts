import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, expectTypeOf, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { type UsedRun, runStore, useRun } from '../../src/react/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

test('rendered on a server, a run is idle, and nothing is asked for', () => {
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return new Response(null, { status: 204 });
  };
  const seen: UsedRun[] = [];
  const Chat = () => {
    const run = useRun('http://chat/?id=a', { fetch });
    seen.push(run);
    const state = useRun('http://chat/?id=a', ({ state: path }: UsedRun) => path, { fetch });
    return createElement('p', null, `${run.status} ${state} ${run.messages.length}`);
  };
  expect(renderToString(createElement(Chat))).toBe('<p>idle PLANNING 0</p>');
  expect(asked).toBe(0);
  expect(seen.map(({ send, pending }) => [typeof send, pending])).toEqual([['function', []]]);
});

test('a run that goes on in the server is not waited for either: pages connect when they are mounted', async () => {
  const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
  const Chat = () =>
    createElement(
      'p',
      null,
      useRun(run, ({ status }) => status),
    );
  expect(renderToString(createElement(Chat))).toBe('<p>idle</p>');
  await run;
});

test('a store that has shown its run is idle in what a server renders, as the page is that takes it over', async () => {
  const run = createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
  const store = runStore(run);
  const leave = store.subscribe(() => undefined);
  await expect.poll(() => store.getSnapshot().status).toBe('answered');
  leave();
  const Chat = () => createElement('p', null, useRun(store).status);
  expect(renderToString(createElement(Chat))).toBe('<p>idle</p>');
});

test('a selector of a store gets the types of its agent', () => {
  const agent = createAgent({ model: scriptedModel(['Hi.']), silent: true, tools: [] });
  const store = runStore<typeof agent>('http://chat/?id=a');
  const Chat = () => {
    const step = useRun(store, (run) => run.step);
    expectTypeOf(step).toBeNumber();
    expectTypeOf(useRun<typeof agent>('http://chat/?id=a').send).returns.resolves.toBeBoolean();
    return createElement('p', null, step);
  };
  expect(renderToString(createElement(Chat))).toBe('<p>0</p>');
});
