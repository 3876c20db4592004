import { createActor, createMachine, setup } from 'xstate';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const pay = () =>
  fakeTool('pay', [{ receipt: 7 }], { description: 'Pays.', policy: 'confirm', inputSchema: { type: 'object' } });

/** An agent with so many below it, each the only child of the one above; the last one pays. */
function tower(height: number): ReturnType<typeof createAgent> {
  const name = `level${height}`;
  const below = `level${height - 1}`;
  const replies = height === 0 ? [calls(['pay', { to: 'Ann' }])] : [calls([below, { task: `Task of ${below}` }])];
  return createAgent({
    name,
    description: `Stands at ${height}.`,
    model: scriptedModel([...replies, `Answer of ${name}`]),
    silent: true,
    confirm: 'wait',
    ...(height === 0 ? { tools: [pay()] } : { children: [tower(height - 1)] }),
  });
}

test.skipIf(noChromium)(
  'each agent in an agent has its chart, its name and its place in the conversation; the chart follows who moves',
  async () => {
    const { page, problems } = await open();
    const run = tower(2).run('Pay, far below', { inspect: inspector() });
    const waiting = page.locator('.entry[data-kind="call"]', { hasText: 'waits for you' });
    await waiting.waitFor();

    await expect.poll(() => waiting.getAttribute('data-depth')).toBe('2');
    const title = page.getByRole('navigation', { name: 'Actor' });
    await expect.poll(() => title.getByRole('button').allTextContents()).toEqual(['level2', 'level1', 'level0']);
    await expect.poll(() => title.locator('[aria-current="true"]').textContent()).toBe('level0');
    await page.locator('[data-state="DIRECT_EXECUTION.RUNNING_CALLS"].active').waitFor();
    await expect.poll(() => page.getByTestId('told').textContent()).toContain('level2 › level1 › level0 › pay');

    await title.getByRole('button', { name: 'level1' }).click();
    await expect.poll(() => title.locator('[aria-current="true"]').textContent()).toBe('level1');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.answer-text').getByText('Answer of level2').waitFor();
    expect((await run).success).toBe(true);
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('eight agents deep everything is still inside the page, on a phone too', async () => {
  const run = tower(7).run('Pay, very far below', { inspect: inspector() });
  for (const width of [1280, 390]) {
    const { page } = await open({ width, height: 844 });
    if (width < 800) await page.getByRole('button', { name: 'Conversation' }).click();
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await approve.waitFor();
    const box = await approve.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? width)).toBeLessThan(width);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
  await run.cancel();
});

test.skipIf(noChromium)('two tasks of one child are told apart, and nothing waits that is over', async () => {
  const { page } = await open();
  const child = createAgent({
    name: 'scout',
    description: 'Scouts.',
    silent: true,
    model: scriptedModel([calls(['look', {}]), calls(['look', {}]), 'Seen.', 'Seen.']),
    tools: [fakeTool('look', [{ sky: 1 }, { sky: 2 }], { inputSchema: { type: 'object' } })],
  });
  const model = scriptedModel([calls(['scout', { task: 'north' }], ['scout', { task: 'south' }]), 'Both seen.']);
  await createAgent({ name: 'chief', model, silent: true, children: [child], inspect: inspector() }).run('Look around');
  await page.locator('.answer-text').getByText('Both seen.').waitFor();
  const seen = new Set<string>();
  for (let top = 0; top < 4000; top += 150) {
    await page.locator('.board-talk .scroll').evaluate((list, to) => (list.scrollTop = to), top);
    for (const title of await page
      .locator('.speaker')
      .evaluateAll((all) => all.map((one) => one.getAttribute('title'))))
      seen.add(title ?? '');
    for (const word of ['running', 'waits for you', 'Model is asked'])
      expect(await page.locator('.board-talk').getByText(word, { exact: true }).count()).toBe(0);
  }

  expect(new Set([...seen].map((title) => /in call (\S+):/.exec(title)?.[1]))).toEqual(new Set(['c1', 'c2']));
});

test.skipIf(noChromium)('a run that failed has no tick and no green, a run that answered has', async () => {
  const broken = () => Promise.reject(new Error('The model is not there.'));
  const failing = createAgent({ silent: true, model: { id: 'broken', complete: broken }, inspect: inspector() });
  expect((await failing.run('Fail')).success).toBe(false);
  const { page } = await open();
  const end = page.locator('[data-state="COMPLETION"].active');
  await end.waitFor();
  await expect.poll(() => end.getAttribute('data-tone')).toBe('danger');
  await expect.poll(() => page.getByTestId('status').getAttribute('class')).toContain('danger');

  await createAgent({ silent: true, model: scriptedModel(['Fine.']), inspect: inspector() }).run('Answer');
  const { page: other } = await open();
  await other.locator('[data-state="COMPLETION"].active').waitFor();
  await expect.poll(() => other.locator('[data-state="COMPLETION"]').getAttribute('data-tone')).toBe('done');
});

test.skipIf(noChromium)(
  'a machine of somebody else is called by its id, and its states are not judged by name',
  async () => {
    const oven = createMachine({
      id: 'oven',
      initial: 'NOT_READY',
      states: { NOT_READY: { on: { heated: 'FINISHED_HEATING' } }, FINISHED_HEATING: {} },
    });
    const actor = createActor(oven, { inspect: inspector().inspect }).start();
    const { page } = await open();
    const state = page.locator('[data-state="NOT_READY"].active');
    await state.waitFor();

    await expect.poll(() => state.getAttribute('data-tone')).toBe('go');
    await expect.poll(() => page.getByRole('navigation', { name: 'Actor' }).textContent()).toBe('oven');
    await expect.poll(() => page.locator('.run-picker').textContent()).toContain('oven');
    await page.keyboard.press('e');
    await page.getByRole('dialog').waitFor();
    expect(await page.getByLabel('To').locator('option').allTextContents()).toEqual(['oven']);
    expect(await page.locator('body').textContent()).not.toMatch(/x:\d/);
    actor.stop();
  },
);

test.skipIf(noChromium)('events that changed nothing are listed, with why and what each guard said', async () => {
  const guards = { isOpen: () => false };
  const door = setup({ types: { events: {} as { type: 'pushed' | 'sung' } }, guards }).createMachine({
    id: 'door',
    initial: 'SHUT',
    states: { SHUT: { on: { pushed: { guard: 'isOpen', target: 'OPEN' } } }, OPEN: {} },
  });
  const actor = createActor(door, { inspect: inspector().inspect }).start();
  actor.send({ type: 'pushed' });
  actor.send({ type: 'sung' });
  const { page } = await open();
  await page.locator('[data-state="SHUT"].active').waitFor();
  await page.keyboard.press('2');
  const rows = page.getByRole('list', { name: 'Transitions' });
  await rows.getByText('nothing: no state takes it').waitFor();
  await rows.getByText('nothing: its guards said no').click();
  await page.keyboard.press('1');

  await page.getByTestId('candidates').getByText('guard said no').waitFor();
  await expect.poll(() => page.getByTestId('candidates').textContent()).toContain('isOpen');
  await expect.poll(() => page.getByTestId('ignored').textContent()).toContain('said no');
  expect(await page.locator('[data-state="OPEN"]').getAttribute('class')).not.toContain('visited');
  actor.stop();
});
