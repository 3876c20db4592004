// What a list and a write cost where a Postgres database holds very many runs. Run with: node bench/postgres-rows.ts [rows]
import pg from 'pg';
import { postgresJournal } from '../src/journal/postgres/index.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import { answered } from '../test/journal/stored-runs.ts';
import { median, numberGiven, printTable } from './harness/figures.ts';

if (NO_POSTGRES !== '') throw new Error(NO_POSTGRES);
const rows = numberGiven(1_000_000);
await using server = await startPostgres([
  'fsync=off',
  'shared_buffers=512MB',
  'maintenance_work_mem=512MB',
  'max_wal_size=8GB',
]);
const store = postgresJournal(server.url, { migrate: true });
await store.list();
const pool = new pg.Pool({ connectionString: server.url, max: 2 });

const began = performance.now();
// One in a thousand has not ended, one in ten thousand of these waits; every tenth is of a conversation with ten runs.
await pool.query(
  `insert into signalbox.runs (run_id, at, agent, head, metadata, ended, waiting, status, reason, tools, steps, records)
   select id, at, agent, json_build_object('runId', id, 'agent', agent, 'at', at, 'input', 'Go', 'metadata', metadata)::text,
     metadata, n % 1000 <> 0, n % 10000 = 0, case when n % 1000 <> 0 then 'answered' end,
     case when n % 1000 <> 0 then 'answer' end, '["look"]', 2, 8
   from (
     select n, 'run-' || n as id, 'agent-' || n % 20 as agent,
       to_char(timestamp '2024-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') as at,
       case when n % 10 = 0 then json_build_object('conversation', 'c' || n / 100)::jsonb else '{}'::jsonb end as metadata
     from generate_series(1, $1) n
   ) made`,
  [rows],
);
await pool.query('vacuum analyze signalbox.runs');
const size = await pool.query("select pg_size_pretty(pg_total_relation_size('signalbox.runs')) as size");
console.log(
  `\n${rows.toLocaleString('en')} runs, ${size.rows[0].size} of rows and indexes, made in ${((performance.now() - began) / 1000).toFixed(0)} s\n`,
);

const deep = { at: '2024-01-04T00:00:00.000Z', runId: 'run-0' };
const middle = Math.floor(rows / 200);
const cases: Readonly<Record<string, () => Promise<unknown>>> = {
  'the newest 20': () => store.list({ limit: 20 }),
  '20 behind a run near the end': () => store.list({ limit: 20, after: deep }),
  '20 orphans (interrupted)': () => store.list({ state: 'interrupted', limit: 20 }),
  '20 that wait for a person': () => store.list({ state: 'waiting', limit: 20 }),
  'the newest 20 of one agent in twenty': () => store.list({ agent: 'agent-7', limit: 20 }),
  'the last run of a conversation': () => store.list({ metadata: { conversation: `c${middle}` }, limit: 1 }),
  'an error code that no run has': () => store.list({ errorCode: 'none', limit: 20 }),
  'a whole run of 8 records': () => answered(store, crypto.randomUUID()),
};
const table: (readonly string[])[] = [];
for (const [name, work] of Object.entries(cases)) {
  const took: number[] = [];
  for (let times = 0; times < 7; times++) {
    const from = performance.now();
    // Side by side they would disturb each other.
    await work();
    took.push(performance.now() - from);
  }
  table.push([name, median(took).toFixed(1), Math.max(...took).toFixed(1)]);
}
printTable(['', 'median ms', 'slowest of 7, ms'], table);
await Promise.all([store.close(), pool.end()]);
