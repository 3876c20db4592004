// Tool errors that are repaired before the model sees them: wrong arguments are fixed, a flaky service is called again, the
// result of a dead one is substituted. Each step is a state of the call's machine, a record and an event.
import { createAgent, recover, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

let tries = 0;
const rate = tool({
  name: 'exchange_rate',
  description: 'The exchange rate of two currencies.',
  inputSchema: z.object({ from: z.enum(['EUR', 'USD']), to: z.enum(['EUR', 'USD']) }),
  effects: 'none',
  execute: () => {
    tries += 1;
    if (tries < 3) throw new Error('the service is busy');
    return 1.25;
  },
  onError: {
    deserializationError: recover.fix(fromPair),
    executionError: recover.retry({ maxAttempts: 3, backoff: recover.constant(5) }),
  },
});

const news = tool({
  name: 'news',
  description: 'The news about a currency.',
  effects: 'none',
  execute: () => {
    throw new Error('the service is down');
  },
  onError: { executionError: recover.substitute(() => 'no news today') },
});

const model = scriptedModel([
  {
    content: '',
    toolCalls: [{ name: 'exchange_rate', arguments: { pair: 'EUR/USD' } }, { name: 'news' }],
  },
  'One euro is 1.25 dollars, and there is no news.',
]);

const run = createAgent({ model, tools: [rate, news], parallelToolCalls: false }).run('How does the euro stand?');
for await (const event of run) {
  if (event.type === 'recovery.step') console.log(`  ${event.tool}: ${event.step} (${event.attempt})`);
  if (event.type === 'tool.finished') console.log(`${event.tool}: ${JSON.stringify(event.result.data)}`);
}
const { result, errorHistory } = await run;
console.log(`${result} (${errorHistory.length} errors reached the model)`);

/** Models like to write a pair of currencies as one word. */
function fromPair(text: string) {
  const [, from, to] = /(EUR|USD)\/(EUR|USD)/.exec(text) ?? [];
  return from === undefined || to === undefined ? null : { from, to };
}
