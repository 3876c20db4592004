import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { startScene } from '../inspector/scenes.ts';
import { testFolder } from '../support/test-folder.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** A run whose tool fails once where it is told to, and is tried again; it gives the number of its run. */
async function ordering({
  fails,
  cents = 11_150,
}: {
  readonly fails: boolean;
  readonly cents?: number;
}): Promise<string> {
  const results = [...(fails ? [new Error('SQLITE_BUSY: database is locked')] : []), { cents }];
  const sumOrders = fakeTool('sum_orders', results, {
    description: 'Sums the orders of a customer.',
    inputSchema: { type: 'object' },
    onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }) },
  });
  const model = scriptedModel([calls(['sum_orders', { customer: 7 }]), 'That is all.']);
  const run = createAgent({ name: 'clerk', model, silent: true, tools: [sumOrders] }).run('Sum the orders', {
    inspect: inspector(),
  });
  await run;
  return run.runId;
}

/** Opens the comparison of the run in sight, the latest, with another. */
async function compare(page: Page, other: string): Promise<void> {
  await page.locator('.answer-text').first().waitFor({ state: 'attached' });
  await page.keyboard.press('6');
  await page.getByRole('tabpanel').locator('select').selectOption(other);
}

test.skipIf(noChromium)(
  'a retry is on the side that had it, what it was is shown beside what came instead, and all else is in line',
  async () => {
    const smooth = await ordering({ fails: false });
    await ordering({ fails: true });
    const { page, problems } = await open();
    await compare(page, smooth);

    const pair = page.getByTestId('pair');
    await pair.getByText('instead').waitFor();
    const rows = page.locator('.row-compare');
    const kinds = await rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-kind')));
    expect(new Set(kinds)).toEqual(new Set(['same', 'left']));
    expect(kinds.lastIndexOf('left') - kinds.indexOf('left') + 1).toBe(kinds.filter((kind) => kind === 'left').length);
    await expect
      .poll(() => page.getByTestId('difference').textContent())
      .toMatch(/first difference is at transition \d+/);
    await expect.poll(() => rows.and(page.locator('.now')).getAttribute('class')).toContain('first');
    const event = page.getByTestId('section-event');
    await event.locator('[data-side="A"]').filter({ hasText: 'SQLITE_BUSY' }).waitFor();
    await event.locator('[data-side="B"]').filter({ hasText: '11150' }).waitFor();

    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await rows.filter({ hasText: 'COMPLETION' }).click();
    await pair.getByText('COMPLETION').first().waitFor();
    await page.getByTestId('section-event').getByText('The same in both.').waitFor();
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'the same transitions on something else are a difference: what came in, and what it made of the context',
  async () => {
    const poor = await ordering({ fails: false, cents: 20 });
    await ordering({ fails: false, cents: 11_150 });
    const { page } = await open();
    await compare(page, poor);

    await page.locator('.row-compare.first[data-kind="data"]').getByText('≠ output.data.cents').waitFor();
    const event = page.getByTestId('section-event');
    await event.getByText('output.data.cents').waitFor();
    await expect.poll(() => event.locator('[data-side="A"]').textContent()).toBe('11150');
    await expect.poll(() => event.locator('[data-side="B"]').textContent()).toBe('20');

    // What the agent makes of it is no other move and no other event of its own, but another memory.
    await page.locator('.row-compare').filter({ hasText: 'tool.succeeded' }).click();
    const context = page.getByTestId('section-context');
    await context.locator('.pair-path').filter({ hasText: 'cents' }).first().waitFor();
    await expect.poll(() => context.locator('[data-side="A"]').allTextContents()).toContain('11150');
    await expect.poll(() => context.locator('[data-side="B"]').allTextContents()).toContain('20');
  },
);

test.skipIf(noChromium)(
  'runs that are the same do not differ, though their times and ids do, and what is not counted is said',
  async () => {
    const first = await ordering({ fails: false });
    await ordering({ fails: false });
    const { page } = await open();
    await compare(page, first);
    await page.getByTestId('difference').getByText('Both runs took the same transitions with the same data.').waitFor();

    await page.locator('.row-compare').first().click();
    const context = page.getByTestId('section-context');
    await context.getByText('No relevant difference.').waitFor();
    await expect
      .poll(() => context.textContent())
      .toContain('Not counted: times, durations, seeds, and the ids of runs and calls.');
    await context.getByRole('button', { name: /show \d+/ }).click();
    expect(await context.locator('.pair-path').allTextContents()).toContainEqual(expect.stringContaining('seed'));
  },
);

test.skipIf(noChromium)(
  'the comparison has the room of the conversation, and a phone has it without anything sticking out',
  async () => {
    const smooth = await ordering({ fails: false });
    await ordering({ fails: true });
    const wide = (await open()).page;
    await compare(wide, smooth);
    await wide.getByTestId('pair').waitFor();
    expect(await wide.locator('.board-talk').isVisible()).toBe(false);
    await wide.keyboard.press('1');
    expect(await wide.locator('.board-talk').isVisible()).toBe(true);

    const phone = (await open({ width: 390, height: 844 })).page;
    await phone.getByRole('button', { name: 'Details' }).click();
    await compare(phone, smooth);
    await phone.getByTestId('pair').getByText('instead').waitFor();
    const wider = await phone
      .locator('.compare *')
      .evaluateAll((all) =>
        all.filter((one) => one.getBoundingClientRect().right > 390.5).map((one) => one.outerHTML.slice(0, 80)),
      );
    expect(wider).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'two runs that are compared are saved in one page, which opens on their comparison',
  async () => {
    const other = startScene('plain', { inspect: inspector() });
    await other;
    await startScene('parallel', { inspect: inspector() });
    const { page } = await open();
    await compare(page, other.runId);
    const link = page.getByRole('link', { name: 'Export one HTML file' });
    await page.getByTestId('pair').waitFor();
    const html = await (await fetch(new URL((await link.getAttribute('href')) ?? '', inspector().url))).text();
    const file = join(testFolder(), 'both.html');
    writeFileSync(file, html);
    const saved = await open({ url: pathToFileURL(file).href });

    await saved.page.getByTestId('difference').getByText('The first difference is at transition 1.').waitFor();
    await saved.page.getByTestId('section-event').getByText('What time is it?').first().waitFor();
    await expect.poll(() => saved.page.locator('.run-picker').textContent()).toContain('Where is it warmer');
    const lost = `${pathToFileURL(file).href}#run=${other.runId}-not`;
    const phone = await open({ url: lost, width: 390, height: 844 });
    await phone.page.getByTestId('difference').getByText('The first difference is at transition 1.').waitFor();
    await expect.poll(() => phone.page.locator('.run-picker').textContent()).toContain('Where is it warmer');
    expect([...saved.problems, ...phone.problems]).toEqual([]);
  },
);

test.skipIf(noChromium)('a page that was saved with one run says how to have two in it', async () => {
  const run = startScene('plain', { inspect: inspector() });
  await run;
  const exported = new URL(`/api/sessions/${run.runId}/export`, inspector().url);
  exported.search = new URL(inspector().url).search;
  const file = join(testFolder(), 'one.html');
  writeFileSync(file, await (await fetch(exported)).text());
  const { page } = await open({ url: pathToFileURL(file).href });
  await page.keyboard.press('6');

  await page.getByText('save it while they are compared', { exact: false }).waitFor();
});
