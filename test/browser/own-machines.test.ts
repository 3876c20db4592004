import type { Page } from 'playwright-core';
import { createActor, createMachine, enqueueActions, setup, spawnChild } from 'xstate';
import { expect, test } from 'vitest';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** A machine of sixty states in six halls, with arrows that lead on, back and away. */
function halls() {
  const hall = (name: string, next: string) => ({
    initial: `${name}_0`,
    on: { [`leave.${name}`]: next },
    states: Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [
        `${name}_${at}`,
        {
          on: {
            'walk.on': { target: `${name}_${(at + 1) % 9}`, guard: 'isOpen', actions: 'noteTheWay' },
            ...(at % 3 === 0 ? { 'walk.back': `${name}_${(at + 8) % 9}` } : {}),
          },
        },
      ]),
    ),
  });
  const names = ['ENTRANCE', 'KITCHEN', 'LIBRARY', 'CELLAR', 'ATTIC', 'GARDEN'];
  return createMachine(
    {
      id: 'house',
      initial: 'ENTRANCE',
      states: Object.fromEntries(names.map((name, at) => [name, hall(name, names[(at + 1) % 6] ?? 'ENTRANCE')])),
    },
    { guards: { isOpen: () => true }, actions: { noteTheWay: () => {} } },
  );
}

/** How high letters are on the screen, in pixels. */
const heightOf = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((text) => text.getBoundingClientRect().height);

test.skipIf(noChromium)('a chart of sixty states fits the page, and its labels can be read at a state', async () => {
  const { page, problems } = await open();
  const actor = createActor(halls(), { id: 'house', inspect: inspector().inspect }).start();
  await page.locator('[data-state="ENTRANCE.ENTRANCE_0"].active').waitFor();
  for (const name of ['ENTRANCE', 'KITCHEN', 'LIBRARY', 'CELLAR', 'ATTIC']) actor.send({ type: `leave.${name}` });
  await page.locator('[data-state="GARDEN.GARDEN_0"].active').waitFor();
  const states = page.locator('[data-state]');
  await expect.poll(() => states.count()).toBe(60);
  const view = await page.locator('.chart-svg').boundingBox();
  for (const box of await states.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()))) {
    expect(box.left).toBeGreaterThanOrEqual((view?.x ?? 0) - 1);
    expect(box.right).toBeLessThanOrEqual((view?.x ?? 0) + (view?.width ?? 0) + 1);
    expect(box.bottom).toBeLessThanOrEqual((view?.y ?? 0) + (view?.height ?? 0) + 1);
  }

  await page.getByRole('button', { name: 'Labels', exact: true }).click();
  await page.locator('.label', { hasText: 'walk.on' }).first().waitFor();
  await page.locator('[data-state="GARDEN.GARDEN_3"]').focus();
  await page.keyboard.press('z');
  await expect.poll(() => heightOf(page, '[data-state="GARDEN.GARDEN_3"] .name')).toBeGreaterThan(11);
  const inSight = await page
    .locator('.label text')
    .evaluateAll((all) =>
      all
        .map((one) => ({ box: one.getBoundingClientRect(), text: one.textContent }))
        .filter(({ box }) => box.left > 0 && box.right < 1000 && box.top > 60 && box.bottom < 500),
    );
  expect(inSight.length).toBeGreaterThan(0);
  for (const { box } of inSight) expect(box.height).toBeGreaterThan(9);
  expect(inSight.some(({ text }) => text === 'walk.on [is open] / note the way')).toBe(true);
  const focused = await page.locator('[data-state="GARDEN.GARDEN_3"]').boundingBox();
  expect(focused?.x ?? 0).toBeGreaterThan(view?.x ?? 0);
  expect((focused?.x ?? 0) + (focused?.width ?? 0)).toBeLessThan((view?.x ?? 0) + (view?.width ?? 0));
  actor.stop();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'fifty actors that a machine spawns, some of them later, have names, tiles and charts',
  async () => {
    const { page, problems } = await open();
    const lamp = createMachine({
      id: 'lamp',
      initial: 'dark',
      states: { dark: { after: { 40: 'lit' } }, lit: { on: { dim: 'dark' } } },
    });
    const street = setup({
      actors: { lamp },
      actions: {
        lightAll: enqueueActions(({ enqueue }) => {
          for (let at = 0; at < 48; at++) enqueue.spawnChild('lamp', { id: `lamp-${at}` });
        }),
      },
    }).createMachine({
      id: 'street',
      initial: 'day',
      states: {
        day: { on: { dusk: 'night' } },
        night: { entry: 'lightAll', after: { 80: { actions: spawnChild('lamp', { id: 'late' }), target: 'deep' } } },
        deep: {},
      },
    });
    const root = createActor(street, { id: 'street', inspect: inspector().inspect }).start();
    root.send({ type: 'dusk' });
    const tiles = page.getByRole('complementary', { name: 'Live actors' }).getByRole('button');
    await tiles.filter({ hasText: 'street' }).getByText('deep').waitFor();
    await expect.poll(() => tiles.count()).toBe(50);
    const late = tiles.filter({ hasText: 'late' });
    await late.getByText('lit').waitFor();
    await late.click();
    await page.locator('[data-state="lit"].active').waitFor();
    await expect.poll(() => page.locator('.chart-title [aria-current="true"]').textContent()).toBe('late');
    await expect.poll(() => tiles.filter({ hasText: 'lamp-47' }).textContent()).toContain('lit');
    root.stop();
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a machine without states says so, and is not starting for ever', async () => {
  const { page, problems } = await open();
  const counter = createMachine({ id: 'counter', on: { add: {} } });
  const root = createActor(counter, { id: 'counter', inspect: inspector().inspect }).start();
  root.send({ type: 'add' });
  const tiles = page.getByRole('complementary', { name: 'Live actors' }).getByRole('button');
  await tiles.filter({ hasText: 'counter' }).getByText('no states').waitFor();
  expect(await tiles.getByText('starting').count()).toBe(0);
  root.stop();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'what leads to a state that holds others can be read on it, and a timer has an arrow',
  async () => {
    const { page, problems } = await open();
    const machine = createMachine({
      id: 'gate',
      initial: 'SHUT',
      on: { reset: '.OPEN' },
      states: { SHUT: {}, OPEN: { initial: 'WIDE', states: { WIDE: { after: { 40: 'NARROW' } }, NARROW: {} } } },
    });
    const root = createActor(machine, { id: 'gate', inspect: inspector().inspect }).start();
    root.send({ type: 'reset' });
    await page.locator('[data-state="OPEN.NARROW"].active').waitFor();
    const fillOf = (selector: string) => page.locator(selector).evaluate((shape) => getComputedStyle(shape).fill);
    expect(await fillOf('.state.notes.active .sub')).not.toBe(await fillOf('[data-state="OPEN.NARROW"] .name'));

    await page.getByRole('tab', { name: 'Sequence' }).click();
    await page.locator('.sequence .message.timer').first().waitFor();
    // The line, and its head.
    expect(await page.locator('.sequence .message.timer').count()).toBe(2);
    root.stop();
    expect(problems).toEqual([]);
  },
);
