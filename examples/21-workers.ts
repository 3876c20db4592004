// Workers that share one Postgres: each finishes its own runs and those of workers that died. Start it several times, and kill any.
//
//   signalbox journal migrate postgres://localhost/app
//   node --conditions=@signalbox/source examples/21-workers.ts postgres://localhost/app [number of runs]
import { createAgent, tool, type Model } from 'signalbox';
import { postgresJournal } from 'signalbox/journal/postgres';

const [url, count = '3'] = process.argv.slice(2);
if (url === undefined) {
  console.log('Give the URL of a Postgres database.');
  process.exit(0);
}

const journal = postgresJournal(url, { leaseMs: 3000, migrate: true });
const prepare = tool({
  name: 'prepare',
  description: 'Prepares an order.',
  effects: 'idempotent',
  execute: () => new Promise((resolve) => setTimeout(() => resolve('prepared'), 300)),
});
// Stands for a real one: asks for the tool once, then answers.
const model: Model = {
  id: 'scripted',
  complete: async ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { content: 'Done.' }
      : { content: '', toolCalls: [{ name: 'prepare', arguments: {} }] },
};
const agent = createAgent({ name: 'worker', model, tools: [prepare], journal, silent: true });

// Its own work.
await Promise.all(
  Array.from({ length: Number(count) }, async () => {
    const { runId, status } = await agent.conversation(crypto.randomUUID()).run('Prepare the order');
    console.log(`${runId} ${status}`);
  }),
);

// What others left behind. A worker of yours does this every few seconds, beside its own work.
let until = Date.now() + 6000;
while (Date.now() < until) {
  const { runs, refused } = await agent.resumeOrphans({ limit: 1 });
  if (runs.length > 0) until = Date.now() + 6000;
  for (const run of runs) console.log(`${run.runId} ${(await run).status}, of another worker`);
  for (const { runId, error } of refused) console.error(runId, error);
  if (runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 200));
}
await journal.close();
