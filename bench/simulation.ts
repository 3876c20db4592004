// How many runs of ten effects a simulation does in a CPU second of one process, beside the bare agent that it simulates.
// Run with: npm run bench:simulation [-- runs]
import { z } from 'zod';
import { type AgentOptions, createAgent, tool } from '../src/index.ts';
import { type FaultName, scriptedModel, simulate } from '../src/testing/index.ts';
import { printTable } from './harness/figures.ts';

const RUNS = Number(process.argv[2] ?? 4000);
const BATCH = 500;

const look = tool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({ at: z.string() }),
  effects: 'none',
  execute: ({ at }) => ({ seen: at.length }),
});
const agent = (options: AgentOptions) => createAgent({ maxSteps: 5, tools: [look], ...options });
const call = (at: string) => ({ content: '', toolCalls: [{ name: 'look', arguments: { at } }] });
/** Four requests of the model, three checks of arguments, three calls. */
const model = [call('a'), call('bc'), call('def'), 'Done.'];
const INTERRUPTIONS: readonly FaultName[] = [
  'process.crash',
  'journal.full',
  'journal.io',
  'journal.short',
  'journal.lock',
];
const without = Object.fromEntries(INTERRUPTIONS.map((name) => [name, false]));

let seed = 0;
const seeds = (): readonly number[] => Array.from({ length: BATCH }, () => ++seed);
const rows: readonly (readonly [string, () => Promise<number>])[] = [
  [
    'the agent alone, no journal',
    async () => {
      for (let run = 0; run < BATCH; run++)
        // One after the other, as a simulation does.
        await agent({ model: scriptedModel(model), silent: true, inspect: false }).run('Simulate.');
      return BATCH * 10;
    },
  ],
  ['no faults', async () => (await simulate(agent, { model, seeds: seeds(), faults: [] })).effects],
  ['all faults but crashes', async () => (await simulate(agent, { model, seeds: seeds(), faults: without })).effects],
  ['all faults', async () => (await simulate(agent, { model, seeds: seeds() })).effects],
  [
    'all faults, all judged in full',
    async () => (await simulate(agent, { model, seeds: seeds(), recheck: 1 })).effects,
  ],
  ['all faults, invented replies', async () => (await simulate(agent, { seeds: seeds() })).effects],
];

// In turns, so that whatever else the machine does falls on all alike.
const spent = rows.map(() => ({ cpu: 0, effects: 0, runs: 0 }));
for (let batch = -1; batch * BATCH < RUNS; batch++)
  for (const [index, [, run]] of rows.entries()) {
    const before = process.cpuUsage();
    // Side by side they would disturb each other.
    const effects = await run();
    const { user, system } = process.cpuUsage(before);
    const row = spent[index];
    if (batch < 0 || row === undefined) continue;
    row.cpu += (user + system) / 1e6;
    row.effects += effects;
    row.runs += BATCH;
  }
printTable(
  ['', 'runs a CPU second', 'effects a run', 'effects a CPU second'],
  rows.map(([name], index) => {
    const { cpu, effects, runs } = spent[index] ?? { cpu: 1, effects: 0, runs: 1 };
    return [name, (runs / cpu).toFixed(0), (effects / runs).toFixed(1), (effects / cpu).toFixed(0)];
  }),
);
