import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ModelTool } from '../../../src/actors/model.ts';
import { startPracticeModel, type PracticeModel } from '../../../src/cli/practice/start-practice-model.ts';
import type { JsonObject } from '../../../src/json/json.ts';
import { workThrough, type Workshop } from './work-through.ts';

let practice: PracticeModel;
beforeAll(async () => {
  practice = await startPracticeModel();
});
afterAll(() => practice.close());

const tool = (
  name: string,
  description: string,
  properties: JsonObject,
  required = Object.keys(properties),
): ModelTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required },
});
const text = { type: 'string' };
const number = { type: 'number' };

const shop: Workshop = {
  tools: [
    tool(
      'get_weather',
      'Current weather. Use it whenever the user asks about conditions in a city.',
      {
        city: text,
        units: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      },
      ['city'],
    ),
    tool('calculator', 'Evaluates an arithmetic expression.', { expression: text }),
    tool('convert_currency', 'Converts an amount between currencies.', { amount: number, from: text, to: text }),
    tool('send_email', 'Sends an email.', { to_email: text, subject: text }),
    tool('delete_order', 'Deletes an order.', { order_id: { type: 'integer' } }),
    tool('get_order', 'Status of an order.', { order_id: { type: 'integer' } }),
    tool('list_reminders', 'Lists all reminders.', {}),
  ],
  run: (name, args) => Promise.resolve(name === 'list_reminders' ? ['milk', 'bread'] : { ran: name, ...args }),
};

test.each([
  ['What is the weather in Austin?', 'get_weather', { city: 'Austin' }],
  ['How is the weather in New York, in fahrenheit units?', 'get_weather', { city: 'New York', units: 'fahrenheit' }],
  ['Use the calculator: what is 12 * (3 + 4)?', 'calculator', { expression: '12 * (3 + 4)' }],
  ['Convert 100 USD to EUR', 'convert_currency', { amount: 100, from: 'USD', to: 'EUR' }],
  ['Send an email to ann@example.org about "lunch"', 'send_email', { to_email: 'ann@example.org', subject: 'lunch' }],
  ['What is the status of order 42?', 'get_order', { order_id: 42 }],
  ['Please delete order 42', 'delete_order', { order_id: 42 }],
  ['get_order 7', 'get_order', { order_id: 7 }],
  ['Which reminders do I have?', 'list_reminders', {}],
])('%s', async (question, name, args) => {
  for (const mode of ['native', 'json'] as const) {
    expect((await workThrough(practice.model, question, shop, { mode })).calls, mode).toEqual([[name, args]]);
  }
});

test('the answer tells what the tool gave', async () => {
  const order = await workThrough(practice.model, 'What is the status of order 42?', shop);
  expect(order.answer).toBe('`get_order` says: ran get_order, order_id 42.');
  const reminders = await workThrough(practice.model, 'Which reminders do I have?', shop);
  expect(reminders.answer).toBe('`list_reminders` lists 2: milk; bread.');
});

test('what the question does not say is asked for, not made up', async () => {
  const { answer, calls } = await workThrough(practice.model, 'What is the weather?', shop);
  expect(calls).toEqual([]);
  expect(answer).toContain('I need `city`');
});

test('a sum is worked out by whichever tool calculates', async () => {
  const { calls } = await workThrough(practice.model, 'What is 2 + 3?', shop);
  expect(calls).toEqual([['calculator', { expression: '2 + 3' }]]);
  const operation = { type: 'string', enum: ['add', 'multiply'] };
  const maths = { ...shop, tools: [tool('maths', 'Does arithmetic.', { operation, a: number, b: number })] };
  expect((await workThrough(practice.model, 'What is 2 * 3?', maths)).calls).toEqual([
    ['maths', { operation: 'multiply', a: 2, b: 3 }],
  ]);
});

test('a tool that fails is told, and not called again', async () => {
  const broken = { ...shop, run: () => Promise.reject(new Error('no connection')) };
  const { answer, calls } = await workThrough(practice.model, 'What is the weather in Austin?', broken);
  expect(calls).toHaveLength(1);
  expect(answer).toContain('`get_weather` failed: Tool execution failed: no connection.');
});

test.each([
  ['Hello!', /practice model.*no LLM/],
  ['Who are you?', /signalbox-practice, a rule-based stand-in and no LLM/],
  ['Why is the sky blue?', /I cannot answer that: I am only the practice model/],
])('%s is answered frankly', async (question, expected) => {
  const { answer, calls } = await workThrough(practice.model, question, shop);
  expect(calls).toEqual([]);
  expect(answer).toMatch(expected);
});

test('a plan on request comes as a plan, in the form asked for', async () => {
  const question = 'plan: get the weather in Austin then get the status of order 42';
  const steps = [
    { tool: 'get_weather', tool_args: { city: 'Austin' } },
    { tool: 'get_order', tool_args: { order_id: 42 } },
  ];
  const planner = tool('make_plan', 'Makes a plan.', { plan: { type: 'array', items: { type: 'object' } } });
  const native = await practice.model.complete(
    {
      messages: [{ role: 'user', content: question }],
      toolCalling: 'native',
      tools: [...shop.tools, planner],
      stream: false,
    },
    { signal: new AbortController().signal },
  );
  expect(native.toolCalls).toEqual([{ id: 'call_0_0', name: 'make_plan', arguments: JSON.stringify({ plan: steps }) }]);
  const json = await workThrough(practice.model, question, shop, { mode: 'json' });
  expect(JSON.parse(json.replies[0]?.content ?? '')).toMatchObject({ plan: steps });
});
