import { expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { noChromium, stage } from './browser.ts';
import { pageOfOthers } from './page-of-others.ts';

const { inspector, open } = stage();

test.skipIf(noChromium)(
  "an app in another page that uses Stately's client is seen to move, to end, and to come back",
  async () => {
    const url = new URL(await pageOfOthers('lamp-page.ts'));
    url.searchParams.set('to', `${inspector().statelyUrl}&app=kitchen`);
    const app = await open({ url: url.href });
    const { page, problems } = await open({ scheme: 'light' });
    const lit = (state: string) => page.locator(`[data-state="${state}"].active`).waitFor();
    const status = (text: string) => page.getByTestId('status').filter({ hasText: text }).waitFor();

    await lit('DARK');
    await app.page.getByRole('button', { name: 'TURN' }).click();
    await lit('BRIGHT');
    await expect.poll(() => page.locator('.run-picker').textContent()).toContain('kitchen: lamp');

    await app.page.goto('about:blank');
    await status('stopped: disconnected');
    await app.page.goto(url.href);
    await status('running');
    await lit('DARK');
    await app.page.getByRole('button', { name: 'TURN' }).click();
    await app.page.getByRole('button', { name: 'BREAK' }).click();
    await lit('BROKEN');
    await status('ended');
    expect([...app.problems, ...problems]).toEqual([]);
  },
);

test.skipIf(noChromium)('actors that only move leave no room empty for a conversation or a recording', async () => {
  const lamp = createMachine({ id: 'desk lamp', initial: 'DARK', states: { DARK: { on: { TURN: 'LIT' } }, LIT: {} } });
  createActor(lamp, { id: 'desk', inspect: inspector().inspect }).start().send({ type: 'TURN' });
  const { page } = await open();
  await page.locator('[data-state="LIT"].active').waitFor();

  expect(await page.getByRole('region', { name: 'Conversation' }).count()).toBe(0);
  await expect
    .poll(() => page.getByRole('tab').allTextContents())
    .toEqual(['Step', 'Transitions', 'Sequence', 'Compare', 'Search']);
  expect(await page.locator('.facts').textContent()).not.toContain('turn');
  expect(await page.getByRole('link', { name: 'Download the recording' }).count()).toBe(0);
  await page.keyboard.press('5');
  await expect.poll(() => page.getByRole('tab', { selected: true }).textContent()).toBe('Step');
});
