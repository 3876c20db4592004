// Runs an agent on Postgres: a tool that prints `holding` and waits for a line, then the answer. Prints how the run ended.
// With the policy `confirm` it prints `holding` when the tool waits for an approval.
import { createInterface } from 'node:readline';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { postgresJournal } from '../../../src/journal/postgres/index.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';

const [url = '', schema = '', runId = '', leaseMs = '', policy = 'allow'] = process.argv.slice(2);
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const agent = createAgent({
  name: 'holder',
  model: scriptedModel([calls(['hold']), 'Done.']),
  tools: [
    tool({
      name: 'hold',
      description: 'Holds.',
      effects: 'idempotent',
      policy: policy === 'confirm' ? 'confirm' : 'allow',
      execute: async () => {
        console.log('holding');
        await lines.next();
        return 'held';
      },
    }),
  ],
  journal: postgresJournal(url, { schema, leaseMs: Number(leaseMs), patienceMs: 10_000 }),
  silent: true,
  confirm: 'wait',
  onEvent: ({ type }) => {
    if (type === 'approval.requested') console.log('holding');
  },
});
const { status, error } = await agent.run('Hold', { runId });
console.log(JSON.stringify({ status, code: error?.code ?? null }));
process.exit(0);
