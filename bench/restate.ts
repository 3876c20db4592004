// What an effect costs on Restate, by an agent and by the engine used bare, beside our own journals, all in one run. The model
// and the tools are in this process and do nothing. Run with: node bench/restate.ts [turns]
import { createEndpointHandler, workflow, type WorkflowContext } from '@restatedev/restate-sdk';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, tool } from '../src/index.ts';
import { fileJournal, memoryJournal, sqliteJournal } from '../src/journal/index.ts';
import type { JournalStore } from '../src/journal/index.ts';
import { restateAgent, restateClient } from '../src/restate/index.ts';
import { RestateServer } from '../test/support/restate-server.ts';
import { numberGiven, printTable } from './harness/figures.ts';

const TURNS = numberGiven(100);
const RUNS = 16;
/** When each effect began, by run. */
const began = new Map<string, number[]>();

function mark(run: string): void {
  const times = began.get(run) ?? [];
  began.set(run, times);
  times.push(performance.now());
}

/** An agent that calls a tool in each of its turns: two effects a turn. */
function agentOf(effects: 'once' | 'idempotent', journal?: JournalStore) {
  return createAgent({
    name: effects,
    silent: true,
    maxSteps: TURNS + 1,
    maxConsecutiveRepeats: TURNS + 1,
    ...(journal === undefined ? {} : { journal }),
    model: {
      id: 'in-process',
      complete: async ({ messages }) => {
        const run = String(messages.find(({ role }) => role === 'user')?.content);
        mark(run);
        const turn = messages.filter(({ role }) => role === 'assistant').length;
        return turn < TURNS
          ? { content: '', toolCalls: [{ name: 'look', arguments: { run, turn } }] }
          : { content: 'Done.' };
      },
    },
    tools: [
      tool({
        name: 'look',
        description: 'Looks.',
        effects,
        inputSchema: { type: 'object', properties: { run: { type: 'string' }, turn: { type: 'number' } } },
        execute: ({ run }: { readonly run?: string }) => mark(String(run)),
      }),
    ],
  });
}

const bare = workflow({
  name: 'bare',
  handlers: {
    run: async (ctx: WorkflowContext): Promise<string> => {
      for (let effect = 0; effect <= 2 * TURNS; effect += 1) {
        await ctx.run(`effect ${effect}`, () => mark(ctx.key) ?? null);
      }
      return 'Done.';
    },
  },
});

type Measured = (run: string) => Promise<unknown>;

async function row(name: string, run: Measured): Promise<readonly string[]> {
  const key = name.replaceAll(/\W+/g, '-');
  await run(`${key}-warm`);
  const from = performance.now();
  await run(`${key}-one`);
  const alone = performance.now() - from;
  const times = began.get(`${key}-one`) ?? [];
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  const atOnce = performance.now();
  await Promise.all(Array.from({ length: RUNS }, (_none, at) => run(`${key}-${at}`)));
  const together = performance.now() - atOnce;
  const at = (share: number): string =>
    (gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * share)] ?? 0).toFixed(2);
  const rate = (runs: number, ms: number): string => ((runs * times.length * 1000) / ms).toFixed(0);
  return [name, rate(1, alone), at(0.5), at(0.99), rate(RUNS, together)];
}

const folder = mkdtempSync(join(tmpdir(), 'signalbox-restate-'));
const server = await RestateServer.start();
const services = [bare, restateAgent(agentOf('once')), restateAgent(agentOf('idempotent'))];
const http = createServer(createEndpointHandler({ services, logger: () => undefined }));
try {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  await server.register(`http://127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}`);
  const on = (name: string): Measured => {
    const client = restateClient({ url: server.ingress, name });
    return (run) => client.run(run, run);
  };
  const live = (journal?: JournalStore): Measured => {
    const agent = agentOf('once', journal);
    return async (run) => void (await agent.conversation(run).run(run));
  };
  const rows: (readonly string[])[] = [];
  const measured: readonly (readonly [string, Measured])[] = [
    ['Restate, bare', on('bare')],
    ['Restate, agent, idempotent tools', on('idempotent')],
    ['Restate, agent, once tools', on('once')],
    ['memory', live(memoryJournal())],
    ['file', live(fileJournal(join(folder, 'files')))],
    ['SQLite', live(sqliteJournal(join(folder, 'runs.sqlite')))],
  ];
  // Side by side they would disturb each other.
  for (const [name, run] of measured) rows.push(await row(name, run));
  console.log(`\nRuns of ${2 * TURNS + 1} effects, one after the other; then ${RUNS} runs at once\n`);
  printTable(['', 'effects/s', 'p50 ms', 'p99 ms', `effects/s, ${RUNS} runs`], rows);
} finally {
  http.close();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = 0;
}
process.exit();
