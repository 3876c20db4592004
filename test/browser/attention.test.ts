import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createInspector } from '../../src/inspector/create-inspector.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';
import { builtPage } from './built-page.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const answering = (answer: string) =>
  createAgent({ model: scriptedModel([answer]), silent: true, inspect: inspector() });

const waiting = (inspect = inspector()) =>
  createAgent({
    model: scriptedModel([calls(['pay', { to: 'Ann' }]), 'Paid.']),
    tools: [fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } })],
    confirm: 'wait',
    silent: true,
    inspect,
  });

test.skipIf(noChromium)(
  'a new run does not take the page from somebody who looks at a step, but offers itself',
  async () => {
    await answering('The first answer.').run('First');
    const { page, problems } = await open();
    await page.locator('.answer-text').getByText('The first answer.').waitFor();
    await page.keyboard.press('ArrowLeft');
    await answering('The second answer.').run('Second');

    const offer = page.getByRole('button', { name: 'new run ›' });
    await offer.waitFor();
    await expect.poll(() => page.locator('.run-picker').textContent()).toContain('First');
    await offer.click();
    await page.locator('.answer-text').getByText('The second answer.').waitFor();
    expect(await offer.count()).toBe(0);

    // Nobody is busy any more: what is new is shown again.
    await answering('The third answer.').run('Third');
    await page.locator('.answer-text').getByText('The third answer.').waitFor();
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a new run does not take the page from somebody who writes an answer', async () => {
  const { page } = await open();
  const run = waiting().run('Pay her');
  await page.getByLabel('Reason for rejecting').fill('not tod');
  await answering('In between.').run('Other');

  await page.getByRole('button', { name: 'new run ›' }).waitFor();
  expect(await page.getByLabel('Reason for rejecting').inputValue()).toBe('not tod');
  await run.cancel();
});

for (const width of [1280, 390])
  test.skipIf(noChromium)(`calls that wait in any run are counted and one press away, ${width} wide`, async () => {
    const own = await createInspector({ page: await builtPage() });
    const { page } = await open({ url: own.url, width });
    const inbox = page.getByTestId('inbox');
    expect(await inbox.count()).toBe(0);
    const runs = [waiting(own).run('Pay one'), waiting(own).run('Pay two')];
    await inbox.getByText('2 calls wait').waitFor();
    expect(await page.title()).toBe('(2) Signalbox');
    await page.getByTestId('status').filter({ hasText: 'waiting for you' }).waitFor();

    for (const left of ['1 call waits', null]) {
      await inbox.click();
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      if (left !== null) await inbox.getByText(left).waitFor();
    }
    for (const run of runs) expect((await run).success).toBe(true);
    await expect.poll(() => inbox.count()).toBe(0);
    expect(await page.title()).toBe('Signalbox');
    await own.close();
  });

test.skipIf(noChromium)('what is written and sent to one run stays with it when another is shown', async () => {
  const own = await createInspector({ page: await builtPage() });
  const { page } = await open({ url: own.url });
  const runs = [waiting(own).run('Pay one'), waiting(own).run('Pay two')];
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  const box = page.getByRole('textbox', { name: 'Message to the agent' });
  const sent = Promise.withResolvers<void>();
  await page.route('**/*', async (route, request) => {
    if (request.method() === 'POST') await sent.promise;
    await route.continue();
  });
  const shownTask = page.locator('[data-kind="task"]');
  await page.getByTestId('inbox').getByText('2 calls wait').waitFor();
  await box.fill('In euros');
  const first = await shownTask.textContent();
  await approve.click();
  expect(await approve.isEnabled()).toBe(false);

  // The answer is still on its way: the other run's call has the same id, and is another.
  await page.getByTestId('inbox').click();
  await expect.poll(() => shownTask.textContent()).not.toBe(first);
  expect(await approve.isEnabled()).toBe(true);
  expect(await box.inputValue()).toBe('');
  await page.getByTestId('inbox').click();
  await expect.poll(() => shownTask.textContent()).toBe(first);
  expect(await box.inputValue()).toBe('In euros');

  sent.resolve();
  await page.getByTestId('inbox').getByText('1 call waits').waitFor();
  await page.getByTestId('inbox').click();
  await approve.click();
  for (const run of runs) expect((await run).success).toBe(true);
  await own.close();
});

test.skipIf(noChromium)('the address has no token, and names run and step over a reload', async () => {
  const run = answering('Here again.').run('Reload me');
  await run;
  await answering('Something newer.').run('Newer');
  const { page, problems } = await open();
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByRole('button', { name: 'Reload me' }).click();
  await page.locator('.answer-text').getByText('Here again.').waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => page.url()).toContain(`#run=${encodeURIComponent(run.runId)}&step=2`);
  expect(page.url()).not.toContain('token');

  await page.reload();
  await page.getByTestId('readout').getByText('2', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.run-picker').textContent()).toContain('Reload me');
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'an address of a run that is not there says so, and the newest run is shown and followed',
  async () => {
    const own = await createInspector({ page: await builtPage() });
    const answer = (text: string) =>
      createAgent({ model: scriptedModel([text]), silent: true, inspect: own }).run(`Asks for ${text}`);
    await answer('Here.');
    const { page, problems } = await open({ url: `${own.url}#run=gone-since&step=2` });
    await page.locator('.answer-text').getByText('Here.').waitFor();
    await page.locator('.toast').getByText('The address names a run that is not here: gone-since.').waitFor();
    await expect.poll(() => page.url()).not.toContain('step');

    await answer('Newer.');
    await page.locator('.answer-text').getByText('Newer.').waitFor();
    expect(problems).toEqual([]);
    await own.close();
  },
);

test.skipIf(noChromium)(
  'Back leads to the run that was shown before, and an edited address to the one that it names',
  async () => {
    const [first, last] = [answering('Before.').run('One'), answering('After.').run('Two')];
    await Promise.all([first, last]);
    const { page, problems } = await open({ url: `${inspector().url}#run=${last.runId}` });
    const shown = (text: string) => page.locator('.answer-text').getByText(text).waitFor();
    await shown('After.');
    await page.keyboard.press('r');
    await page.getByRole('dialog').locator('.session-row', { hasText: first.runId }).click();
    await shown('Before.');
    await expect.poll(() => page.url()).toContain(first.runId);
    await page.keyboard.press('Home');
    await expect.poll(() => page.url()).toContain('&step=1');
    await page.goBack();
    await shown('After.');
    await page.goForward();
    await page.getByTestId('readout').getByText('1', { exact: true }).waitFor();
    await page.evaluate((run) => (location.hash = `#run=${run}&step=3`), last.runId);
    await expect.poll(() => page.locator('.run-picker').textContent()).toContain('Two');
    await page.getByTestId('readout').getByText('3', { exact: true }).waitFor();
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('the page drops runs that the server let go of, except the one that is looked at', async () => {
  const own = await createInspector({ page: await builtPage(), keep: 2 });
  const answer = (n: number) =>
    createAgent({ model: scriptedModel([`Answer ${n}`]), silent: true, inspect: own }).run(`Run ${n}`);
  await answer(1);
  const { page } = await open({ url: own.url });
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('Home');
  for (const n of [2, 3, 4, 5]) {
    // Runs stand in the order of the milliseconds in which they began.
    await page.waitForTimeout(5);
    await answer(n);
  }
  await page.keyboard.press('r');
  const rows = page.getByRole('dialog').locator('.session-row');

  await expect
    .poll(async () => (await rows.allTextContents()).map((row) => /Run \d/.exec(row)?.[0]))
    .toEqual(['Run 5', 'Run 4', 'Run 1']);
  await page.getByRole('dialog').getByRole('button', { name: 'Run 5' }).click();
  await page.keyboard.press('r');
  await expect.poll(() => rows.count()).toBe(2);
  await own.close();
});

test.skipIf(noChromium)('a damaged recording of a folder is listed as such', async () => {
  const folder = testFolder();
  writeFileSync(join(folder, 'broken.jsonl'), '{"t":"run","format":1\n');
  const own = await createInspector({ page: await builtPage() });
  await own.openFolder(folder);
  const { page } = await open({ url: own.url });

  await page.locator('.run-picker').getByText('broken.jsonl').waitFor();
  await expect.poll(() => page.getByTestId('status').textContent()).toContain('damaged recording');
  await expect.poll(() => page.locator('.banner').textContent()).toContain('cannot be read');
  await own.close();
});

test.skipIf(noChromium)('of a folder the newest recording is shown that can be read', async () => {
  const folder = testFolder();
  const agent = createAgent({ model: scriptedModel(['Half past twelve.']), silent: true });
  const run = agent.run('What time is it?');
  await run;
  writeFileSync(join(folder, 'good.jsonl'), run.recording());
  writeFileSync(join(folder, 'broken.jsonl'), '{"t":"run","format":1\n');
  const at = new Date('2100-01-01T00:00:00.000Z');
  utimesSync(join(folder, 'broken.jsonl'), at, at);
  const own = await createInspector({ page: await builtPage() });
  await own.openFolder(folder);
  const { page } = await open({ url: own.url });
  await page.keyboard.press('r');
  const broken = page.getByRole('dialog').locator('.session-row', { hasText: 'broken.jsonl' });
  await broken.waitFor();
  // It is as old as its file.
  expect(await broken.locator('time').getAttribute('datetime')).toBe(at.toISOString());
  for (const shown of [page, (await open({ url: own.url })).page]) {
    await shown.locator('.answer-text').getByText('Half past twelve.').waitFor({ state: 'attached' });
    expect(await shown.locator('.banner').count()).toBe(0);
  }
  await own.close();
});

test.skipIf(noChromium)('in the list of runs a name of any length and script stays in its place', async () => {
  const own = await createInspector({ page: await builtPage() });
  const named = (name: string, task: string) =>
    createAgent({ name, model: scriptedModel(['Yes.']), silent: true, inspect: own }).run(task);
  await named('long', 'x'.repeat(3000));
  const run = named('مساعد المتجر', 'مرحبا');
  await run;
  const { page } = await open({ url: own.url, width: 400 });
  await page.locator('.answer-text').waitFor({ state: 'attached' });
  await page.keyboard.press('r');
  const list = page.getByRole('dialog').locator('.dialog-body');
  await list.locator('.session-row').nth(1).waitFor();
  expect(await list.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  // The name is read from the right, what stands behind it from the left.
  const [time, id] = await list.locator('.session-row', { hasText: run.runId }).evaluate((row, runId) => {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()?.textContent?.includes(runId) === false);
    const range = document.createRange();
    if (texts.currentNode !== null) range.selectNodeContents(texts.currentNode);
    const begins = (of: Element | Range | null) => of?.getClientRects()[0];
    const [first, second] = [begins(row.querySelector('time')), begins(range)];
    const order = (box: DOMRect | undefined) => (box?.top ?? 0) * 10_000 + (box?.left ?? 0);
    return [order(first), order(second)];
  }, run.runId);
  expect(id).toBeGreaterThan(time ?? Infinity);
  await own.close();
});

test.skipIf(noChromium)('on a narrow phone the name of a run stays in its button while a call waits', async () => {
  const { page } = await open({ width: 360, height: 740 });
  const run = waiting().run('Pay her');
  await page.getByRole('button', { name: '1 call waits' }).waitFor();
  const outside = await page.locator('.run-picker').evaluate((picker) => {
    const { left, right } = picker.getBoundingClientRect();
    return [...picker.children].flatMap((part) => {
      const box = part.getBoundingClientRect();
      return box.left < left || box.right > right ? [`${part.className} at ${box.left} to ${box.right}`] : [];
    });
  });
  expect(outside).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await run.cancel();
});

test.skipIf(noChromium)('who has approved a call with edits is shown what is new again', async () => {
  const { page } = await open();
  const run = waiting().run('Pay her');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Approve with edits' }).click();
  await run;
  await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor();
  await answering('Afterwards.').run('Other');
  await page.locator('.answer-text').getByText('Afterwards.').waitFor();
});
