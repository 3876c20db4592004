import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { createActor, createMachine } from 'xstate';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';
import { SOAKING, cases } from '../support/soak.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** The text of axe: another copy of it can be named by AXE. */
function axeText(): string | null {
  const named = process.env.AXE;
  if (named !== undefined && existsSync(named)) return readFileSync(named, 'utf8');
  try {
    return readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  } catch {
    return null;
  }
}

const axe = axeText();
const cannot = noChromium || axe === null;

/** What axe finds in the page as it is now: a line for each element. */
async function violations(page: Page, where: string): Promise<readonly string[]> {
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe ?? '');
  const found: unknown = await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, any, all, none }) => [id, html.slice(0, 160), ...[...any, ...all, ...none].map(({ message }) => message)].join(' | '))))`,
  );
  return Array.isArray(found) ? found.map((line) => `${where}: ${String(line)}`) : [`${where}: axe did not answer`];
}

const silent = true;

/** Runs with all that the page can show: a plan that fails and is repaired, a child, an error, a call that waits. */
async function scenes() {
  const wait = fakeTool('send_letter', [{ sent: true }], {
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  });
  const sums = fakeTool(
    'sum_orders',
    [new Error('database is locked'), new Error('locked'), { cents: 11_150 }, { cents: 1 }],
    {
      description: 'Sums orders.',
      inputSchema: { type: 'object' },
      onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(1) }) },
    },
  );
  const child = createAgent({
    name: 'scout',
    description: 'Scouts.',
    silent,
    model: scriptedModel(['{"thought":"I look.","answer":"Clear.",}']),
  });
  const long = createAgent({
    name: 'clerk',
    silent,
    model: scriptedModel([
      { ...plan(['sum_orders', { customer: 7 }], ['scout', { task: 'look' }]), usage: USAGE },
      calls(['scout', { task: 'look around' }]),
      calls(['sum_orders', { customer: 8 }]),
      'All is well.',
    ]),
    tools: [sums],
    children: [child],
    inspect: inspector(),
  });
  await long.run('Do much');
  const other = createAgent({ name: 'clerk', silent, model: scriptedModel(['No.']), inspect: inspector() });
  await other.run('Do little');
  const shop = createActor(
    createMachine({
      id: 'shop',
      type: 'parallel',
      states: {
        door: { initial: 'open', states: { open: { on: { shut: 'shut' } }, shut: {}, back: { type: 'history' } } },
        lamp: { initial: 'on', states: { on: {} } },
      },
    }),
    { id: 'shop', inspect: inspector().inspect },
  ).start();
  const model = scriptedModel([calls(['send_letter', { to: 'Ada' }]), 'Sent.']);
  const waits = createAgent({ name: 'clerk', silent, model, tools: [wait], confirm: 'wait', inspect: inspector() }).run(
    'Write to Ada',
  );
  return {
    end: async () => {
      shop.stop();
      await waits.cancel();
    },
  };
}

const USAGE = { inputTokens: 900, outputTokens: 80, totalTokens: 980 };
const TABS = ['Step', 'Transitions', 'Sequence', 'Raw', 'Usage', 'Compare', 'Search'] as const;

async function show(page: Page, title: string): Promise<void> {
  await page.locator('.run-picker').click();
  await page.locator('.session-row', { hasText: title }).first().click();
  await page.locator('.run-picker', { hasText: title }).waitFor();
}

/** Goes through everything that can be seen of the runs at this size; the suite looks at every second view, and each screen at others. */
async function everything(page: Page, narrow: boolean): Promise<readonly string[]> {
  const found: string[] = [];
  let seen = narrow ? 1 : 0;
  const look = async (where: string): Promise<void> => {
    if (SOAKING || seen++ % 2 === 0) found.push(...(await violations(page, where)));
  };
  const pane = async (name: string) => {
    if (narrow) await page.getByRole('navigation', { name: 'Parts' }).getByRole('button', { name }).click();
  };
  await pane('Conversation');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Approve', exact: false }).first().waitFor();
  await look('approval');
  await show(page, 'Do much');
  await page.locator('.answer-text').getByText('All is well.').waitFor();
  await look('conversation');
  await pane('Chart');
  await page.keyboard.press('l');
  await look('chart');
  await pane('Details');
  for (const tab of TABS) {
    await page.getByRole('tab', { name: tab }).click();
    if (tab === 'Compare') {
      await page.getByRole('tabpanel').locator('select').selectOption({ index: 1 });
      await page.getByTestId('difference').waitFor();
    }
    if (tab === 'Search') await page.getByLabel('Search this run').fill('locked');
    await look(`tab ${tab}`);
  }
  await page.getByRole('tab', { name: 'Step' }).click();
  for (const [key, dialog] of [
    ['?', 'Keys and signs'],
    ['r', 'Runs'],
  ] as const) {
    await page.locator('.brand').click();
    await page.keyboard.press(key);
    await page.getByRole('dialog', { name: dialog }).waitFor();
    await look(dialog);
    await page.keyboard.press('Escape');
  }
  await pane('Conversation');
  for (const [button, title] of [
    ['Reply differently…', 'Reply differently'],
    ['Other result…', 'Other result'],
  ] as const) {
    await page.getByRole('button', { name: button }).last().click();
    const form = page.getByRole('form', { name: title });
    await form.waitFor();
    await look(title);
    await form.getByRole('button', { name: 'Cancel' }).click();
  }
  await show(page, 'shop');
  await pane('Chart');
  await look('own machine');
  await page.keyboard.press('e');
  await page.getByRole('dialog', { name: 'Send an event' }).waitFor();
  await look('Send an event');
  await page.keyboard.press('Escape');
  return found;
}

const SCREENS = [
  { width: 1280, scheme: 'dark' },
  { width: 400, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 400, scheme: 'dark' },
] as const;

test.skipIf(cannot).each(SCREENS.slice(0, cases(2, 4)))(
  'axe finds nothing in any view or dialog: $width wide, $scheme',
  async ({ width, scheme }) => {
    const runs = await scenes();
    const { page, problems } = await open({ width, height: 800, scheme });
    expect([...new Set(await everything(page, width < 800))]).toEqual([]);
    expect(problems).toEqual([]);
    await runs.end();
  },
);

test.skipIf(noChromium)('in the colours of the system, what is chosen does not look like all else', async () => {
  const runs = await scenes();
  const { page } = await open();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.emulateMedia({ forcedColors: 'active' });
  const fills = (selector: string) =>
    page.locator(selector).evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  for (const part of ['[role="tab"]', '.segmented button']) {
    const all = await fills(part);
    const chosen = await fills(`${part}:is([aria-selected="true"], [aria-pressed="true"])`);
    expect(chosen).toHaveLength(1);
    expect(all.filter((fill) => fill === chosen[0])).toHaveLength(1);
  }
  await runs.end();
});
