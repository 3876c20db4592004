import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Page, chromium } from 'playwright-core';
import { createActor, setup } from 'xstate';
import { z } from 'zod';
import { createAgent } from '../src/agent/create-agent.ts';
import type { ScriptedReply } from '../src/testing/scripted-model.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { createInspector } from '../src/inspector/create-inspector.ts';
import { recover } from '../src/recovery/recover.ts';
import { tool } from '../src/tools/tool.ts';
import { chromiumPath as executablePath } from '../test/support/chromium-path.ts';
import { buildPage } from './build-page.ts';

// Takes the pictures of the inspector for README and docs, of real runs in a real browser: docs/images/*.png.
const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
const built = fileURLToPath(new URL('../node_modules/.cache/signalbox-screenshots', import.meta.url));
if (executablePath === undefined) throw new Error('No Chromium was found. Set CHROMIUM to its path.');
mkdirSync(images, { recursive: true });
await buildPage(built);
const inspector = await createInspector({ page: built });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

const calm = clerk({ locked: 0, waits: false }).run('Thank Ada for her orders by letter');
await calm;
await picture('chart', 'dark', async (page) => {
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('[');
});
const stormy = clerk({ locked: 2, waits: false }).run('Thank Ada for her orders by letter');
await stormy;
await picture('timeline', 'light', async (page) => {
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('Home');
  for (let mark = 0; mark < 3; mark++) await page.keyboard.press(']');
  await page.keyboard.press('ArrowRight');
});
await picture('comparison', 'dark', async (page) => {
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('6');
  await page.getByRole('tabpanel').locator('select').selectOption(calm.runId);
  await page.getByText('The first difference is at').waitFor();
  await page.getByRole('button', { name: 'Go there' }).click();
});
const waiting = clerk({ locked: 0, waits: true }).run('Thank Ada for her orders by letter, but ask me first');
await picture('approval', 'dark', async (page) => {
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.locator('.approval').evaluate((one) => one.scrollIntoView({ block: 'end' }));
});
await waiting.cancel();
const patient = clerk({ locked: 0, waits: true }).run('Thank Grace for her orders by letter, but ask me first');
const second = clerk({ locked: 0, waits: true }).run('Thank Mary for her orders by letter, but ask me first');
await picture('inbox', 'dark', async (page) => {
  await page.getByTestId('inbox').getByText('2 calls wait').waitFor();
  await page.locator('.run-picker').click();
});
await patient.cancel();
await second.cancel();
await picture('fork', 'light', async (page) => {
  await page.locator('.run-picker').click();
  await page.locator('.session-row', { hasText: 'by letter' }).last().click();
  await page.locator('.answer-text').waitFor();
  await page.keyboard.press('Home');
  for (let mark = 0; mark < 2; mark++) await page.keyboard.press(']');
  await page.getByRole('button', { name: 'Reply differently…' }).last().click();
  await page.getByRole('button', { name: 'Add a call' }).click();
  await page.getByLabel('Tool of call').last().selectOption('get_weather');
  await page.getByLabel('city').last().fill('Paris');
  await page.getByRole('group', { name: 'Call 4' }).evaluate((form) => {
    const list = form.closest('.scroll');
    list?.scrollBy(0, form.getBoundingClientRect().top - list.getBoundingClientRect().top - 8);
  });
});
const door = createActor(doorMachine(), { id: 'door', inspect: inspector.inspect }).start();
door.send({ type: 'key.turned' });
door.send({ type: 'door.opened' });
await picture('why-not', 'light', async (page) => {
  await page.getByTestId('ignored').waitFor();
});
door.stop();
const tower = chief().run('Find out how Ada is doing, and pay her back');
await picture('children', 'dark', async (page) => {
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.locator('.entry .speaker').first().waitFor();
});
await tower.cancel();
const shop = createActor(shopMachine(), { id: 'shop', inspect: inspector.inspect }).start();
await picture('send', 'light', async (page) => {
  await page.keyboard.press('e');
  await page.getByRole('button', { name: 'order.placed' }).click();
  await page.getByLabel('quantity').fill('120');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
});
shop.stop();
await browser.close();
await inspector.close();

/** Opens the page, brings it to where it is worth a picture, and takes it. */
async function picture(
  name: string,
  colorScheme: 'dark' | 'light',
  arrange: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    deviceScaleFactor: 1.25,
  });
  const page = await context.newPage();
  await page.goto(inspector.url);
  await page.locator('[data-state].active').first().waitFor();
  await arrange(page);
  // Details are read after a moment, and a picture shows the page at rest.
  await page.waitForTimeout(900);
  await page.screenshot({ path: `${images}${name}.png` });
  await context.close();
}

/** A door that is locked until somebody knows the code: what it ignores, and why, is what the picture is about. */
function doorMachine() {
  return setup({
    types: { context: {} as { readonly tries: number; readonly knowsCode: boolean } },
    guards: {
      knowsCode: ({ context }) => context.knowsCode,
      triedTooOften: ({ context }) => context.tries > 2,
    },
    actions: { ringTheBell: () => {} },
  }).createMachine({
    id: 'door',
    type: 'parallel',
    context: { tries: 1, knowsCode: false },
    states: {
      lock: {
        initial: 'LOCKED',
        states: {
          LOCKED: {
            on: {
              'door.opened': [
                { guard: 'knowsCode', target: 'OPEN' },
                { guard: 'triedTooOften', target: 'BARRED', actions: 'ringTheBell' },
              ],
            },
          },
          OPEN: { on: { 'door.shut': 'LOCKED' } },
          BARRED: { after: { 60_000: 'LOCKED' } },
        },
      },
      light: {
        initial: 'OFF',
        states: {
          OFF: { on: { 'key.turned': 'ON' } },
          ON: {
            initial: 'DIM',
            states: { DIM: { on: { 'key.turned': 'BRIGHT' } }, BRIGHT: {}, back: { type: 'history' } },
          },
        },
      },
    },
  });
}

/** A machine of no agent that says what its events carry. */
function shopMachine() {
  const order = z.object({
    product: z.enum(['tea', 'coffee', 'cocoa']).describe('What is ordered.'),
    quantity: z.int().min(1).max(99).describe('How many packets.'),
    gift: z.boolean().default(false).describe('Wrapped, with a card.'),
    email: z.email().optional().describe('Where the receipt goes.'),
  });
  return setup({ schemas: { events: { 'order.placed': order } } }).createMachine({
    id: 'shop',
    initial: 'OPEN',
    states: {
      OPEN: { on: { 'order.placed': 'PACKING', 'shop.closed': 'SHUT' } },
      PACKING: { on: { 'order.shipped': 'OPEN' } },
      SHUT: { on: { 'shop.opened': 'OPEN' } },
    },
  });
}

/** An agent over a small shop. `locked`: how often its database is busy first. */
function clerk({ locked, waits }: { readonly locked: number; readonly waits: boolean }) {
  let busy = locked;
  const name = z.object({ name: z.string() });
  const findCustomer = tool({
    name: 'find_customer',
    description: 'Finds a customer by name.',
    inputSchema: name,
    effects: 'none',
    execute: async () => ({ ...(await later(120)), id: 7, name: 'Ada Lovelace', city: 'London' }),
  });
  const sumOrders = tool({
    name: 'sum_orders',
    description: 'Sums what a customer has spent.',
    inputSchema: z.object({ customer_id: z.int() }),
    effects: 'none',
    onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(200) }) },
    execute: async () => {
      await later(80);
      if (busy-- > 0) throw new Error('SQLITE_BUSY: database is locked');
      return { orders: 2, cents: 11_150 };
    },
  });
  const sendLetter = tool({
    name: 'send_letter',
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: z.object({ to: z.string(), body: z.string() }),
    execute: async () => ({ ...(await later(150)), sent: true }),
  });
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    effects: 'none',
    execute: async ({ city }) => ({ ...(await later(city === 'London' ? 240 : 320)), city, celsius: 14 }),
  });
  return createAgent({
    name: 'clerk',
    model: scriptedModel(script(locked > 0)),
    tools: [findCustomer, sumOrders, sendLetter, weather],
    confirm: waits ? 'wait' : async () => (await later(900), 'allow-once' as const),
    streaming: true,
    silent: true,
    inspect: inspector,
  });
}

/** An agent with two below it, of which one pays. */
function chief() {
  const asked = (name: string, task: string): ScriptedReply => ({
    content: '',
    toolCalls: [{ name, arguments: { task } }],
  });
  const silent = true;
  const pay = tool({
    name: 'pay_back',
    description: 'Pays money back.',
    policy: 'confirm',
    inputSchema: z.object({ to: z.string(), cents: z.int() }),
    execute: async () => ({ paid: true }),
  });
  const bank = createAgent({
    name: 'bank',
    description: 'Moves money.',
    model: scriptedModel([
      async () => ({
        ...(await later(260)),
        content: '',
        toolCalls: [{ name: 'pay_back', arguments: { to: 'Ada Lovelace', cents: 11_150 } }],
      }),
    ]),
    tools: [pay],
    confirm: 'wait',
    silent,
  });
  const office = createAgent({
    name: 'office',
    description: 'Knows customers.',
    model: scriptedModel([asked('bank', 'Pay Ada Lovelace 111.50 back.')]),
    children: [bank],
    silent,
  });
  const model = scriptedModel([asked('office', 'Pay Ada back what she has spent.')]);
  return createAgent({ name: 'chief', model, children: [office], silent, inspect: inspector });
}

function script(recovers: boolean): readonly ScriptedReply[] {
  const plan = [
    { tool: 'find_customer', tool_args: { name: 'Ada' } },
    { tool: 'sum_orders', tool_args: { customer_id: '$PREV.id' } },
  ];
  const planned = { thought: 'First the customer, then what she has spent.', goal: 'A letter to Ada', plan };
  const again = { thought: 'The orders were locked. Once more.', tool: 'sum_orders', tool_args: { customer_id: 7 } };
  const letter = { to: 'Ada Lovelace', body: 'Dear Ada, thank you for two orders worth 111.50.' };
  return [
    said(`\`\`\`json\n${JSON.stringify(planned).slice(0, -1)},}\n\`\`\``, { ms: 420, tokens: [812, 96] }),
    ...(recovers ? [said(JSON.stringify(again), { ms: 300, tokens: [1290, 40] })] : []),
    async () => ({
      ...(await later(460)),
      content: '',
      toolCalls: [
        { name: 'send_letter', arguments: letter },
        { name: 'get_weather', arguments: { city: 'London' } },
        { name: 'get_weather', arguments: { city: 'Oslo' } },
      ],
      usage: { inputTokens: 1702, outputTokens: 120, totalTokens: 1822 },
    }),
    said('{"thought":"All is done.","answer":"The letter is on its way: 2 orders, 111.50 in all."}', {
      ms: 380,
      tokens: [2004, 61],
    }),
  ];
}

function said(
  content: string,
  { ms, tokens: [inputTokens, outputTokens] }: { readonly ms: number; readonly tokens: readonly [number, number] },
): ScriptedReply {
  const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
  return async () => ({ ...(await later(ms)), content, usage });
}

/** Models and tools take their time; without it there would be nothing to see on a timeline. */
async function later(ms: number): Promise<object> {
  await wait(ms);
  return {};
}
