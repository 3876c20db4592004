import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const SCHEMA = {
  type: 'object',
  properties: { amount: { type: 'number' }, memo: { type: 'string' }, day: { type: 'string', format: 'date' } },
};

/** A run in which calls of one tool wait, with these arguments. */
const waiting = (...all: readonly JsonObject[]) =>
  createAgent({
    model: scriptedModel([calls(...all.map((args): [string, JsonObject] => ['pay', args])), 'Paid.']),
    tools: [
      fakeTool(
        'pay',
        all.map(() => ({ receipt: 7 })),
        { policy: 'confirm', inputSchema: SCHEMA },
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

test.skipIf(noChromium)('a fact of the run for which the bar has no room is left out, and none is cut', async () => {
  const run = waiting({ amount: 1 });
  const { page } = await open({ width: 1440 });
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  const seen = () =>
    page.locator('.facts').evaluate((bar) => {
      const { right, bottom } = bar.getBoundingClientRect();
      const facts = Array.from(bar.children, (fact) => fact.getBoundingClientRect());
      return facts.filter(({ top }) => top < bottom).map((fact) => fact.right <= right + 1);
    });
  expect((await seen()).length).toBeGreaterThan(2);
  for (const width of [1024, 940, 860]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await seen(), String(width)).not.toContain(false);
  }
  await run.cancel();
});

test.skipIf(noChromium)(
  'a text of several lines does not pass for more arguments, nor a text for a number',
  async () => {
    const run = waiting({ path: '/tmp/a\nrecursive: false', recursive: true, none: '', five: '5', 'to: me\nx': 5 });
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
    // Nor a name for a name and its value.
    expect(await call.locator('.key').allTextContents()).toEqual(['path', 'recursive', 'none', 'five', '"to: me\\nx"']);
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
  // A window at twice its size.
  [640, 400],
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
    const list = await page.getByRole('list', { name: 'Conversation' }).boundingBox();
    expect(list?.height ?? 0).toBeGreaterThan(height / 4);
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(height);
    expect(await page.evaluate(() => document.querySelector('.bar')?.getBoundingClientRect().top)).toBe(0);
    await button.click();
    expect((await run).success).toBe(true);
  });

/** What has the focus: a button by its name, everything else by its label. */
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent.trim());

test.skipIf(noChromium)('the keyboard stays in the conversation when the button that was pressed is gone', async () => {
  const run = waiting({ to: 'first' }, { to: 'second' }, { to: 'third' });
  const { page, problems } = await open();
  const left = (many: string) => page.getByTestId('inbox').getByText(many).waitFor();
  await left('3 calls wait');
  const press = async (name: string, at = 0) => {
    await page.getByRole('button', { name, exact: true }).nth(at).focus();
    await page.keyboard.press('Enter');
  };
  await press('Approve');
  await left('2 calls wait');
  await expect.poll(() => focused(page)).toBe('Conversation');
  // A second press of Enter answers nothing.
  await page.keyboard.press('Enter');
  await press('Edit');
  await page.locator('textarea:focus').waitFor();
  await press('Discard edits');
  await expect.poll(() => focused(page)).toBe('Conversation');
  await press('Reject');
  await left('1 call waits');
  await expect.poll(() => focused(page)).toBe('Conversation');

  // From nowhere it comes back to nowhere.
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  // Not by its role, which a closed dialog no longer has: until it is removed, the focus is still in it.
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  await run.cancel();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'who edits a call that another tab answers is told that it was not sent, and who answers is not',
  async () => {
    const run = waiting({ amount: 20 }, { amount: 30 });
    const [own, other] = [await open(), await open()];
    const overtaken = /^pay no longer waits for an answer\. What you wrote was not sent\.$/;
    for (const { page } of [own, other]) {
      await page.getByRole('button', { name: 'Edit', exact: true }).nth(1).waitFor();
      await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
      await page.getByLabel('amount').fill('25');
    }
    const reason = other.page.getByLabel('Reason for rejecting').first();
    await reason.fill('Too much.');
    await own.page.getByRole('button', { name: 'Approve with edits' }).click();
    await other.page.getByText(overtaken).waitFor();
    await own.page.getByText('Approved.').waitFor();
    expect(await own.page.getByText(overtaken).count()).toBe(0);
    // The other answer is still being written, and what was said once is not said again.
    expect(await reason.inputValue()).toBe('Too much.');
    await reason.fill('');
    await other.page.getByText(overtaken).waitFor({ state: 'detached' });
    await own.page.getByRole('button', { name: 'Approve', exact: true }).click();
    await run;
    await other.page.locator('.answer-text').waitFor();
    expect(await other.page.getByText(overtaken).count()).toBe(0);
    expect([...own.problems, ...other.problems]).toEqual([]);
  },
);

test.skipIf(noChromium).each([
  ['Too much.', 1],
  ['', 0],
])('who writes the reason "%s" for a call that is answered elsewhere is told so: %i', async (reason, times) => {
  const run = waiting({ amount: 20 });
  const { page } = await open();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Discard edits' }).click();
  await page.getByLabel('Reason for rejecting').fill(reason);
  await run.approve('c1');
  await run;
  await page.locator('.answer-text').waitFor();
  const told = page.getByText('no longer waits for an answer');
  if (times > 0) await told.waitFor();
  expect(await told.count()).toBe(times);
});

test.skipIf(noChromium)('edits are discarded, and the call is approved as it was proposed', async () => {
  const run = waiting({ to: 'Ann' });
  const { page } = await open();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Arguments as JSON').fill('{"to": "somebody else"}');
  await page.getByRole('button', { name: 'Discard edits' }).click();
  await page.getByLabel('Arguments as JSON').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  expect(await page.getByLabel('Arguments as JSON').inputValue()).toBe('{\n  "to": "Ann"\n}');
  await page.getByRole('button', { name: 'Discard edits' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await run;
  expect(run.recording()).not.toContain('"args":{"to":"somebody');
  expect(run.recording()).toContain('"approval.given","always":false,"args":null');
});

test.skipIf(noChromium)(
  'nothing else is sent than what stands in a form: half a date, a number that is too long',
  async () => {
    const run = waiting({ amount: 5, memo: 'a\r\nb' });
    const { page, problems } = await open();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const approve = page.getByRole('button', { name: 'Approve with edits' });
    expect(await page.getByLabel('memo').inputValue()).toBe('"a\\r\\nb"');
    await page.getByLabel('amount').fill('12345678901234567890');
    await page.getByText('12345678901234567890 would become 12345678901234567000').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByLabel('amount').fill('12345678901234567000');
    await expect.poll(() => approve.isEnabled()).toBe(true);

    // The browser says nothing of it, but shows it.
    await page.getByLabel('day').click();
    await page.keyboard.type('02');
    await page.getByText('this is not a date').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.keyboard.type('312026');
    await page.getByText('this is not a date').waitFor();
    await page.getByLabel('day').fill('2026-02-28');
    await approve.click();
    await run;
    expect(run.recording()).toContain('"args":{"amount":12345678901234567000,"memo":"a\\r\\nb","day":"2026-02-28"}');
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('Enter that ends a composed word sends no message', async () => {
  const run = waiting({ to: 'Ann' });
  const { page } = await open();
  const sent: unknown[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.postDataJSON()));
  const box = page.getByRole('textbox', { name: 'Message to the agent' });
  await box.click();
  const keyboard = await page.context().newCDPSession(page);
  await keyboard.send('Input.imeSetComposition', { text: 'かん', selectionStart: 2, selectionEnd: 2 });
  await box.dispatchEvent('keydown', { key: 'Enter', isComposing: true, cancelable: true });
  await keyboard.send('Input.insertText', { text: '漢字' });
  await page.keyboard.press('Enter');
  await page.getByText('You, for the next step').waitFor();
  expect(sent).toMatchObject([{ event: { type: 'message.steered', text: '漢字' } }]);
  await run.cancel();
});
