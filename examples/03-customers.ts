// A plan over a customer database (node:sqlite): the model names all steps at once, `$PREV.field` and `$STEP_0.field` pass
// results from step to step, and no model turn happens in between.
import { DatabaseSync } from 'node:sqlite';
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const db = new DatabaseSync(':memory:');
db.exec(`
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, item TEXT, cents INTEGER);
  INSERT INTO customers VALUES (7, 'Ada Lovelace', 'London'), (8, 'Alan Turing', 'Manchester');
  INSERT INTO orders VALUES (1, 7, 'punch cards', 1250), (2, 7, 'brass wheels', 9900), (3, 8, 'paper tape', 400);
`);

const findCustomer = tool({
  name: 'find_customer',
  description: 'Finds a customer by name and gives id, name and city.',
  inputSchema: z.object({ name: z.string() }),
  effects: 'none',
  execute: ({ name }) =>
    db.prepare('SELECT * FROM customers WHERE name LIKE ?').get(`%${name}%`) ?? {
      status: 'error',
      error: `No customer is called ${name}.`,
    },
});

const sumOrders = tool({
  name: 'sum_orders',
  description: 'How many orders a customer has placed, and their total in cents.',
  inputSchema: z.object({ customer_id: z.int() }),
  effects: 'none',
  execute: ({ customer_id }) =>
    db.prepare('SELECT count(*) AS orders, sum(cents) AS cents FROM orders WHERE customer_id = ?').get(customer_id),
});

const draftLetter = tool({
  name: 'draft_letter',
  description: 'Drafts a letter to a customer about what they have spent.',
  inputSchema: z.object({ to: z.string(), city: z.string(), cents: z.int() }),
  execute: ({ to, city, cents }) =>
    `Dear ${to} of ${city}, you have spent ${(cents / 100).toFixed(2)} with us. Thank you!`,
});

const plan = [
  { tool: 'find_customer', tool_args: { name: 'Ada' } },
  { tool: 'sum_orders', tool_args: { customer_id: '$PREV.id' } },
  { tool: 'draft_letter', tool_args: { to: '$STEP_0.name', city: '$STEP_0.city', cents: '$PREV.cents' } },
];
const script = scriptedModel([
  { content: '', toolCalls: [{ name: 'make_plan', arguments: { plan } }] },
  'The letter to Ada is ready.',
]);

const agent = createAgent({
  name: 'sales',
  model: process.env.SIGNALBOX_MODEL ?? script,
  tools: [findCustomer, sumOrders, draftLetter],
});

const run = agent.run('Thank Ada for what she has bought from us.');
for await (const event of run) {
  if (event.type === 'tool.finished') console.log(`${event.tool}: ${JSON.stringify(event.result.data)}`);
}
const { result, states, stepsTaken } = await run;
console.log(`${result} (${stepsTaken} steps: ${states.join(' → ')})`);
