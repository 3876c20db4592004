import type { Page } from 'playwright-core';
import { createActor, createMachine } from 'xstate';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();
const TURNS = 80;

/** The id of a run that is over: it is read from its first line when a page opens on it. */
async function pastRun(): Promise<string> {
  const turns = Array.from({ length: TURNS }, (_, n) => ({
    ...calls(['look', { at: `shore ${n}` }]),
    usage: { inputTokens: n, outputTokens: 0, totalTokens: n },
  }));
  const model = scriptedModel([...turns, 'Seen.']);
  const tools = [fakeTool('look', [{ sky: 'grey' }], { inputSchema: { type: 'object' } })];
  const run = createAgent({ name: 'scout', model, tools, maxSteps: TURNS + 1, silent: true }).run('Look on');
  await run;
  inspector().open(run.recording());
  return run.runId;
}

/** Opens the page with its reader's answer held back; what it asks for details is in `asked`. */
async function openHeld(run: string) {
  const { page, problems } = await open({ url: 'about:blank' });
  const held = Promise.withResolvers<void>();
  let requests = 0;
  await page.route('**/lines?*', async (route) => {
    requests += 1;
    await held.promise;
    await route.continue();
  });
  await page.addInitScript(noteDetails);
  await page.goto(`${inspector().url}#run=${run}`);
  return {
    page,
    problems: () => problems.filter((one) => !one.startsWith('request to')),
    release: held.resolve,
    requests: () => requests,
  };
}

/** Runs in the page. */
function noteDetails(): void {
  const asked: number[] = [];
  Object.assign(globalThis, { asked });
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (this: Worker, order: { readonly do?: string; readonly n?: number }) {
    if (order.do === 'detail') asked.push(order.n ?? 0);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    post.call(this, order);
  };
}

const detailsOf = (page: Page): Promise<number[]> => page.evaluate(() => Reflect.get(globalThis, 'asked'));

test.skipIf(noChromium)(
  'a search in a run that is still being read says so, and not that there is nothing',
  async () => {
    const { page, problems, release, requests } = await openHeld(await pastRun());
    await page.locator('.run-picker').getByText('Look on').waitFor();
    await page.keyboard.press('/');
    await page.getByLabel('Search this run').fill('shore 79');
    await page.getByText('Still reading this run (0 %): there may be more.').waitFor();
    expect(await page.getByText('Not found.').count()).toBe(0);

    release();
    await page.getByRole('list', { name: 'Places found' }).getByText('tool.started').first().waitFor();
    await expect.poll(() => page.getByText('Still reading').count()).toBe(0);
    await page.getByLabel('Search this run').fill('nowhere to be found');
    await page.getByText('Not found.').waitFor();
    expect(await page.getByText('Still reading').count()).toBe(0);
    expect(requests()).toBe(1);
    expect(problems()).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'of a run that is being read no details are asked for but those of the step where it ends',
  async () => {
    const { page, problems, release } = await openHeld(await pastRun());
    await page.locator('.run-picker').getByText('Look on').waitFor();
    release();
    await page.locator('.answer-text').getByText('Seen.').waitFor();
    await page.getByTestId('candidates').waitFor();
    const last = Number(await page.getByTestId('readout').locator('b').textContent());
    expect(await detailsOf(page)).toEqual([last]);
    expect(problems()).toEqual([]);
  },
);

test.skipIf(noChromium)('the usage of a long run has its rows in sight and its sum, and no others', async () => {
  const { page, problems } = await open({ url: `${inspector().url}#run=${await pastRun()}` });
  await page.locator('.answer-text').getByText('Seen.').waitFor();
  await page.keyboard.press('5');
  const list = page.getByRole('list', { name: 'Usage by step' });
  await list.getByRole('listitem').first().waitFor();
  expect(await list.getByRole('listitem').first().getAttribute('aria-setsize')).toBe(String(TURNS + 1));
  expect(await list.getByRole('listitem').count()).toBeLessThan(60);
  expect(await page.locator('.costs > .row').last().innerText()).toContain('3,160');
  await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await list
    .getByRole('listitem')
    .filter({ hasText: /^Step 80/ })
    .waitFor();
  const room = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  expect(await room()).toBe(0);
  await page.keyboard.press('6');
  await page.getByRole('tab', { name: 'Compare', selected: true }).waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'a machine that takes long to draw is laid out in a thread of its own; one that fails is begun anew',
  async () => {
    const { page } = await open({ url: 'about:blank' });
    let isThere = false;
    await page.route('**/layout-engine.js', (route) => (isThere ? route.continue() : route.abort()));
    await page.goto(inspector().url);
    const lights = (id: string) =>
      createActor(
        createMachine({ id, initial: 'RED', states: { RED: { on: { go: 'GREEN' } }, [id]: {}, GREEN: {} } }),
        {
          id,
          inspect: inspector().inspect,
        },
      ).start();
    lights('first');
    await page.locator('.chart-main').getByText('The layout engine failed.').waitFor();
    isThere = true;
    lights('second');
    await page.locator('.run-picker').getByText('second').waitFor();
    await page.locator('[data-state="second"]').waitFor();
    expect(page.workers().map((worker) => worker.url().split('/').at(-1))).toContain('layout-engine.js');
    expect(await page.evaluate(() => Reflect.has(globalThis, 'signalboxLayout'))).toBe(false);
  },
);
