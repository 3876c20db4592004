import { setTimeout as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { ModelReply } from '../../src/actors/model.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ExecuteContext, tool as makeTool } from '../../src/tools/tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const agentOf = (replies: readonly ScriptedReply[], options: AgentOptions) =>
  createAgent({
    name: 'clerk',
    model: scriptedModel(replies),
    silent: true,
    streaming: true,
    confirm: 'wait',
    retry: { backoff: { kind: 'constant', ms: 5 } },
    inspect: inspector(),
    ...options,
  });

const letter = (results: readonly unknown[] = [{ sent: true }]) =>
  fakeTool('send_letter', [...results] as never[], {
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  });

const orders = () =>
  fakeTool('sum_orders', [new Error('database is locked'), new Error('database is locked'), { cents: 11_150 }], {
    description: 'Sums the orders of a customer.',
    inputSchema: { type: 'object' },
    onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }) },
  });

test.skipIf(noChromium)(
  'an agent is followed through plan, retry, error recovery and approval by button to its answer',
  async () => {
    const { page, problems } = await open();
    const run = agentOf(
      [
        plan(['sum_orders', { customer: 7 }], ['send_letter', { to: 'Ada' }]),
        new Error('The server is busy.'),
        calls(['sum_orders', { customer: 7 }]),
        calls(['send_letter', { to: 'Ada' }]),
        'The letter is sent.',
      ],
      { tools: [orders(), letter()] },
    ).run('Write to Ada about her orders');

    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.locator('[data-state="DIRECT_EXECUTION.RUNNING_CALLS"].active').waitFor();
    await page
      .getByRole('complementary', { name: 'Live actors' })
      .filter({ hasText: 'AWAITING_APPROVAL.ASKING' })
      .waitFor();
    await page.locator('[data-state="ERROR_RECOVERY"].visited').waitFor();

    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.answer-text').getByText('The letter is sent.').waitFor();

    expect((await run).success).toBe(true);
    await page.getByTestId('status').filter({ hasText: 'answered' }).waitFor();
    await page.locator('[data-state="COMPLETION"].active').waitFor();
    await page.keyboard.press('Home');
    for (let mark = 0; mark < 2; mark++) await page.keyboard.press(']');
    await expect.poll(() => page.getByTestId('told').textContent()).toContain('RECOVERING');
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a plan shows its progress: what is done, what failed, what was dropped', async () => {
  const { page } = await open();
  await agentOf([plan(['look', {}], ['sum_orders', {}], ['look', {}]), 'I give up.'], {
    tools: [orders(), fakeTool('look', [{ seen: true }], { inputSchema: { type: 'object' } })],
  }).run('Look and sum');

  const steps = page.locator('.plan-steps li');
  await page.locator('.answer-text').getByText('I give up.').waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('End');
  await page.locator('.answer-text').getByText('I give up.').waitFor();
  await page.locator('.board-talk .scroll').evaluate((list) => (list.scrollTop = 0));
  await steps.first().waitFor();

  expect(await steps.evaluateAll((all) => all.map((one) => one.getAttribute('data-status')))).toEqual([
    'done',
    'failed',
    'dropped',
  ]);
});

test.skipIf(noChromium)(
  'a call is approved with edited arguments; those that are no JSON object are not sent',
  async () => {
    const { page } = await open();
    const tool = letter();
    const run = agentOf([calls(['send_letter', { to: 'Ada' }]), 'Done.'], { tools: [tool] }).run('Write, edited');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const field = page.getByLabel('Arguments as JSON');

    await field.fill('{"to": ');
    expect(await page.getByRole('button', { name: 'Approve with edits' }).isDisabled()).toBe(true);
    await field.fill('{"to": "Grace"}');
    await page.getByRole('button', { name: 'Approve with edits' }).click();

    await run;
    expect(run.recording()).toContain('"Grace"');
  },
);

test.skipIf(noChromium)('a call is rejected with a reason that the model is told', async () => {
  const { page } = await open();
  const run = agentOf([calls(['send_letter', { to: 'Ada' }]), 'Then not.'], { tools: [letter()] }).run(
    'Write, refused',
  );
  await page.getByLabel('Reason for rejecting').fill('not on a Sunday');
  await page.getByRole('button', { name: 'Reject' }).click();

  await run;
  expect(run.recording()).toContain('not on a Sunday');
  await page.getByText('denied', { exact: true }).first().waitFor();
});

test.skipIf(noChromium)('one key leads from anywhere to the call that waits, another sends the answer', async () => {
  const { page } = await open();
  const run = agentOf([calls(['send_letter', { to: 'Ada' }]), 'Sent by keyboard.'], { tools: [letter()] }).run(
    'Write, keys',
  );
  await page.locator('[data-approve]').waitFor();
  await page.keyboard.press('Home');
  expect(await page.locator('[data-approve]').count()).toBe(0);

  await page.keyboard.press('a');
  await page.locator('[data-approve]:focus').waitFor();
  await page.keyboard.press('Enter');

  expect((await run).result).toBe('Sent by keyboard.');
});

test.skipIf(noChromium)('a run is forked from one of its steps, with what the tool gave edited', async () => {
  const { page } = await open();
  const look = fakeTool('look', [{ sky: 'clear' }], { description: 'Looks.', inputSchema: { type: 'object' } });
  await agentOf([calls(['look', {}]), 'It is clear.', 'It is stormy.'], { tools: [look] }).run('How is the sky?');
  await page.locator('.answer-text').getByText('It is clear.').waitFor();
  await page.keyboard.press('2');
  await page.getByRole('list', { name: 'Transitions' }).getByText('callTool.done').first().click();
  await page.keyboard.press('1');
  await page.getByRole('button', { name: 'Fork from here' }).click();
  const field = page.getByRole('dialog').locator('textarea');
  await field.fill((await field.inputValue()).replace('clear', 'stormy'));
  const fork = page.getByRole('button', { name: 'Fork with this outcome' });
  // What could not be done is said, and what was written is still there.
  await page.context().setOffline(true);
  await fork.click();
  await page.getByRole('dialog').getByRole('alert').getByText('does not answer', { exact: false }).waitFor();
  await page.context().setOffline(false);
  expect(await field.inputValue()).toContain('stormy');
  await fork.click();

  await page.locator('.answer-text').getByText('It is stormy.').waitFor();
  await expect.poll(() => page.locator('.banner').textContent()).toContain('A fork of');
});

test.skipIf(noChromium)(
  'a run that alone was given the inspector is forked from its page, onto the same page',
  async () => {
    const { page, problems } = await open();
    const model = scriptedModel([calls(['look', {}]), 'It is hazy.', 'It is foggy.']);
    const look = fakeTool('look', [{ sky: 'hazy' }], { description: 'Looks.', inputSchema: { type: 'object' } });
    const agent = createAgent({ name: 'clerk', model, silent: true, tools: [look] });
    await agent.run('How is the sky today?', { inspect: inspector() });
    await page.locator('.answer-text').getByText('It is hazy.').waitFor();
    await page.keyboard.press('2');
    await page.getByRole('list', { name: 'Transitions' }).getByText('callTool.done').first().click();
    await page.keyboard.press('1');
    await page.getByRole('button', { name: 'Fork from here' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Fork', exact: true }).click();

    await page.locator('.answer-text').getByText('It is foggy.').waitFor();
    await expect.poll(() => page.locator('.banner').textContent()).toContain('A fork of');
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a run is cancelled from the page', async () => {
  const { page } = await open();
  const run = agentOf([calls(['send_letter', { to: 'Ada' }])], { tools: [letter()] }).run('Write, never');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();

  expect((await run).status).toBe('cancelled');
  await page.getByTestId('status').filter({ hasText: 'cancelled' }).waitFor();
});

test.skipIf(noChromium)('no key opens what has no button: an event to a run that is over', async () => {
  const { page } = await open();
  await agentOf(['Done.'], {}).run('Be done');
  await page.locator('.answer-text').getByText('Done.').waitFor();
  await page.keyboard.press('e');
  await page.keyboard.press('?');
  expect(await page.getByRole('dialog').getByRole('heading').allTextContents()).toEqual(['Keys and signs']);
});

test.skipIf(noChromium)('an event that a waiting call accepts is offered and can be sent', async () => {
  const { page } = await open();
  const run = agentOf([calls(['send_letter', { to: 'Ada' }], ['send_letter', { to: 'Bob' }]), 'Then not.'], {
    tools: [letter()],
  }).run('Write, by event');
  await page.getByRole('button', { name: 'Approve', exact: true }).nth(1).waitFor();
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog');
  const option = dialog.getByLabel('To').locator('option');
  await option.first().waitFor({ state: 'attached' });
  const names = await option.allTextContents();
  expect(names[0]).toBe('clerk');
  expect(names).toEqual(
    expect.arrayContaining([
      'clerk › send_letter (agent/c1)',
      'clerk › send_letter (agent/c2)',
      'clerk › loopDetection',
    ]),
  );
  await dialog.getByLabel('To').selectOption('agent/c1');
  await dialog.getByRole('button', { name: 'approval.refused' }).click();
  await dialog.getByLabel('reason').fill('by event');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await run.approve('c2');

  await run;
  expect(run.recording()).toContain('{"type":"approval.refused","reason":"by event"},"to":"agent/c1"');
});

test.skipIf(noChromium)('tokens stream into the conversation before the reply is there', async () => {
  const { page } = await open();
  const finished = new AbortController();
  const run = createAgent({
    name: 'slow',
    silent: true,
    streaming: true,
    inspect: inspector(),
    model: {
      id: 'slow',
      complete: async (_, { onToken }) => {
        while (!finished.signal.aborted) {
          onToken?.({ kind: 'text', text: 'and on ' });
          await nextTick(5);
        }
        return { content: 'That was long.' };
      },
    },
  }).run('Say something long');
  const streaming = page.getByTestId('streaming');
  await streaming.getByText('and on and on', { exact: false }).waitFor();

  finished.abort();
  await run;
  await page.locator('.answer-text').getByText('That was long.').waitFor();
  expect(await streaming.count()).toBe(0);
});

test.skipIf(noChromium)(
  'of a long reply the end is shown while it comes, and from its beginning once it is there',
  async () => {
    const { page } = await open();
    const answer = Array.from({ length: 500 }, (_, line) => `line ${line}\n`).join('');
    const finished = Promise.withResolvers<ModelReply>();
    const run = agentOf([], {
      model: {
        id: 'long',
        complete: (_, { onToken }) => {
          onToken?.({ kind: 'text', text: answer });
          return finished.promise;
        },
      },
    }).run('Count to 500');
    const streaming = page.getByTestId('streaming');
    await streaming.getByText('line 499').waitFor();
    await expect.poll(() => streaming.textContent()).toMatch(/^show more \(3,000 characters\)/);

    await streaming.getByRole('button').click();
    await expect.poll(() => streaming.textContent()).toMatch(/^line 0\n[^]*line 499/);

    finished.resolve({ content: answer });
    await run;
    const answered = page.locator('.answer-text');
    await answered.getByText('line 0\n').waitFor();
    expect(await answered.textContent()).not.toContain('line 499');
  },
);

test.skipIf(noChromium)('a call says how far it is as long as it runs', async () => {
  const { page } = await open();
  const work = Promise.withResolvers<ExecuteContext['reportProgress']>();
  const done = Promise.withResolvers<string>();
  const copy = makeTool({
    name: 'copy',
    description: 'Copies files.',
    execute: (_args, { reportProgress }) => (work.resolve(reportProgress), done.promise),
  });
  const run = agentOf([calls(['copy']), 'Copied.'], { tools: [copy] }).run('Copy the files');
  const report = await work.promise;
  // A page that comes later is told only what comes later.
  const reports = setInterval(() => report({ progress: 3, total: 10, message: 'c.ts' }), 200);
  await page.getByText('3 of 10: c.ts').waitFor();
  clearInterval(reports);
  done.resolve('copied');
  await run;
  await page.locator('.answer-text').getByText('Copied.').waitFor();
  expect(await page.getByText('3 of 10: c.ts').count()).toBe(0);
});

test.skipIf(noChromium)('a person talks to an agent while it works, and sees when it is read', async () => {
  const { page, problems } = await open();
  const work = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let looked = 0;
  const look = makeTool({
    name: 'look',
    description: 'Looks at the thermometer.',
    execute: () => work[looked++]?.promise,
  });
  const replies = [calls(['look']), 'In Fahrenheit: 48.', calls(['look']), 'Nine degrees.', 'Ten.'];
  const agent = agentOf(replies, { tools: [look] });
  const box = page.getByRole('textbox', { name: 'Message to the agent' });
  const entry = page.locator('[data-kind="message"]');

  const first = agent.run('How warm is it?');
  await box.fill('In Fahrenheit, please.');
  await page.getByRole('button', { name: 'Steer', exact: true }).click();
  await entry.getByText('You, for the next step').waitFor();
  expect(await box.inputValue()).toBe('');
  work[0]?.resolve('9 °C');
  await entry.getByText('You, read in step 2').waitFor();
  expect(await first).toMatchObject({ result: 'In Fahrenheit: 48.' });
  // A run that is over takes no more messages.
  await expect.poll(() => box.count()).toBe(0);

  agent.run('And in the sun?');
  await box.fill('And tomorrow?');
  await page.getByRole('button', { name: 'Queue', exact: true }).click();
  await entry.getByText('You, for the next run').waitFor();
  work[1]?.resolve('9 °C');
  await page.locator('.answer-text').getByText('Ten.').waitFor();
  await expect.poll(() => page.locator('[data-kind="task"]').textContent()).toContain('And tomorrow?');
  expect(problems).toEqual([]);
});
