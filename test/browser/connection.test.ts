import { createServer, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { type Inspector, createInspector } from '../../src/inspector/create-inspector.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { freePort } from '../support/free-port.ts';
import { noChromium, stage } from './browser.ts';
import { builtPage } from './built-page.ts';

const { inspector, open } = stage();

const payer = (inspect: Inspector, model: Model = scriptedModel([calls(['pay', { to: 'Ann' }]), 'Paid.'])) =>
  createAgent({
    model,
    tools: [fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } })],
    confirm: 'wait',
    silent: true,
    inspect,
  });

test.skipIf(noChromium)('a server that dies in a call is seen to be connected anew', async () => {
  const { page, problems } = await open();
  const agent = createAgent({
    name: 'clerk',
    model: scriptedModel([calls(['files_die']), 'It died.']),
    mcpServers: { files: hostileEntry('normal') },
    silent: true,
    inspect: inspector(),
  });
  expect((await agent.run('Die.')).success).toBe(true);

  await page.locator('.run-picker').click();
  await page.getByRole('dialog').getByText('MCP files').click();
  await page.locator('[data-state="READY"].active').waitFor();
  for (const state of ['CONNECTING', 'DISCOVERING'])
    await expect.poll(() => page.locator(`[data-state="${state}"]`).getAttribute('class')).toContain('visited');
  // The call is sent once more on the second connection, which it ends as well.
  await page.locator('[data-state="CONNECTING"]').getByText('×3').waitFor();
  await page.getByText('listMcpTools.done').first().waitFor();

  await agent.close();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('runs of a process that has ended wait for nobody once the next one is connected', async () => {
  const address = { port: await freePort(), token: 'the-same-for-both-of-them', page: await builtPage() };
  const first = await createInspector(address);
  const run = payer(first).run(`Pay her${' and him'.repeat(20)}`);
  const { page } = await open({ url: first.url, width: 1000 });
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await expect.poll(() => page.title()).toBe('(1) Signalbox');
  const height = () => page.locator('.bar').evaluate((bar) => bar.getBoundingClientRect().height);
  const connected = await height();
  await first.close();
  await page.getByText('connection lost').waitFor();
  expect(await height()).toBe(connected);

  const second = await createInspector(address);
  onTestFinished(() => second.close());
  await expect.poll(() => page.title()).toBe('Signalbox');
  expect(await page.getByTestId('status').textContent()).toBe('interrupted');
  await expect.poll(() => page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);

  const answering = createAgent({ model: scriptedModel(['Hello.']), silent: true, inspect: second });
  await answering.run('Greet her');
  await page.locator('.answer-text').getByText('Hello.').waitFor();
  await page.locator('.run-picker').click();
  expect(await page.getByRole('dialog').getByText('Pay her').count()).toBe(0);
  await run.cancel();
});

test.skipIf(noChromium)(
  'a page whose inspector was replaced by another says so, and offers nothing of the old one',
  async () => {
    const port = await freePort();
    const files = await builtPage();
    const first = await createInspector({ port, token: 'that-of-the-first-one', page: files });
    const run = payer(first).run('Pay her');
    const { page } = await open({ url: first.url });
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await first.close();
    await page.getByText('connection lost, trying again').waitFor();

    const second = await createInspector({ port, token: 'that-of-the-second-one', page: files });
    onTestFinished(() => second.close());
    await page.locator('.banner').getByText('Open the address that it printed', { exact: false }).waitFor();
    await expect.poll(() => page.getByText('trying again').count()).toBe(0);
    await expect.poll(() => page.title()).toBe('Signalbox');
    await expect.poll(() => page.getByTestId('status').textContent()).toBe('interrupted');
    await expect.poll(() => page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await expect.poll(() => page.getByRole('link').count()).toBe(0);
    await page.getByText('Pay her').first().waitFor();
    await run.cancel();
  },
);

test.skipIf(noChromium)(
  'a run that the next process begins anew, under the id of the last one, is shown alone',
  async () => {
    const address = { port: await freePort(), token: 'the-same-for-both-of-them', page: await builtPage() };
    const first = await createInspector(address);
    const run = payer(first).run('Pay her', { runId: 'of-a-script' });
    const { page } = await open({ url: first.url });
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await first.close();
    await page.getByText('connection lost').waitFor();

    const second = await createInspector(address);
    onTestFinished(() => second.close());
    const answering = createAgent({ model: scriptedModel(['Hello.']), silent: true, inspect: second });
    await answering.run('Greet her', { runId: 'of-a-script' });
    await page.locator('.answer-text').getByText('Hello.').waitFor();
    await page.getByText('Greet her').nth(1).waitFor();
    expect(await page.getByText('Pay her').count()).toBe(0);
    expect(await page.locator('.banner, [data-kind="call"]').count()).toBe(0);
    await run.cancel();
  },
);

test.skipIf(noChromium)('what is still on its way is not said to be missing', async () => {
  const { page } = await open({ url: 'about:blank' });
  const [list, player] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/api/stream*', async (route) => (await list.promise, route.continue()));
  await page.route('**/assets/player.js', async (route) => (await player.promise, route.continue()));
  const answering = createAgent({ model: scriptedModel(['Hello.']), silent: true, inspect: inspector() });
  await answering.run('Greet her');
  await page.goto(inspector().url);
  const empty = page.locator('.empty');
  await expect.poll(() => empty.allTextContents()).toEqual(['Loading…', 'Loading…', 'Loading…']);

  list.resolve();
  await page.locator('.run-picker').getByText('Greet her').waitFor();
  for (const key of ['2', '3', '4', '1']) {
    await page.keyboard.press(key);
    await expect.poll(() => empty.allTextContents()).toEqual(['Loading…', 'Loading…', 'Loading…']);
  }
  player.resolve();
  await page.locator('.answer-text').getByText('Hello.').waitFor();
  expect(await empty.count()).toBe(0);
});

test.skipIf(noChromium)(
  'of two tabs that answer one call, the one that comes late is told that it was answered',
  async () => {
    const { promise: allowed, resolve: answer } = Promise.withResolvers<void>();
    const script = scriptedModel([calls(['pay', { to: 'Ann' }]), 'Paid.']);
    const run = payer(inspector(), {
      complete: async (asked, io) => {
        if (asked.messages.some(({ role }) => role === 'tool')) await allowed;
        return script.complete(asked, io);
      },
    }).run('Pay her, twice');
    const tabs = [await open(), await open()].map(({ page }) => page);
    const [first, second] = tabs;
    const late = Promise.withResolvers<void>();
    await second?.route('**/act*', async (route) => (await late.promise, route.continue()));
    await second?.getByRole('button', { name: 'Reject', exact: true }).click();
    await first?.getByRole('button', { name: 'Approve', exact: true }).click();
    await first?.getByText('Approved.').waitFor();
    late.resolve();
    await second?.locator('.toast').getByText('it was answered already', { exact: false }).waitFor();
    for (const tab of tabs) await tab.locator('.entry[data-kind="call"]').getByText('done').waitFor();
    answer();
    expect((await run).success).toBe(true);
  },
);

test.skipIf(noChromium)('in however many tabs the page is open, each follows and a call is answered', async () => {
  const own = await createInspector({ page: await builtPage() });
  onTestFinished(() => own.close());
  const run = payer(own).run('Pay her, in many tabs');
  const { page } = await open({ url: own.url });
  const others = Array.from({ length: 4 }, () => page.context().newPage());
  const tabs = [page, ...(await Promise.all(others))];
  for (const tab of tabs.slice(1)) await tab.goto(own.url);
  for (const tab of tabs) await tab.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  expect((await run).success).toBe(true);
  for (const tab of tabs) {
    await tab.locator('.answer-text').getByText('Paid.').waitFor();
    await expect.poll(() => tab.getByTestId('status').textContent()).toBe('answered');
  }
});

test.skipIf(noChromium)('behind a proxy that is allowed, a call is answered and the page loaded again', async () => {
  const port = await freePort();
  const shown = await createInspector({ page: await builtPage(), allowedHosts: [`localhost:${port}`] });
  // As nginx does by itself, it keeps from us by which name it was reached.
  const proxy = createServer((asked, answer) => {
    const { method, url: path, headers } = asked;
    const own = { ...headers, host: `127.0.0.1:${shown.port}` };
    const sent = request({ host: '127.0.0.1', port: shown.port, method, path, headers: own }, (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers);
      got.pipe(answer);
    });
    sent.on('error', () => answer.destroy());
    answer.on('close', () => sent.destroy());
    asked.pipe(sent);
  }).listen(port, '127.0.0.1');
  onTestFinished(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await shown.close();
  });
  const { page, problems } = await open({ url: `http://localhost:${port}/${new URL(shown.url).search}` });
  const run = payer(shown).run('Pay Ann.');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  expect((await run).result).toBe('Paid.');
  await page.reload();
  await page.locator('.answer-text').getByText('Paid.').waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('a tab without the token says that it has none', async () => {
  const { page } = await open();
  const tab = await page.context().newPage();
  await tab.goto(new URL('/', inspector().url).href);
  await tab.locator('.banner').getByText('the page has no token').waitFor();
});
