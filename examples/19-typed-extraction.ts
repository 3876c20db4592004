// An answer with a type, beside tools: the model looks prices up, then gives an order as a value. Its first try does not
// add up, and is corrected; the events show the order while it arrives.
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const PRICES = new Map([
  ['kettle', 30],
  ['lamp', 45],
]);

const price = tool({
  name: 'price',
  description: 'The price of an article in euros.',
  inputSchema: z.object({ article: z.enum(['kettle', 'lamp']) }),
  effects: 'none',
  execute: ({ article }) => PRICES.get(article),
});

const Order = z.object({
  customer: z.string(),
  items: z.array(z.object({ article: z.string(), count: z.int().positive(), euros: z.number() })),
  total: z.number(),
  express: z.boolean().optional(),
});

const items = [
  { article: 'kettle', count: '2', euros: 30 },
  { article: 'lamp', count: 1, euros: 45 },
];
const model = scriptedModel([
  {
    content: '',
    toolCalls: ['kettle', 'lamp'].map((article) => ({ name: 'price', arguments: { article } })),
  },
  { content: '', toolCalls: [{ name: 'final_answer', arguments: { customer: 'Ada', items, total: 75 } }] },
  // A small model that writes it as text, in a code block with a comma too many.
  `\`\`\`json\n{"customer": "Ada", "items": ${JSON.stringify(items)}, "total": 105, "express": true,}\n\`\`\``,
]);

const agent = createAgent({
  instructions: 'You read orders out of mails. Look prices up.',
  model,
  tools: [price],
  silent: true,
  streaming: true,
  outputSchema: Order,
  checkOutput: ({ items: ordered, total }) => {
    const sum = ordered.reduce((before, { count, euros }) => before + count * euros, 0);
    if (sum !== total) throw new Error(`the items cost ${sum} euros, and the total says ${total}`);
  },
});

const run = agent.run('Mail from Ada: two kettles and a lamp, please, as fast as you can.');
let partials = 0;
for await (const event of run) {
  if (event.type === 'tool.finished' && event.ok) console.log(`price: ${JSON.stringify(event.result.data)}`);
  if (event.type === 'output.partial') partials += 1;
}

const { output, errorHistory, stepsTaken } = await run;
for (const { message } of errorHistory) console.log(`corrected: ${message}`);
for (const { article, count, euros } of output?.items ?? [])
  console.log(`${count} × ${article}: ${count * euros} euros`);
console.log(`${output?.customer} pays ${output?.total} euros${output?.express === true ? ', express' : ''}.`);
console.log(`${stepsTaken} steps; the order was shown while it arrived: ${partials > 1}`);

// A schema for one run: a list, of which each element is an event once it is whole.
const cities = createAgent({
  model: scriptedModel(['[{"city": "Oslo"}, {"city": "Rome"}]']),
  silent: true,
  streaming: true,
});
const named = cities.run('Two cities.', { outputSchema: z.array(z.object({ city: z.string() })) });
for await (const event of named) if (event.type === 'output.element') console.log(event.index, event.element);
console.log((await named.orThrow()).map(({ city }) => city).join(' and '));
