// Drives one run, and prints what it does: each event's type, what tools did, and the result. Argument: a `Driving` as JSON.
import { createAgent } from '../../../../src/agent/create-agent.ts';
import { tool } from '../../../../src/tools/tool.ts';
import { openStore } from '../../../journal/open-store.ts';
import { lastOf } from '../driving.ts';
import type { Driving } from '../driving.ts';

const { kind, place, runId, task }: Driving = JSON.parse(process.argv[2] ?? '{}');
const say = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

let turn = 0;
const agent = createAgent({
  name: 'driven',
  silent: true,
  confirm: 'wait',
  journal: openStore(kind, place),
  tools: [
    tool({
      name: 'pay',
      description: 'Pays.',
      policy: 'confirm',
      inputSchema: { type: 'object', properties: { euros: { type: 'number' } } },
      execute: async (args) => {
        say({ paid: args });
        return 'paid';
      },
    }),
    tool({
      name: 'wait_for_word',
      description: 'Waits.',
      effects: 'none',
      inputSchema: { type: 'object', properties: { turn: { type: 'number' } } },
      execute: () => new Promise((resolve) => setTimeout(() => resolve('nothing yet'), 50)),
    }),
  ],
  maxSteps: 400,
  model: {
    id: 'driven',
    complete: async ({ messages }) => {
      const { last, isFirst } = lastOf(messages);
      if (task === 'pay' && isFirst) return { content: '', toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] };
      if (task === 'listen' && last !== 'stop')
        return { content: '', toolCalls: [{ name: 'wait_for_word', arguments: { turn: ++turn } }] };
      return { content: `Heard: ${last}` };
    },
  },
});
// A run that waits keeps no process alive.
const alive = setInterval(() => undefined, 1000);
const run = agent.run(task, { runId });
for await (const event of run) say({ type: event.type });
const { status, result } = await run;
say({ status, result });
clearInterval(alive);
