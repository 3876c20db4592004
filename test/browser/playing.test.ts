import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Model, ModelIo } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startScene } from '../inspector/scenes.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** What a list shows that has room for all its rows, once it has drawn them. */
async function whole(page: Page, read: () => Promise<string | null>, all: RegExp): Promise<string> {
  for (let before = ''; ;) {
    const now = (await read()) ?? '';
    if (now === before && all.test(now)) return now;
    before = now;
    await page.waitForTimeout(150);
  }
}

/** What a page shows of a run: its steps, the drawn states with how often they were entered, the conversation, a step. */
async function shownIn(page: Page): Promise<readonly string[]> {
  await page.locator('.answer-text').first().waitFor();
  await page.locator('[data-state="COMPLETION"].active').waitFor();
  await page.keyboard.press('2');
  const list = page.getByRole('list', { name: 'Transitions' });
  const steps = await whole(page, () => list.textContent(), /^1.*COMPLETION$/s);
  const states = await page
    .locator('[data-state]')
    .evaluateAll((all) => all.map((one) => `${one.getAttribute('data-state')} ${one.textContent}`));
  const board = page.locator('.board-talk .scroll');
  const said = (): Promise<string | null> =>
    board.evaluate((shown) => {
      const copy = shown.cloneNode(true);
      // A recording from disk has no agent, and so nothing that forks it.
      if (copy instanceof Element) for (const button of copy.querySelectorAll('button')) button.remove();
      return copy.textContent;
    });
  const talk = await whole(page, said, /steps.*ms$/s);
  const readout = await page.getByTestId('readout').textContent();
  await page.keyboard.press('1');
  await page.keyboard.press('ArrowLeft');
  await page.getByTestId('candidates').getByText('taken', { exact: true }).first().waitFor();
  return [steps, ...states, talk, readout, await page.getByTestId('candidates').textContent()].map(String);
}

test.skipIf(noChromium)(
  'what was seen live is what a reload shows, and an opened recording of the same run',
  async () => {
    const { page, problems } = await open();
    // The lists have all their rows in view.
    await page.setViewportSize({ width: 1280, height: 6000 });
    const run = startScene('plan-recovery', { inspect: inspector() });
    await run;
    const live = await shownIn(page);
    expect(live[0]?.length).toBeGreaterThan(100);
    await page.reload();
    await page.keyboard.press('End');
    expect(await shownIn(page)).toEqual(live);
    const before = page.url();
    inspector().open(run.recording());
    const offered = page.getByRole('button', { name: /new run/ });
    await expect
      .poll(async () => {
        if (await offered.isVisible()) await offered.click();
        return new URL(page.url()).hash;
      })
      .not.toBe(new URL(before).hash);
    await page.keyboard.press('End');
    await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor();
    expect(await shownIn(page)).toEqual(live);
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'a page that is loaded again amid a reply shows all of it, also what came while it loaded',
  async () => {
    const { promise: end, resolve: answer } = Promise.withResolvers<void>();
    const { promise: asked, resolve: ask } = Promise.withResolvers<NonNullable<ModelIo['onToken']>>();
    const complete: Model['complete'] = async (_, { onToken }) => {
      if (onToken !== undefined) ask(onToken);
      await end;
      return { content: 'One two three' };
    };
    const run = createAgent({
      model: { id: 'slow', complete },
      streaming: true,
      silent: true,
      inspect: inspector(),
    }).run('Count');
    const tell = await asked;
    tell({ kind: 'reasoning', text: 'Hm.' });
    tell({ kind: 'text', text: 'One ' });
    const { page } = await open();
    const streaming = page.getByTestId('streaming');
    await streaming.getByText('One', { exact: true }).waitFor();
    const { promise: loaded, resolve: load } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    // It is too old to be followed from its beginning: what there is comes first, then the stream.
    await page.clock.setFixedTime(Date.now() + 60_000);
    await page.context().route(`**/api/sessions/${run.runId}/stream**`, async (route) => {
      hold();
      await loaded;
      await route.continue();
    });
    await page.reload();
    await held;
    tell({ kind: 'text', text: 'two ' });
    load();
    await streaming.getByText('One two', { exact: true }).waitFor();
    tell({ kind: 'text', text: 'three' });
    await streaming.getByText('One two three', { exact: true }).waitFor();
    expect(await page.locator('.thought').allTextContents()).toEqual(['Hm.']);
    answer();
    await run;
    await page.locator('.answer-text').getByText('One two three').waitFor();
  },
);

test.skipIf(noChromium)('a recording that this version plays otherwise says why, and shows its records', async () => {
  const run = startScene('parallel');
  await run;
  const lines = run.recording().trim().split('\n');
  const last = lines.findLastIndex((line) => line.includes('"callLlm"') && line.startsWith('{"t":"start"'));
  const changed = lines.map((line, n) => (n === last ? line.replace(/"digest":"[^"]*"/, '"digest":"other"') : line));
  inspector().open(changed);
  const { page } = await open();
  await page.locator('.banner').getByText('left the recording', { exact: false }).waitFor();
  // Each of its lines is one.
  expect(await page.locator('.banner').innerText()).toMatch(/\n *recorded: .*\n(?:.*\n)* *likely cause: /);
  await page.keyboard.press('4');
  // Two questions to the model, two calls.
  await page.locator('.exchange').nth(3).waitFor();
  expect(await page.locator('.exchange').count()).toBe(4);
});

test.skipIf(noChromium)('what the server has let go of, the page lets go of too', async () => {
  const { page } = await open({ url: 'about:blank' });
  await page.addInitScript(() => {
    const orders: unknown[] = [];
    const { postMessage } = Worker.prototype;
    Object.assign(globalThis, { orders });
    Worker.prototype.postMessage = function (this: Worker, order: unknown) {
      orders.push(order);
      Reflect.apply(postMessage, this, [order]);
    };
  });
  const begun = (n: number) =>
    createAgent({ model: scriptedModel([`Answer ${n}.`]), silent: true, inspect: inspector() }).run(`Question ${n}`);
  const first = begun(0);
  await first;
  await page.goto(inspector().url);
  await page.locator('.answer-text').getByText('Answer 0.').waitFor();
  const orders = (): Promise<readonly { readonly do: string; readonly session: string }[]> =>
    page.evaluate(() => Reflect.get(globalThis, 'orders'));
  const last = begun(1);
  await last;
  await page.locator('.answer-text').getByText('Answer 1.').waitFor();
  const ofFirst = (await orders()).filter((one) => one.session === first.runId && one.do !== 'detail');
  expect(ofFirst.map((one) => one.do)).toEqual(['resume', 'pause']);
  for (let n = 2; n < 24; n += 1) await begun(n);
  await page.locator('.answer-text').getByText('Answer 23.').waitFor();
  await expect
    .poll(async () => (await orders()).filter((one) => one.do === 'drop').map(({ session }) => session))
    .toEqual(expect.arrayContaining([first.runId, last.runId]));
  await page.keyboard.press('r');
  const listed = page.getByRole('dialog');
  await listed.getByText('Question 23').first().waitFor();
  expect(await listed.getByText('Question 0', { exact: true }).count()).toBe(0);
});

test.skipIf(noChromium)('a player that cannot be loaded is said, and the page goes on without it', async () => {
  const run = startScene('parallel', { inspect: inspector() });
  await run;
  const { page } = await open({ url: 'about:blank' });
  await page.route('**/assets/player.js', (route) => route.abort());
  await page.goto(inspector().url);
  await page.locator('.banner').getByText('The player of recordings failed to load', { exact: false }).waitFor();
  await page.keyboard.press('r');
  await page.getByRole('dialog').waitFor();
  await page.unroute('**/assets/player.js');
  await page.reload();
  await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor();
  await page.locator('[data-state="COMPLETION"].active').waitFor();
  expect(await page.locator('.banner').getByText('The player of recordings', { exact: false }).count()).toBe(0);
});

test.skipIf(noChromium)(
  'all recordings that are dropped are opened, and what is wrong with a file is said with its name',
  async () => {
    const runs = [startScene('plain'), startScene('parallel')];
    await Promise.all(runs);
    const { page, problems } = await open();
    const dropped = (files: readonly DroppedFile[]): Promise<void> => page.evaluate(drop, files);
    await dropped(runs.map((run, n) => ({ name: `run-${n}.jsonl`, text: run.recording() })));
    await page.keyboard.press('r');
    const rows = page.getByRole('dialog').locator('.session-row');
    for (const { runId } of runs) await rows.filter({ hasText: runId }).waitFor();
    await page.keyboard.press('Escape');

    const toast = page.locator('.toast');
    await dropped([{ name: 'a-folder', text: null }]);
    await toast.getByText('a-folder: It cannot be read. Is it a folder?').waitFor();
    await dropped([{ name: 'long.jsonl', text: '', size: 200_000_000 }]);
    await toast.getByText('long.jsonl: It is larger than 100 MB. Show it with: signalbox inspect').waitFor();
    await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor();
    expect(problems).toEqual([]);
  },
);

interface DroppedFile {
  readonly name: string;
  /** Null: it cannot be read, as a folder cannot. */
  readonly text: string | null;
  readonly size?: number;
}

/** Drops files on the page, in the browser. */
function drop(files: readonly DroppedFile[]): void {
  const made = files.map(({ name, text, size }) => {
    const file = new File([text ?? ''], name);
    if (size !== undefined) Object.defineProperty(file, 'size', { value: size });
    if (text === null) Object.defineProperty(file, 'text', { value: () => Promise.reject(new Error('NotFoundError')) });
    return file;
  });
  const event = new Event('drop', { cancelable: true });
  Object.defineProperty(event, 'dataTransfer', { value: { files: made } });
  dispatchEvent(event);
}

test.skipIf(noChromium)('what is said again is there as long as what is said once', async () => {
  const { page } = await open();
  await page.clock.install();
  await page.reload();
  await page.locator('.empty, .answer-text').first().waitFor();
  await page.clock.pauseAt(Date.now() + 3_600_000);
  const toast = page.locator('.toast');
  const say = (): Promise<void> => page.evaluate(drop, [{ name: 'a-folder', text: null }]);
  await say();
  await toast.waitFor();
  await page.clock.runFor(4000);
  await say();
  await page.clock.runFor(4000);
  expect(await toast.count()).toBe(1);
  await page.clock.runFor(2000);
  expect(await toast.count()).toBe(0);
});

test.skipIf(noChromium)('a reply that is stopped is shown as far as it came, also after a reload', async () => {
  const { page } = await open();
  const watched = Promise.withResolvers<undefined>();
  const model: Model = {
    complete: async (_, { onToken }) => {
      await watched.promise;
      onToken?.({ kind: 'text', text: 'The sun is ' });
      return new Promise(() => undefined);
    },
  };
  const run = createAgent({ model, streaming: true, silent: true, inspect: inspector() }).run('Tell of the sun');
  const said = page.getByTestId('streaming');
  await page.getByText('Model is asked').waitFor();
  watched.resolve(undefined);
  await said.getByText('The sun is').waitFor();
  expect(await said.locator('.caret').count()).toBe(1);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await run;
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    await page.getByText('Model did not finish').waitFor();
    await said.getByText('The sun is').waitFor();
    expect(await said.locator('.caret').count()).toBe(0);
  }
});
