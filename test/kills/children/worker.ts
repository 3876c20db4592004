// A worker on Postgres: takes runs that nobody drives, and finishes them, until it is killed. Argument: JSON with url, log and atOnce.
import { appendFileSync } from 'node:fs';
import { postgresJournal } from '../../../src/journal/postgres/index.ts';
import { workerAgent } from '../worker-agent.ts';

const { url, log, atOnce } = JSON.parse(process.argv[2] ?? '{}');
const journal = postgresJournal(url, { leaseMs: 2000 });
const agent = workerAgent(journal, (line) => appendFileSync(log, `${process.pid} ${line}\n`));
let live = 0;
for (;;) {
  const { runs, refused } = await agent.resumeOrphans({ limit: Math.max(0, atOnce - live) });
  for (const { runId, error } of refused) appendFileSync(log, `${process.pid} ${runId} refused ${String(error)}\n`);
  for (const run of runs) {
    live += 1;
    void run.finally(() => {
      live -= 1;
    });
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}
