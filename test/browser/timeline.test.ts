import { createActor, createMachine } from 'xstate';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const look = () => fakeTool('look', [{ sky: 'clear' }], { inputSchema: { type: 'object' } });

test.skipIf(noChromium)(
  'the timeline is a tree of agents, models and tools by name, which opens and closes',
  async () => {
    const scout = createAgent({
      name: 'scout',
      description: 'Scouts.',
      silent: true,
      model: scriptedModel([calls(['look', {}]), 'Seen.']),
      tools: [look()],
    });
    const model = scriptedModel([calls(['scout', { task: 'north' }]), 'All seen.']);
    await createAgent({ name: 'chief', model, silent: true, children: [scout], inspect: inspector() }).run('Scout');
    const { page, problems } = await open();
    await page.locator('.answer-text').getByText('All seen.').waitFor();
    const names = async () =>
      (await page.getByRole('list', { name: 'Actors' }).getByRole('listitem').allTextContents()).map((one) =>
        one.replace(/^[▾▸] /, ''),
      );

    await expect.poll(() => page.getByTestId('clock').textContent()).not.toBe('0 ms');
    expect((await names()).slice(0, 4)).toEqual(['chief', 'model', 'scout', 'scout']);
    const call = page.getByRole('list', { name: 'Actors' }).getByRole('button', { name: 'scout' }).first();
    await call.click();
    expect(await names()).toEqual(['chief', 'model', 'scout']);
    expect(await call.getAttribute('aria-expanded')).toBe('false');
    await call.click();
    expect((await names()).length).toBeGreaterThan(3);
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a wheel zooms into the timeline, and pointing tells state, duration and event', async () => {
  const model = scriptedModel([calls(['look', {}]), 'Zoomed.']);
  await createAgent({ name: 'chief', model, silent: true, tools: [look()], inspect: inspector() }).run('Zoom');
  const { page } = await open();
  await page.locator('.answer-text').getByText('Zoomed.').waitFor();
  const box = await page.getByRole('slider', { name: 'Step' }).boundingBox();
  const [x, y] = [(box?.x ?? 0) + 600, (box?.y ?? 0) + 26];
  const whole = page.getByRole('button', { name: 'whole run' });
  expect(await whole.count()).toBe(0);

  await page.mouse.move(x, y);
  await page.getByTestId('lane-tip').getByText('chief').waitFor();
  await expect
    .poll(() => page.getByTestId('lane-tip').textContent())
    .toMatch(/(?:PLANNING|DIRECT_EXECUTION)\S* \d+.* · /);
  await page.mouse.wheel(0, -600);
  await whole.waitFor();
  await whole.click();
  expect(await whole.count()).toBe(0);
});

test.skipIf(noChromium)('fifty actors are scrolled through, each by its name', async () => {
  const child = createMachine({ id: 'child', initial: 'ON', states: { ON: {} } });
  const invoke = Array.from({ length: 50 }, (_, n) => ({ id: `worker-${n}`, src: child }));
  const many = createMachine({ id: 'many', initial: 'BUSY', states: { BUSY: { invoke } } });
  const actor = createActor(many, { inspect: inspector().inspect }).start();
  const { page } = await open();
  const list = page.getByRole('list', { name: 'Actors' });
  await list.getByText('worker-0', { exact: true }).waitFor();
  expect(await list.getByText('worker-49', { exact: true }).count()).toBe(0);

  // As many as there is room for, on a phone too: none is cut off.
  const cut = () =>
    list.evaluate((one) => {
      const { bottom } = one.getBoundingClientRect();
      const rows = [...one.children].map((row) => row.getBoundingClientRect()).filter(({ top }) => top < bottom - 1);
      return rows.length > 2 && rows.every((row) => row.bottom < bottom + 1)
        ? 'none'
        : rows.map((row) => row.bottom - bottom);
    });
  await expect.poll(cut).toBe('none');
  await page.setViewportSize({ width: 390, height: 800 });
  await expect.poll(cut).toBe('none');
  await page.setViewportSize({ width: 1400, height: 900 });
  await expect.poll(cut).toBe('none');

  await list.hover();
  for (let turn = 0; turn < 40; turn++) await page.mouse.wheel(0, 100);
  await list.getByText('worker-49', { exact: true }).waitFor();
  actor.stop();
});

test.skipIf(noChromium)('the clock goes on while a call waits', async () => {
  const model = scriptedModel([calls(['pay', {}]), 'Paid.']);
  const pay = fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } });
  const agent = createAgent({ model, tools: [pay], confirm: 'wait', silent: true, inspect: inspector() });
  const run = agent.run('Wait for me');
  const { page } = await open();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  const before = await page.getByTestId('clock').textContent();

  await expect.poll(() => page.getByTestId('clock').textContent()).not.toBe(before);
  await run.cancel();
});
