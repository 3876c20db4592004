import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** A run in which calls of one tool wait, with these arguments. */
const waiting = (...all: readonly JsonObject[]) =>
  createAgent({
    model: scriptedModel([calls(...all.map((args): [string, JsonObject] => ['pay', args])), 'Paid.']),
    tools: [
      fakeTool(
        'pay',
        all.map(() => ({ receipt: 7 })),
        { policy: 'confirm', inputSchema: { type: 'object' } },
      ),
    ],
    confirm: 'wait',
    silent: true,
    inspect: inspector(),
  }).run('Pay');

test.skipIf(noChromium)('all arguments of a call that waits are in sight, however deep or long', async () => {
  const run = waiting({
    deep: { a: { b: { c: { d: 'four levels down' } } } },
    list: Array.from({ length: 60 }, (_, at) => (at === 55 ? 'the fifty-sixth' : at)),
    long: `${'x'.repeat(5000)} behind much`,
    [`${'k'.repeat(300)} at the end of a name`]: 1,
  });
  const { page, problems } = await open();
  const shown = page.locator('[data-kind="call"] .json');
  for (const text of ['four levels down', 'the fifty-sixth', 'behind much', 'at the end of a name'])
    await shown.getByText(text).waitFor();
  expect(await shown.locator('.more').count()).toBe(0);

  // What has run is read when somebody wants to.
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await run;
  await shown.getByText('four levels down').waitFor({ state: 'detached' });
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'a text of several lines does not pass for more arguments, nor a text for a number',
  async () => {
    const run = waiting({ path: '/tmp/a\nrecursive: false', recursive: true, none: '', five: '5', number: 5 });
    const { page } = await open();
    const call = page.locator('[data-kind="call"]');
    const text = call.locator('.string').filter({ hasText: '/tmp/a' });
    await text.waitFor();
    const [second, name] = await Promise.all([
      text.evaluate((element) => element.getClientRects()[1]?.left ?? 0),
      call
        .locator('.key')
        .first()
        .evaluate((element) => element.getBoundingClientRect().left),
    ]);
    expect(second).toBeGreaterThan(name + 4);
    const quotes = await call
      .locator('.json .string, .json .number, .json .word')
      .evaluateAll((all) => all.map((element) => getComputedStyle(element, '::before').content));
    expect(quotes).toEqual(['"\\""', 'none', '"\\""', '"\\""', 'none']);
    await run.cancel();
  },
);

test.skipIf(noChromium)('after an answer by keyboard, the list stays at the next call that waits', async () => {
  const long = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`member${at}`, at]));
  const run = waiting(long, { to: 'second' });
  const { page, problems } = await open();
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await approve.first().waitFor();
  await page.keyboard.press('a');
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-approve'))).toBe('c1');
  await page.keyboard.press('Enter');
  await page.getByTestId('inbox').getByText('1 call waits').waitFor();

  await expect.poll(() => approve.count()).toBe(1);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  expect(
    await approve.evaluate((button) => {
      const { top, bottom } = button.getBoundingClientRect();
      const list = button.closest('.scroll')?.getBoundingClientRect();
      return list !== undefined && top >= list.top && bottom <= list.bottom;
    }),
  ).toBe(true);
  await run.cancel();
  expect(problems).toEqual([]);
});

for (const [width, height] of [
  [1280, 400],
  [910, 430],
] as const)
  test.skipIf(noChromium)(`a call is answered in a window of ${width} by ${height}`, async () => {
    const run = waiting({ to: 'Ann' });
    const { page } = await open({ width, height });
    await page.getByTestId('status').filter({ hasText: 'waiting for you' }).waitFor();
    await page.keyboard.press('a');
    const button = page.locator('[data-approve]');
    await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
    const place = await button.boundingBox();
    expect((place?.y ?? height) + (place?.height ?? 0)).toBeLessThanOrEqual(height);
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(height);
    expect(await page.evaluate(() => document.querySelector('.bar')?.getBoundingClientRect().top)).toBe(0);
    await button.click();
    expect((await run).success).toBe(true);
  });
