import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const visit = (where: string) =>
  createAgent({
    name: 'scout',
    instructions: 'You are a careful otter.',
    model: scriptedModel([calls(['look', { where }]), `Seen.`]),
    tools: [fakeTool('look', [{ sky: `grey over ${where}` }], { inputSchema: { type: 'object' } })],
    silent: true,
    inspect: inspector(),
  }).run(`Travel to ${where}`);

test.skipIf(noChromium)(
  'a text is found in the prompt of this run and in all runs, and leads to its step',
  async () => {
    const { page, problems } = await open();
    const first = visit('Bergen');
    await first;
    await visit('Oslo');
    await page.locator('.answer-text').getByText('Seen.').waitFor();
    await page.keyboard.press('/');
    await page.getByLabel('Search this run').fill('careful otter');
    const here = page.getByRole('list', { name: 'Places found' });
    await here.getByText('prompt').first().waitFor();
    await expect.poll(() => here.textContent()).toContain('request callLlm');

    expect(await page.getByText('there may be more').count()).toBe(0);
    await page.getByLabel('Search this run').fill('over bergen');
    await page.getByText('Not found.').waitFor();
    await page.getByRole('button', { name: 'All runs' }).click();
    const found = page.getByRole('list', { name: 'Places found in all runs' });
    await found.getByText('reply callTool').click();
    await page.locator('.run-picker', { hasText: 'Travel to Bergen' }).waitFor();
    await page.getByTestId('told').getByText('callTool.done').waitFor();
    await expect.poll(() => page.evaluate(() => location.hash)).toContain(first.runId);
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a search that finds more than is listed says so', async () => {
  const { page } = await open();
  const model = scriptedModel([...Array.from({ length: 40 }, (_, n) => calls(['look', { n }])), 'Seen.']);
  const tools = [fakeTool('look', [{ sky: 'grey' }], { inputSchema: { type: 'object' } })];
  await createAgent({ model, tools, maxSteps: 50, silent: true, inspect: inspector() }).run('Look on');
  await page.locator('.answer-text').getByText('Seen.').waitFor();
  await page.keyboard.press('/');
  await page.getByLabel('Search this run').fill('look');
  await page.getByText('These are the first 200 places; there may be more.').waitFor();
});

test.skipIf(noChromium)('a value is copied whole, also what is folded', async () => {
  const { page } = await open();
  await page.context().grantPermissions(['clipboard-write']);
  await visit('Kiruna');
  await page.locator('.answer-text').getByText('Seen.').waitFor();
  const entry = page.locator('.entry[data-kind="call"]');
  const copied = async () => {
    await page.getByText('Copied.').waitFor();
    await page.keyboard.press('/');
    const field = page.getByLabel('Search this run');
    await field.fill('');
    await page.keyboard.press('Control+V');
    return field.inputValue();
  };
  await entry.getByRole('button', { name: 'Copy this value' }).last().focus();
  await page.keyboard.press('Enter');
  expect(JSON.parse(await copied())).toEqual({ sky: 'grey over Kiruna' });
  await page.locator('.answer-text').hover();
  await page.locator('.answer-text').getByRole('button', { name: 'Copy this value' }).click();
  expect(await copied()).toBe('Seen.');
});
