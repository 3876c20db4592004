import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { noChromium, stage } from './browser.ts';

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
