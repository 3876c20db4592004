import type { Page } from 'playwright-core';
import { type AnyStateMachine, createActor, setup } from 'xstate';
import { expect, test } from 'vitest';
import { mermaid } from '../../src/inspector/diagram/mermaid.ts';
import { svg } from '../../src/inspector/diagram/svg.ts';
import { drawMachine } from '../../src/inspector/frames/drawing.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** A machine of a user: two regions, one of which remembers where it was, and an arrow that has much to say. */
function player() {
  const nothing = () => {};
  return setup({
    guards: { trackIsLoaded: () => true },
    actions: { loadNextTrack: nothing, noteTheStart: nothing, tellTheNeighbours: nothing },
  }).createMachine({
    id: 'player',
    type: 'parallel',
    states: {
      sound: {
        initial: 'silent',
        states: {
          silent: {
            on: {
              play: {
                guard: 'trackIsLoaded',
                target: 'playing',
                actions: ['loadNextTrack', 'noteTheStart', 'tellTheNeighbours'],
              },
            },
          },
          playing: {
            initial: 'slow',
            on: { pause: 'paused' },
            states: {
              slow: { on: { faster: 'fast' } },
              fast: {},
              back: { type: 'history' },
              whole: { type: 'history', history: 'deep' },
            },
          },
          paused: { on: { resume: 'playing.back', restore: 'playing.whole' } },
        },
      },
      light: { initial: 'dim', states: { dim: { on: { play: 'bright' } }, bright: {} } },
    },
  });
}

const LONG = 'play [track is loaded] / load next track, note the start, tell the neighbours';

async function look(page: Page, machine: AnyStateMachine, id: string) {
  const actor = createActor(machine, { id, inspect: inspector().inspect }).start();
  await page.locator('.chart-title').getByText(id).waitFor();
  await page.locator('[data-state].active').first().waitFor();
  return actor;
}

test.skipIf(noChromium)('arrows say event, guard and actions, the whole of it where one points', async () => {
  const { page, problems } = await open();
  const actor = await look(page, player(), 'player');
  await page.getByRole('button', { name: 'Labels', exact: true }).click();
  const long = page.locator('.label', { hasText: 'play [track is loaded]' });
  await long.waitFor();
  const shown = await long.locator('text').textContent();
  expect(shown?.endsWith('…')).toBe(true);
  expect(LONG.startsWith(shown?.slice(0, -1) ?? '-')).toBe(true);
  await expect.poll(() => long.locator('title').textContent()).toBe(LONG);
  expect(mermaid(player())).toContain(LONG);
  expect(await svg(drawMachine(player()))).toContain(`<title>${LONG}</title>`);
  actor.stop();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('regions have dashed borders and are all lit; history states are H and H*', async () => {
  const { page } = await open();
  const actor = await look(page, player(), 'player');
  const dashes = (path: string) =>
    page.locator(`[data-state="${path}"] > .box`).evaluate((box) => getComputedStyle(box).strokeDasharray);
  expect(await dashes('sound')).not.toBe('none');
  expect(await dashes('light')).not.toBe('none');
  expect(await dashes('sound.playing')).toBe('none');
  actor.send({ type: 'play' });
  await page.locator('[data-state="sound.playing.slow"].active').waitFor();
  await page.locator('[data-state="light.bright"].active').waitFor();
  await expect.poll(() => page.locator('[data-state="sound.playing.back"] text').textContent()).toBe('H');
  await expect.poll(() => page.locator('[data-state="sound.playing.whole"] text').textContent()).toBe('H*');
  for (const type of ['faster', 'pause', 'resume'] as const) actor.send({ type });
  await page.locator('[data-state="sound.playing.fast"].active').waitFor();
  expect(await page.locator('.route-lit').count()).toBe(1);
  actor.stop();
});

test.skipIf(noChromium)(
  'the chart is read and used by keyboard alone: one stop for Tab, arrows between states',
  async () => {
    const { page, problems } = await open();
    const actor = await look(page, player(), 'player');
    actor.send({ type: 'play' });
    actor.send({ type: 'faster' });
    await page.locator('[data-state="sound.playing.fast"].active').waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-state') ?? null);
    const stops = page.locator('.chart-svg [tabindex="0"]');
    expect(await stops.count()).toBe(1);
    expect(await stops.getAttribute('aria-current')).toBe('step');
    // In a drawing the attribute is this only in small letters, though Chromium's selectors find it in others as well.
    expect(await stops.evaluate((one) => 'tabIndex' in one && one.tabIndex)).toBe(0);

    await page.getByRole('button', { name: 'Labels', exact: true }).focus();
    await page.keyboard.press('Shift+Tab');
    for (let left = 10; left > 0 && (await focused()) === null; left--) await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe(await stops.getAttribute('data-state'));
    const before = await page.locator('.chart-told').textContent();
    const seen = new Set([await focused()]);
    for (const key of [
      'ArrowUp',
      'ArrowLeft',
      'ArrowDown',
      'ArrowRight',
      'ArrowRight',
      'ArrowDown',
      'ArrowUp',
      'ArrowUp',
    ]) {
      await page.keyboard.press(key);
      seen.add(await focused());
    }
    expect(seen.size).toBeGreaterThan(3);
    expect(seen.has(null)).toBe(false);
    expect([...seen].some((path) => path?.endsWith('back') === true)).toBe(false);
    await expect.poll(() => page.locator('.chart-told').textContent()).toBe(before);
    expect(await stops.count()).toBe(1);
    expect(await stops.getAttribute('data-state')).toBe(await focused());

    await page.locator('[data-state="sound.playing.slow"]').focus();
    const box = page.locator('[data-state="sound.playing.slow"] > .box');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const width = await page
      .locator('.state:focus-visible > .box')
      .evaluate((one) => getComputedStyle(one).strokeWidth);
    expect(Number.parseFloat(width)).toBeGreaterThan(3);
    await box.locator('xpath=..').focus();
    await page.keyboard.press('Enter');
    await page.getByTestId('told').getByText('slow').waitFor();
    await expect.poll(() => page.getByTestId('step').textContent()).toContain('play');
    actor.stop();
    expect(problems).toEqual([]);
  },
);
