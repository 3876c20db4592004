import type { Page } from 'playwright-core';
import { assign, createActor, setup } from 'xstate';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { framesOf } from '../inspector/frames-of.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

const order = z.object({
  product: z.enum(['tea', 'coffee']).describe('What is ordered.'),
  quantity: z.int().min(1).max(99),
  gift: z.boolean().default(false),
  note: z.string().max(500).optional(),
  address: z.object({ city: z.string() }).optional(),
});

/** A machine of somebody else that says what its events carry. */
const shop = setup({
  types: { context: {} as { readonly orders: readonly unknown[] } },
  schemas: { events: { 'order.placed': order } },
}).createMachine({
  id: 'shop',
  context: { orders: [] },
  initial: 'OPEN',
  states: {
    OPEN: {
      on: {
        'order.placed': {
          target: 'PACKING',
          actions: assign({ orders: ({ context, event }) => [...context.orders, event] }),
        },
        closed: 'SHUT',
      },
    },
    PACKING: { on: { shipped: 'OPEN' } },
    SHUT: {},
  },
});

/** Tab by tab to the control that has this name, as a person without a mouse gets there. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let press = 0; press < 30; press++) {
    await page.keyboard.press('Tab');
    const there = await page.evaluate(() => {
      const { activeElement: one } = document;
      return one instanceof HTMLInputElement || one instanceof HTMLSelectElement || one instanceof HTMLTextAreaElement
        ? (one.labels?.[0]?.textContent ?? '')
        : (one?.textContent ?? '');
    });
    if (there === name) return;
  }
  throw new Error(`No control is called ${name}.`);
}

test.skipIf(noChromium)('an event of any machine is filled in by keyboard, put right, and sent', async () => {
  const actor = createActor(shop, { inspect: inspector().inspect }).start();
  const { page, problems } = await open();
  await page.locator('[data-state="OPEN"].active').waitFor();
  await page.keyboard.press('e');
  await page.getByRole('dialog', { name: 'Send an event' }).waitFor();
  await tabTo(page, 'order.placed');
  await page.keyboard.press('Space');
  await tabTo(page, 'product');
  await page.keyboard.press('t');
  await tabTo(page, 'quantity');
  await page.keyboard.type('100');
  await tabTo(page, 'gift');
  await page.keyboard.press('Space');
  await tabTo(page, 'note');
  await page.keyboard.type('No sugar.');
  await page.keyboard.press('Control+Enter');

  const quantity = page.getByLabel('quantity');
  await page.locator('[aria-invalid="true"]:focus').waitFor();
  expect(await quantity.evaluate((one) => one === document.activeElement)).toBe(true);
  const told = await quantity.evaluate((one) =>
    (one.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent),
  );
  expect(told).toEqual(['whole number, 1 to 99', 'must be at most 99, got 100']);
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('Fix one problem before sending.');
  expect(actor.getSnapshot().value).toBe('OPEN');

  await page.keyboard.press('Backspace');
  await page.keyboard.press('Enter');
  await page.locator('[data-state="PACKING"].active').waitFor();
  expect(actor.getSnapshot().context.orders).toEqual([
    { type: 'order.placed', product: 'tea', quantity: 10, gift: true, note: 'No sugar.' },
  ]);
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(problems).toEqual([]);
  actor.stop();
});

test.skipIf(noChromium)('the fields become JSON and fields again, with all that was written in either', async () => {
  const actor = createActor(shop, { inspect: inspector().inspect }).start();
  const { page } = await open();
  await page.locator('[data-state="OPEN"].active').waitFor();
  await page.keyboard.press('e');
  await page.getByRole('button', { name: 'order.placed' }).click();
  await page.getByLabel('address').fill('{"city": ');
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  await page.getByRole('button', { name: 'Fields', exact: true }).click();
  expect(await page.getByLabel('address').inputValue()).toBe('{"city": ');

  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  const json = page.getByLabel('With (JSON)');
  await json.fill('{"product": "milk", "quantity": 2, "card": "blue"');
  expect(await page.getByRole('button', { name: 'Fields', exact: true }).isDisabled()).toBe(true);
  await json.fill('{"product": "milk", "quantity": 2, "card": "blue"}');
  await page.getByRole('button', { name: 'Fields', exact: true }).click();
  expect(await page.getByLabel('product').inputValue()).toBe('"milk"');
  await expect.poll(() => page.getByRole('dialog').textContent()).toContain('Also, as JSON alone: card');
  await page.getByLabel('product').fill('"coffee"');
  await page.getByRole('button', { name: 'Send', exact: true }).click();

  await page.locator('[data-state="PACKING"].active').waitFor();
  expect(actor.getSnapshot().context.orders).toMatchObject([{ product: 'coffee', quantity: 2 }]);
  actor.stop();
});

test.skipIf(noChromium)('what the server refuses is said in the dialog, and nothing is lost', async () => {
  const actor = createActor(shop, { inspect: inspector().inspect }).start();
  const { page } = await open();
  await page.locator('[data-state="OPEN"].active').waitFor();
  await page.getByRole('button', { name: 'Send an event' }).click();
  await page.getByRole('dialog').getByLabel('Event').fill('nobody.listens');
  await page.getByText('The machine has no transition for it now.').waitFor();
  await page.getByLabel('With (JSON)').fill('{"far": 7}');
  await page.getByRole('button', { name: 'Send', exact: true }).click();

  await page.getByRole('alert').getByText('does not take nobody.listens now', { exact: false }).waitFor();
  expect(await page.getByLabel('With (JSON)').inputValue()).toBe('{"far": 7}');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.locator('[aria-label="Send an event"]:focus').waitFor();
  actor.stop();
});

const letter = () =>
  fakeTool('send_letter', [{ sent: true }], {
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string', description: 'Who gets it.' }, copies: { type: 'integer', minimum: 1 } },
      required: ['to', 'copies'],
    },
  });

const clerk = (options: { readonly tools: readonly ReturnType<typeof letter>[] }) =>
  createAgent({
    name: 'clerk',
    model: scriptedModel([calls(['send_letter', { to: 'Ada', copies: 1 }]), 'Done.']),
    silent: true,
    confirm: 'wait',
    inspect: inspector(),
    ...options,
  });

test.skipIf(noChromium)('an event of an agent has a form: its run is cancelled with a reason', async () => {
  const { page, problems } = await open();
  const run = clerk({ tools: [letter()] }).run('Write, then never mind');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.keyboard.press('e');
  await page.getByRole('button', { name: 'run.cancelled' }).click();
  await page.getByText('Ends the run as cancelled.').waitFor();
  await page.getByRole('dialog').getByLabel('reason').fill('changed my mind');
  await page.keyboard.press('Enter');

  const result = await run;
  expect(result).toMatchObject({ status: 'cancelled', error: { message: 'changed my mind' } });
  await page.getByTestId('status').filter({ hasText: 'cancelled' }).waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'a call that waits is edited by the fields of its tool, and approved when they fit',
  async () => {
    const { page, problems } = await open();
    const run = clerk({ tools: [letter()] }).run('Write, edited by fields');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.locator('input:focus').waitFor();
    expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('Ada');
    await page.getByLabel('copies').fill('0');
    expect(await page.getByRole('button', { name: 'Approve with edits' }).isDisabled()).toBe(true);
    await page.getByText('must be at least 1, got 0').waitFor();
    await page.getByLabel('copies').fill('3');
    await page.getByRole('button', { name: 'Approve with edits' }).click();

    await run;
    expect(run.recording()).toContain('"args":{"to":"Ada","copies":3}},"to":"agent/c1"');
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'what comes while somebody fills in a field does not push it out of sight, and what was written outlives scrolling',
  async () => {
    const { page } = await open();
    const { promise: seen, resolve: see } = Promise.withResolvers<void>();
    const look = fakeTool('look', [async () => (await seen, { lines: 'line\n'.repeat(40) })], {
      inputSchema: { type: 'object' },
    });
    const looks = [['look', {}] as const];
    const model = scriptedModel([calls(['send_letter', { to: 'Ada', copies: 1 }], ...looks), 'Done.']);
    const tools = [letter(), look];
    const run = createAgent({ model, tools, confirm: 'wait', silent: true, inspect: inspector() }).run(
      'Write, and look',
    );
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const field = page.getByLabel('copies');
    await field.click();
    see();
    let looked = 0;
    for await (const { type } of run) if (type === 'tool.finished' && ++looked === 1) break;
    const moves = framesOf(readRecording(run.recording()), { id: '', version: '' }).filter(
      ({ t }) => t === 'step',
    ).length;
    await page.getByTestId('readout').getByText(`${moves} of ${moves}`, { exact: false }).waitFor();

    await page.keyboard.press('Backspace');
    await page.keyboard.type('2');
    const { top, bottom } = await field.evaluate((one) => {
      const list = one.closest('[role="list"]')?.getBoundingClientRect();
      const own = one.getBoundingClientRect();
      return { top: own.top - (list?.top ?? 0), bottom: (list?.bottom ?? 0) - own.bottom };
    });
    expect(top).toBeGreaterThanOrEqual(0);
    expect(bottom).toBeGreaterThanOrEqual(0);
    await page.getByLabel('Reason for rejecting').fill('or rather not');
    const list = page.getByRole('list', { name: 'Conversation' });
    await list.evaluate((one) => (one.scrollTop = one.scrollHeight));
    await field.waitFor({ state: 'detached' });
    await list.evaluate((one) => (one.scrollTop = 0));
    await field.waitFor();
    expect(await field.inputValue()).toBe('2');
    expect(await page.getByLabel('Reason for rejecting').inputValue()).toBe('or rather not');
    await page.getByRole('button', { name: 'Approve with edits' }).click();
    await run;
    expect(run.recording()).toContain('"copies":2');
  },
);

test.skipIf(noChromium)('on a phone neither form sticks out, and Send is in sight', async () => {
  const { page } = await open({ width: 390, height: 844, scheme: 'light' });
  const run = clerk({ tools: [letter()] }).run('Write, on a phone');
  await page.getByRole('button', { name: 'Conversation' }).click();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('copies').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);

  await page.getByRole('button', { name: 'Send an event' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'tools.changed' }).click();
  await dialog.getByLabel('toolset').waitFor();
  expect(await dialog.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
  const send = await dialog.getByRole('button', { name: 'Send', exact: true }).boundingBox();
  expect((send?.y ?? 844) + (send?.height ?? 0)).toBeLessThan(844);
  await run.cancel();
});
