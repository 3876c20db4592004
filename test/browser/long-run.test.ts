import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { tool } from '../../src/tools/tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { SOAKING, cases } from '../support/soak.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();
/** Two turns are some 41 transitions. */
const TURNS = cases(60, 500);
/** Many times as many as the document may have nodes for. */
const MOVES = cases(1200, 10_000);

test.skipIf(noChromium)(
  `a run of more than ${MOVES} transitions is followed live, with a document no larger than that of a short one`,
  { timeout: 180_000 },
  async () => {
    const { page, problems } = await open();
    const run = await followed(page, 0);
    const { moves, nodes, heapMb, frames } = await page.evaluate(measured);
    console.log(
      `live run of ${moves} transitions in ${run.ms} ms: ${JSON.stringify(frames)} ms between frames, ${nodes} nodes, heap ${heapMb} MB`,
    );

    expect(moves).toBeGreaterThan(MOVES);
    expect(nodes).toBeLessThan(2500);
    expect(heapMb).toBeLessThan(250);
    // What was opened last is in sight; the run that it is the recording of stands beside it.
    inspector().open(run.run.recording());
    await page.getByTestId('readout').getByText(`${moves} of ${moves}`, { exact: false }).waitFor({ timeout: 60_000 });
    await page.keyboard.press('6');
    await page.getByRole('tabpanel').locator('select').selectOption(run.run.runId);
    await page.getByTestId('difference').getByText('Both runs took the same transitions').waitFor({ timeout: 60_000 });
    expect((await page.evaluate(measured)).nodes).toBeLessThan(2500);
    for (const key of ['2', '3', '4', '6', 'Home', 'End']) await page.keyboard.press(key);
    expect(problems).toEqual([]);
    await page.close();
    // It is there for the figures in BENCHMARKS.md.
    if (SOAKING) await pacedRun();
    await loadedAndScrubbed(moves);
  },
);

test.skipIf(noChromium)(
  'of a long conversation the raw requests show the latest messages, the others when asked',
  async () => {
    const turns = Array.from({ length: 60 }, (_, n) => calls(['count', { n }]));
    const count = tool({ name: 'count', description: 'Counts.', execute: ({ n }) => ({ n }) });
    const model = scriptedModel([...turns, 'Counted to the end.']);
    const agent = createAgent({ name: 'counter', silent: true, tools: [count], maxSteps: 61, model });
    await agent.run('Count', { inspect: inspector() });
    const { page, problems } = await open();
    await page.locator('.answer-text').getByText('Counted to the end.').waitFor();
    await page.keyboard.press('4');
    const list = page.getByRole('list', { name: 'Requests and replies' });
    await list.getByText('callLlm', { exact: true }).first().waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const messages = list.locator('.message-role');
    await expect.poll(() => list.locator('.exchange').last().textContent()).toContain('callLlm#61');
    expect(await messages.count()).toBeLessThan(50);
    await list
      .locator('.exchange')
      .last()
      .evaluate((one: HTMLDetailsElement) => (one.open = true));
    await list.getByRole('button', { name: 'show earlier messages (82)' }).click();
    await expect.poll(() => messages.count()).toBe(122);
    expect(problems).toEqual([]);
  },
);

/** Lets an agent count, with a model that takes so many milliseconds for a reply, until the page shows all of it. */
async function followed(page: Page, replyMs: number) {
  const count = tool({ name: 'count', description: 'Counts.', execute: async ({ n }) => (await nextTurn(), { n }) });
  const replies = Array.from({ length: TURNS }, (_, n) => calls(['count', { n }], ['count', { n: -n }]));
  const script = scriptedModel([...replies, 'Counted.']);
  const agent = createAgent({
    name: 'counter',
    silent: true,
    tools: [count],
    maxSteps: TURNS + 1,
    model: { complete: async (request, io) => (await sleep(replyMs), script.complete(request, io)) },
    inspect: inspector(),
  });
  await page.evaluate(watchFrames);
  const begun = performance.now();
  const run = agent.run('Count');
  await run;
  const ms = Math.round(performance.now() - begun);
  await page.locator('.answer-text').getByText('Counted.').waitFor({ timeout: 60_000 });
  await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor({ timeout: 60_000 });
  // What was said is folded before the last steps are.
  for (let seen = -1, moves = 0; seen !== moves; await sleep(500))
    [seen, moves] = [moves, (await page.evaluate(measured)).moves];
  return { run, ms };
}

/** The same with a model that is only a hundred times as fast as a real one, not a thousand times. */
async function pacedRun(): Promise<void> {
  const { page } = await open();
  const { ms } = await followed(page, 10);
  const { moves, frames } = await page.evaluate(measured);
  console.log(`live run of ${moves} transitions in ${ms} ms: ${JSON.stringify(frames)} ms between frames`);
  await page.close();
}

/** Opens the page once more on the recording, which is played from its first line, and scrubs through it. */
async function loadedAndScrubbed(moves: number): Promise<void> {
  const { page } = await open({ url: 'about:blank' });
  await page.addInitScript(watchFrames);
  await page.goto(inspector().url);
  await page.locator('[data-state].active').first().waitFor();
  const first = await page.evaluate(() => Math.round(performance.now()));
  await page.getByTestId('readout').getByText(`${moves} of ${moves}`, { exact: false }).waitFor({ timeout: 60_000 });
  const whole = await page.evaluate(() => Math.round(performance.now()));
  const scrub = await page.evaluate(scrubbed);
  console.log(
    `a recording of ${moves} transitions: picture after ${first} ms, whole after ${whole} ms, ${JSON.stringify(scrub)} ms a move of the cursor`,
  );
  await page.getByTestId('candidates').waitFor();
}

/** Runs in the page: moves the cursor through the run, and notes how long it takes until each position is drawn. */
async function scrubbed() {
  const times: number[] = [];
  const press = async (key: string): Promise<void> => {
    const begun = performance.now();
    dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey: key !== 'Home' }));
    await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    if (key !== 'Home') times.push(performance.now() - begun);
  };
  for (let n = 0; n < 30; n += 1) await press('ArrowLeft');
  await press('Home');
  for (let n = 0; n < 30; n += 1) await press('ArrowRight');
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(times[Math.floor((times.length - 1) * share)] ?? 0);
  return { median: at(0.5), p95: at(0.95), most: at(1) };
}

/** Runs in the page: notes how long it takes from one frame to the next. */
function watchFrames(): void {
  const gaps: number[] = [];
  Object.assign(globalThis, { gaps });
  let last = performance.now();
  const tick = (now: number): void => {
    gaps.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

/** Runs in the page: what it has come to. */
function measured() {
  const gaps: number[] = Reflect.get(globalThis, 'gaps').toSorted((a: number, b: number) => a - b);
  const at = (share: number): number => Math.round(gaps[Math.floor((gaps.length - 1) * share)] ?? 0);
  return {
    moves: Number(document.querySelector('[data-testid="readout"] b')?.textContent),
    nodes: document.querySelectorAll('*').length,
    heapMb: Math.round(Reflect.get(performance, 'memory').usedJSHeapSize / 1_000_000),
    frames: { median: at(0.5), p95: at(0.95), most: at(1) },
  };
}
