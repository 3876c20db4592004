import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const agentOf = (replies: readonly ScriptedReply[], options: AgentOptions) =>
  createAgent({ name: 'clerk', model: scriptedModel(replies), silent: true, inspect: inspector(), ...options });

const look = () =>
  fakeTool('look', [{ sky: 'clear' }, { sky: 'far' }], {
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { where: { type: 'string' } }, required: ['where'] },
  });

/** The fork is shown beside its parent; its conversation is behind the comparison. */
async function besideParent(page: Page, answer: string): Promise<void> {
  await page.locator('.banner').getByText('A fork of').waitFor();
  await page.locator('[data-chosen="true"]').waitFor();
  await page.getByTestId('difference').getByText('The first difference').waitFor();
  await page.keyboard.press('1');
  await page.locator('.answer-text').getByText(answer).waitFor();
}

test.skipIf(noChromium)('a model is made to reply differently, and the fork stands beside its parent', async () => {
  const { page, problems } = await open();
  await agentOf([calls(['look', { where: 'up' }]), 'It is clear.'], { tools: [look()] }).run('How is the sky?');
  await page.locator('.answer-text').getByText('It is clear.').waitFor();
  await page.getByRole('button', { name: 'Reply differently…' }).last().click();
  const form = page.getByRole('form', { name: 'Reply differently' });
  const text = form.getByLabel('Text');
  expect(await text.inputValue()).toBe('It is clear.');
  await text.fill('');
  expect(await form.getByRole('button', { name: 'Fork with this reply' }).isDisabled()).toBe(true);
  await text.fill('It is foul.');
  await form.getByRole('button', { name: 'Fork with this reply' }).click();
  await besideParent(page, 'It is foul.');
  // The sentence is not torn into columns.
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.locator('.banner').evaluate(({ children }) => children.length)).toBe(1);
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'what is being written stays until it is sent or given up: over scrolling, a new run and a refusal',
  async () => {
    const { page } = await open();
    const turns = Array.from({ length: 30 }, (_, n) => calls(['look', { where: `row ${n}` }]));
    const tool = fakeTool('look', [{ sky: 'clear' }]);
    const agent = agentOf([...turns, 'It is clear.'], { tools: [tool], maxSteps: 40 });
    const run = agent.run('How are the rows?');
    await run;
    await page.locator('.answer-text').getByText('It is clear.').waitFor();
    const list = page.getByRole('list', { name: 'Conversation' });
    const button = page.getByRole('button', { name: 'Reply differently…' }).last();
    await button.click();
    const form = page.getByRole('form', { name: 'Reply differently' });
    await form.getByLabel('Text').fill('It is foul.');
    await form.getByLabel('Text').blur();
    await list.evaluate((element) => element.scrollTo(0, 0));
    await form.waitFor({ state: 'detached' });
    await agentOf(['Nothing.'], {}).run('Something new');
    await page.getByRole('button', { name: 'new run' }).waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    expect(await form.getByLabel('Text').inputValue()).toBe('It is foul.');
    await page.context().setOffline(true);
    await form.getByRole('button', { name: 'Fork with this reply' }).click();
    await page.locator('.toast[data-tone="danger"]').waitFor();
    await page.context().setOffline(false);
    expect(await form.getByLabel('Text').inputValue()).toBe('It is foul.');
    await form.getByRole('button', { name: 'Cancel' }).click();
    await form.waitFor({ state: 'detached' });
    await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
  },
);

test.skipIf(noChromium)(
  'its calls are forms: what is wrong cannot be sent, and the tool gets what was written',
  async () => {
    const { page } = await open();
    const tool = look();
    const replies = [calls(['look', { where: 'up' }]), 'It is clear.', 'It is far.'];
    await agentOf(replies, { tools: [tool] }).run('How is the horizon?');
    await page.locator('.answer-text').getByText('It is clear.').waitFor();
    await page.getByRole('button', { name: 'Reply differently…' }).first().click();
    const form = page.getByRole('form', { name: 'Reply differently' });
    const where = form.getByLabel('where');
    expect(await where.inputValue()).toBe('up');
    await where.fill('far');
    await form.getByRole('button', { name: 'Add a call' }).click();
    await form.getByRole('group', { name: 'Call 2' }).waitFor();
    const fork = form.getByRole('button', { name: 'Fork with this reply' });
    await expect.poll(() => fork.isDisabled()).toBe(true);
    await form.getByRole('button', { name: 'Leave out call 2' }).click();
    await expect.poll(() => fork.isDisabled()).toBe(false);
    await fork.click();
    await besideParent(page, 'It is far.');
    expect(tool.calls).toEqual([{ where: 'up' }, { where: 'far' }]);
  },
);

test.skipIf(noChromium)('a tool is made to give something else, or to fail', async () => {
  const { page } = await open();
  const replies = [calls(['look', { where: 'up' }]), 'It is clear.', 'It is red.', 'It is dark.'];
  await agentOf(replies, { tools: [look()] }).run('How is the evening?');
  await page.locator('.answer-text').getByText('It is clear.').waitFor();
  await page.getByRole('button', { name: 'Other result…' }).click();
  const form = page.getByRole('form', { name: 'Other result' });
  await form.getByLabel('Result (JSON)').fill('{ "sky": "red"');
  expect(await form.getByRole('button', { name: 'Fork with this result' }).isDisabled()).toBe(true);
  await form.getByLabel('Result (JSON)').fill('{ "sky": "red" }');
  await form.getByRole('button', { name: 'Fork with this result' }).click();
  await besideParent(page, 'It is red.');
  await expect.poll(() => page.locator('.entry[data-kind="call"]').textContent()).toContain('"red"'.slice(1, -1));

  await page.getByRole('button', { name: 'Other result…' }).click();
  await form.getByRole('button', { name: 'It fails' }).click();
  await form.getByLabel('What the error says').fill('It is night.');
  await form.getByRole('button', { name: 'Fork with this result' }).click();
  await besideParent(page, 'It is dark.');
  await expect.poll(() => page.locator('.entry[data-kind="call"]').textContent()).toContain('It is night.');
});

test.skipIf(noChromium)('nothing is offered where no agent could continue: in a recording from disk', async () => {
  const run = createAgent({
    name: 'clerk',
    model: scriptedModel([calls(['look', { where: 'up' }]), 'It is gone.']),
    tools: [look()],
    silent: true,
  }).run('How was the sky?');
  await run;
  const file = join(testFolder(), 'run.jsonl');
  writeFileSync(file, run.recording());
  inspector().open(run.recording());
  const { page } = await open();
  await page.locator('.answer-text').getByText('It is gone.').waitFor();
  expect(await page.getByRole('button', { name: /Reply differently|Other result/ }).count()).toBe(0);
});

test.skipIf(noChromium)('what a person changed at an approval is shown, also after a reload', async () => {
  const { page } = await open();
  const pay = fakeTool('pay', [{ paid: true }], {
    description: 'Pays.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
  });
  const run = agentOf([calls(['pay', { cents: 900 }]), 'Paid.'], { tools: [pay], confirm: 'wait' }).run('Pay Ada');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('cents').fill('700');
  await page.getByRole('button', { name: 'Approve', exact: false }).first().click();
  await run;
  for (const again of [false, true]) {
    // The address names a run once the page has settled on it.
    await expect.poll(() => page.url()).toContain(run.runId);
    if (again) await page.reload();
    const entry = page.locator('.entry[data-kind="call"]');
    await entry.getByText('Changed by a person before it ran').click();
    await expect.poll(() => entry.locator('.edited').textContent()).toContain('900');
    await expect.poll(() => entry.locator('.edited').textContent()).toContain('700');
  }
});

test.skipIf(noChromium)(
  'why a model was left, and which one was asked then, is shown, also after a reload',
  async () => {
    const { page } = await open();
    const busy = Object.assign(new Error('Out of order.'), { code: 'model-error', status: 500 });
    const down = { id: 'first', complete: () => Promise.reject(busy) };
    const up = Object.assign(scriptedModel(['From the second.']), { id: 'second' });
    const agent = createAgent({ name: 'clerk', model: [down, up], silent: true, inspect: inspector() });
    const { runId } = await agent.run('Ask around');
    for (const again of [false, true]) {
      if (again) await page.reload();
      const entry = page.locator('.entry[data-kind="model"]').last();
      await entry.getByText('Out of order.').waitFor();
      await expect.poll(() => entry.textContent()).toContain('Next is second.');
      // The address names a run once the page has settled on it.
      await expect.poll(() => page.url()).toContain(runId);
    }
  },
);
