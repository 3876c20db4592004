import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { createInspector } from '../../src/inspector/create-inspector.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { freePort } from '../support/free-port.ts';
import { noChromium, stage } from './browser.ts';
import { builtPage } from './built-page.ts';

const { inspector, open } = stage();

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
  const waiting = createAgent({
    model: scriptedModel([calls(['pay', { to: 'Ann' }]), 'Paid.']),
    tools: [fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } })],
    confirm: 'wait',
    silent: true,
    inspect: first,
  });
  const run = waiting.run(`Pay her${' and him'.repeat(20)}`);
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
