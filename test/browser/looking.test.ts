import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createActor, createMachine } from 'xstate';
import { expect, test } from 'vitest';
import { startScene } from '../inspector/scenes.ts';
import { viewer } from '../inspector/viewer.ts';
import { testFolder } from '../support/test-folder.ts';
import { noChromium, stage } from './browser.ts';
import { makeOlder } from './older-browser.ts';

const { inspector, open } = stage();

test.skipIf(noChromium)('scrubbing back shows chart and conversation as they were; End follows again', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page, problems } = await open();
  await page.locator('.answer-text').first().waitFor();

  await page.keyboard.press('Home');
  expect(await page.locator('.answer-text').count()).toBe(0);
  await expect.poll(() => page.getByTestId('readout').textContent()).toContain('1 of');
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => page.getByTestId('readout').textContent()).toContain('11 of');
  await page.keyboard.press('End');
  await page.locator('.answer-text').first().waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('a page on which nothing happens any more draws nothing', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open({ moves: true });
  await page.locator('.answer-text').first().waitFor();
  const moving = () => page.evaluate('document.getAnimations().length');
  // What was done last is pointed out for a while.
  await expect.poll(moving).toBeGreaterThan(0);
  await expect.poll(moving).toBe(0);

  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const drawn = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'RecalcStyleCount')?.value ?? Number.NaN;
  };
  const before = await drawn();
  await page.waitForTimeout(500);
  expect((await drawn()) - before).toBeLessThan(5);
});

test.skipIf(noChromium)('a step tells why other transitions were not taken, and what changed', async () => {
  await startScene('plan-recovery', { inspect: inspector() });
  const { page } = await open();
  await page.locator('.answer-text').first().waitFor();
  await page.keyboard.press('2');
  await page.getByRole('list', { name: 'Transitions' }).getByText('ERROR_RECOVERY', { exact: false }).first().click();
  await page.keyboard.press('1');

  const candidates = page.getByTestId('candidates');
  await candidates.getByText('taken', { exact: true }).first().waitFor();
  await expect.poll(() => candidates.textContent()).toContain('guard said no');
  expect(await page.getByTestId('changes').textContent()).not.toBe('');
});

test.skipIf(noChromium)('the sequence, the raw exchanges, the usage and the search have what the run had', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open();
  await page.locator('.answer-text').first().waitFor();
  const panel = page.getByRole('tabpanel');

  await page.keyboard.press('3');
  await panel.getByText('model.replied').first().waitFor();
  await page.keyboard.press('4');
  await panel.getByText('callLlm').first().waitFor();
  await page.keyboard.press('5');
  await panel.getByRole('list', { name: 'Usage by step' }).getByRole('listitem').first().waitFor();
  await page.keyboard.press('/');
  await page.getByLabel('Search this run').fill('oslo');
  await panel.getByText('Oslo').first().click();
  expect(await page.getByTestId('readout').textContent()).not.toContain('live');
});

test.skipIf(noChromium)('a sequence that is wider than a phone is scrolled with the names of its actors', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open({ width: 400 });
  await page.locator('.answer-text').first().waitFor({ state: 'attached' });
  await page.keyboard.press('3');
  const sequence = page.locator('.sequence');
  await sequence.getByRole('listitem').first().waitFor();

  const off = await sequence.evaluate((element) => {
    element.scrollLeft = element.scrollWidth;
    const middles = (selector: string): number[] =>
      [...element.querySelectorAll(selector)].map((one) => {
        const { left, right } = one.getBoundingClientRect();
        return (left + right) / 2;
      });
    const lines = middles('[role=listitem]:first-child .life');
    return {
      scrolled: element.scrollLeft,
      names: middles('svg[role=img] text').map((middle, at) => Math.round(middle - (lines[at] ?? Number.NaN))),
      last: Math.round(lines.at(-1) ?? 0),
      page: document.documentElement.scrollWidth,
    };
  });
  expect(off.scrolled).toBeGreaterThan(0);
  expect(off.names).toEqual(off.names.map(() => 0));
  expect(off.last).toBeLessThan(400);
  expect(off.page).toBe(400);
});

test.skipIf(noChromium)('hostile content is shown and never obeyed', async () => {
  await startScene('hostile', { inspect: inspector() });
  const { page, problems } = await open();
  await page.locator('.answer-text').first().waitFor();
  await page.locator('.board-talk .scroll').evaluate((list) => (list.scrollTop = 0));
  await page.getByText('<img src=x', { exact: false }).first().waitFor();

  expect(await page.title()).toBe('Signalbox');
  expect(await page.locator('.board-talk img, .board-talk script, .board-talk iframe').count()).toBe(0);
  await page.keyboard.press('4');
  for (const summary of await page.locator('.exchange summary').all()) await summary.click();
  expect(await page.locator('.escaped mark').first().textContent()).not.toBe('');
  expect(await page.getByRole('button', { name: /show more \(/ }).count()).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'an exported page opens from disk without a server, with its steps and nothing to press',
  async () => {
    const run = startScene('plan-recovery', { inspect: inspector() });
    await run;
    const exported = new URL(`/api/sessions/${run.runId}/export`, inspector().url);
    exported.search = new URL(inspector().url).search;
    const file = join(testFolder(), 'run.html');
    writeFileSync(file, await (await fetch(exported)).text());
    const { page, problems } = await open({ url: pathToFileURL(file).href });

    await page.locator('.answer-text').first().waitFor();
    await page.locator('[data-state="COMPLETION"].active').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByTestId('candidates').getByText('taken', { exact: true }).first().waitFor();
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    expect(problems).toEqual([]);
    const token = new URL(inspector().url).searchParams.get('token') ?? 'none';
    expect(readFileSync(file, 'utf8').includes(token)).toBe(false);
  },
);

test.skipIf(noChromium)('any XState machine is drawn, whoever wrote it', async () => {
  const lights = createMachine({
    id: 'lights',
    initial: 'red',
    states: {
      red: { on: { next: 'green' } },
      green: { on: { next: 'amber' } },
      amber: {
        initial: 'steady',
        states: { steady: { on: { blink: 'blinking' } }, blinking: {} },
        on: { next: 'red' },
      },
    },
  });
  const actor = createActor(lights, { inspect: inspector().inspect }).start();
  for (const type of ['next', 'next', 'blink']) actor.send({ type });
  const { page, problems } = await open();

  await page.locator('[data-state="amber.blinking"].active').waitFor();
  await expect.poll(() => page.locator('[data-state="green"]').getAttribute('class')).toContain('visited');
  await page.getByTestId('readout').getByText('live').waitFor();
  expect(problems).toEqual([]);

  // Saved while it runs, it is drawn without a server, and is not said to be live.
  const { origin, search } = new URL(inspector().url);
  const session = new URL(page.url()).hash.match(/[\w-]*system[\w-]*/)?.[0] ?? '';
  const file = join(testFolder(), 'lights.html');
  writeFileSync(file, await (await fetch(`${origin}/api/sessions/${session}/export${search}`)).text());
  const saved = await open({ url: pathToFileURL(file).href });
  await saved.page.locator('[data-state="amber.blinking"].active').waitFor();
  expect(await saved.page.getByTestId('readout').textContent()).not.toContain('live');
  expect(saved.problems).toEqual([]);
  actor.stop();
});

test.skipIf(noChromium)('a recording from disk becomes a session', async () => {
  const run = startScene('plain');
  await run;
  const { page } = await open();
  await page.keyboard.press('r');
  await page.locator('input[type="file"]').setInputFiles({
    name: 'run.jsonl',
    mimeType: 'application/x-ndjson',
    buffer: Buffer.from(run.recording()),
  });

  await page.locator('.answer-text').getByText('It is half past twelve.').waitFor();
  await expect.poll(() => page.getByTestId('status').textContent()).toContain('answered');
  await page.keyboard.press('1');
  await expect.poll(() => page.getByTestId('no-fork').textContent()).toContain('the agent that made it is not here');
  expect(await page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0);
});

test.skipIf(noChromium)(
  'frames of a machine that the server left out for a slow page are asked for, and nothing is missing',
  async () => {
    const look = viewer(inspector().url);
    const ring = createMachine({
      id: 'ring',
      initial: 'A',
      states: { A: { on: { go: 'B' } }, B: { on: { go: 'A' } } },
    });
    const actor = createActor(ring, { inspect: inspector().inspect }).start();
    for (let n = 0; n < 40; n += 1) actor.send({ type: 'go' });
    const shown = (await look.list((frame) => frame.t === 'session' && frame.session.title === 'ring')).at(-1);
    const id = shown?.t === 'session' ? shown.session.id : '';
    const { frames } = await look.page(id, 0, 5000);
    const some = frames.slice(0, 12).map((frame, index) => `id: ${index + 1}\ndata: ${JSON.stringify(frame)}\n\n`);
    const gap = `data: ${JSON.stringify({ t: 'gap', session: id, dropped: 40 })}\n\n`;
    const { page } = await open({ url: 'about:blank' });
    let cut = 0;
    await page.route(`**/api/sessions/${id}/stream**`, (route) => {
      if (cut++ > 0) return route.continue();
      return route.fulfill({ contentType: 'text/event-stream', body: some.join('') + gap });
    });
    await page.goto(inspector().url);

    await page.getByTestId('readout').getByText('41 of 41', { exact: false }).waitFor();
    expect(cut).toBe(2);
    expect(await page.getByText('messages are missing').count()).toBe(0);
    actor.stop();
  },
);

test.skipIf(noChromium)(
  'a stream that breaks amid the tokens of a reply continues after the last line, and says no token twice',
  async () => {
    const run = startScene('plain', { inspect: inspector() });
    await run;
    const lines = (await viewer(inspector().url).lines(run.runId)).trim().split('\n');
    const asked = lines.findIndex((line) => line.includes('"callLlm"')) + 1;
    const token = (text: string, index: number): string => {
      const said = { type: 'model.token', kind: 'text', text, attempt: 1, index, thought: '', answer: '' };
      return `id: ${asked}\ndata: ${JSON.stringify({ t: 'said', event: { ...said, seq: 1, replayed: false } })}\n\n`;
    };
    const bodies = [token('It ', 0) + token('is ', 1), token('late.', 2)];
    const { page } = await open({ url: 'about:blank' });
    const opened: (string | null | undefined)[] = [];
    await page
      .context()
      .route(`**/api/sessions/${run.runId}/lines**`, (route) =>
        route.fulfill({ contentType: 'application/x-ndjson', body: `${lines.slice(0, asked).join('\n')}\n` }),
      );
    await page.context().route(`**/api/sessions/${run.runId}/stream**`, (route) => {
      const after =
        route.request().headers()['last-event-id'] ?? new URL(route.request().url()).searchParams.get('from');
      const body = bodies[opened.push(after) - 1] ?? '';
      return route.fulfill({ contentType: 'text/event-stream', body: `retry: 50\n\n${body}` });
    });
    await page.goto(inspector().url);

    const streamed = page.getByTestId('streaming');
    await streamed.getByText('It is late.', { exact: true }).waitFor();
    expect(opened.slice(0, 2)).toEqual([String(asked), String(asked)]);
  },
);

test.skipIf(noChromium).each([
  [640, 360],
  [400, 300],
])('in a window of %i by %i the chart and the details have room, and nothing lies over them', async (width, height) => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open({ width, height });
  await page.locator('[data-state="COMPLETION"].active').waitFor();
  const parts = page.getByRole('navigation', { name: 'Parts' });
  for (const [pane, selector] of [
    ['Chart', '.chart-main'],
    ['Details', '[data-testid="step"]'],
  ] as const) {
    await parts.getByRole('button', { name: pane }).click();
    const part = page.locator(selector);
    const { x = 0, y = 0, height: high = 0 } = (await part.boundingBox()) ?? {};
    expect(high).toBeGreaterThan(height / 3);
    for (const place of [y + 2, y + high - 2])
      expect(
        await part.evaluate((one, at) => one.contains(document.elementFromPoint(at.x, at.y)), { x: x + 9, y: place }),
      ).toBe(true);
  }
  await page.keyboard.press('ArrowLeft');
  await page.getByTestId('readout').getByText('of', { exact: false }).waitFor();
});

test.skipIf(noChromium)('every key is in the help, and everything that can be pressed has a name', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open();
  await page.locator('.answer-text').first().waitFor();
  const nameless = await page.locator('button, a, [role="button"], [role="slider"], input, select').evaluateAll((all) =>
    all.flatMap((one) => {
      const label = one.getAttribute('aria-label') ?? one.textContent ?? '';
      return label.trim() === '' && one.closest('label') === null ? [one.outerHTML] : [];
    }),
  );
  expect(nameless).toEqual([]);

  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys and signs' });
  await help.getByText('Step back').waitFor();
  await page.keyboard.press('Escape');
  expect(await help.count()).toBe(0);
});

test.skipIf(noChromium)('on a phone nothing sticks out, and each part is one press away', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page } = await open({ width: 390, height: 844 });
  await page.locator('[data-state="COMPLETION"].active').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);

  await page.getByRole('button', { name: 'Conversation' }).click();
  expect(await page.locator('.answer-text').first().isVisible()).toBe(true);

  // The key of a tab leads to it, and it is in sight.
  for (const [key, name] of [
    ['6', 'Compare'],
    ['/', 'Search'],
    ['1', 'Step'],
  ] as const) {
    await page.getByRole('button', { name: 'Chart', exact: true }).click();
    await page.keyboard.press(key);
    const tab = page.getByRole('tab', { name, selected: true });
    await expect
      .poll(() =>
        tab.evaluate((one) => [one.getBoundingClientRect().left >= 0, one.getBoundingClientRect().right <= 390]),
      )
      .toEqual([true, true]);
    expect(await tab.isVisible()).toBe(true);
    await page.keyboard.press('Escape');
  }
  // A time stands in one line.
  for (const [key, times] of [
    ['4', '.exchange summary .spring + .dim'],
    ['5', '.costs .row > :nth-child(4)'],
  ] as const) {
    await page.keyboard.press(key);
    await page.locator(times).first().waitFor();
    const heights = await page
      .locator(times)
      .evaluateAll((all) => all.map((one) => one.getClientRects()[0]?.height ?? 0));
    expect(heights.filter((height) => height > 30)).toEqual([]);
  }
});

test.skipIf(noChromium)('the theme is that of the system until somebody chooses, and the choice is kept', async () => {
  const { page } = await open({ scheme: 'light' });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  expect(await theme()).toBe('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(theme).toBe('dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(theme).toBe('light');
  await page.keyboard.press('t');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.reload();

  expect(await theme()).toBe('dark');
  // A browser prints no backgrounds: pale text would stand on white paper.
  await page.evaluate(() => {
    const { dataset } = document.documentElement;
    addEventListener('beforeprint', () => (dataset['printed'] = dataset['theme']));
  });
  await page.pdf();
  const printed = await page.evaluate(() => document.documentElement.dataset['printed']);
  expect([printed, await theme()]).toEqual(['light', 'dark']);
});

test.skipIf(noChromium)('the page works in the oldest browsers that it is for', async () => {
  await startScene('parallel', { inspect: inspector() });
  const { page, problems } = await open({ url: 'about:blank' });
  await makeOlder(page, 2024);
  await page.goto(inspector().url);
  await page.locator('.answer-text').first().waitFor();
  expect(await page.evaluate(() => 'try' in Promise || 'requestIdleCallback' in globalThis)).toBe(false);
  for (const key of ['2', '3', '4', '5', '6', '/', 'Escape', 'l', 'z', 'f', 'Home', ' ', 'r', 'Escape', '?', 'Escape'])
    await page.keyboard.press(key);
  await page.locator('[data-state="COMPLETION"].active').waitFor();
  expect(problems.filter((problem) => !problem.startsWith('request to'))).toEqual([]);
});
