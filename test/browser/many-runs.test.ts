import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** More than a browser has connections to one server. */
const MANY = 9;

const letter = () =>
  fakeTool('send_letter', [{ sent: true }], {
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  });

test.skipIf(noChromium)('of many runs that wait at once each can be looked at, and answered', async () => {
  const { page, problems } = await open();
  const runs = Array.from({ length: MANY }, (_, n) => {
    const model = scriptedModel([calls(['send_letter', { to: `person ${n}` }]), `Letter ${n} is sent.`]);
    const agent = createAgent({ model, tools: [letter()], confirm: 'wait', silent: true, inspect: inspector() });
    return { run: agent.run(`Letter number ${n}`), said: `Letter ${n} is sent.`, task: `Letter number ${n}` };
  });
  const look = async (task: string): Promise<void> => {
    await page.keyboard.press('r');
    await page.getByRole('dialog').getByRole('button', { name: task }).click();
    await page.getByText(task.replace('Letter number', 'person')).filter({ visible: true }).first().waitFor();
  };
  for (const { task } of runs) await look(task);
  for (const { run, said, task } of runs) {
    await look(task);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.answer-text').getByText(said).waitFor();
    expect((await run).success).toBe(true);
  }
  await look('Letter number 3');
  await page.locator('.answer-text').getByText('Letter 3 is sent.').waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('a page that follows what is new shows one run after the other, however many', async () => {
  const { page } = await open();
  for (let n = 0; n < MANY; n += 1) {
    const model = scriptedModel([`This is answer ${n}.`]);
    await createAgent({ model, silent: true, inspect: inspector() }).run(`Question ${n}`);
    await page.locator('.answer-text').getByText(`This is answer ${n}.`).waitFor();
  }
});
