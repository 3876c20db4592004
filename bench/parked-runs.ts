// What runs cost that wait: finding those that can continue among many. Run with: node bench/parked-runs.ts [runs]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../src/agent/create-agent.ts';
import type { RecordLine } from '../src/journal/format/record.ts';
import { readRecording } from '../src/journal/format/recording.ts';
import { fileJournal, memoryJournal, sqliteJournal } from '../src/journal/index.ts';
import type { JournalStore } from '../src/journal/index.ts';
import { postgresJournal } from '../src/journal/postgres/index.ts';
import { fakeTool } from '../src/testing/fake-tool.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { handOver } from '../test/journal/hand-over.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import { calls } from '../test/support/replies.ts';
import { printTable } from './harness/figures.ts';

const RUNS = Number(process.argv[2] ?? 10_000);
/** So many of them have been answered, and can continue. */
const ANSWERED = 10;
const AT_ONCE = 50;

function agentOn(journal: JournalStore) {
  const model = scriptedModel(
    Array.from(
      { length: RUNS },
      () =>
        ({ messages }) =>
          messages.length > 3 ? 'Sent.' : calls(['mail', { text: 'x'.repeat(1000) }]),
    ),
  );
  return createAgent({
    name: 'parked',
    silent: true,
    confirm: 'wait',
    tools: [fakeTool('mail', ['sent'], { policy: 'confirm' })],
    model,
    journal,
  });
}

/** The records of a run that is parked at an approval. */
async function parkedRun(): Promise<{
  readonly head: Parameters<typeof handOver>[1];
  readonly lines: readonly RecordLine[];
}> {
  const run = agentOn(memoryJournal()).run('Mail it.', { park: true });
  await run;
  return readRecording(run.recording());
}

async function timed(work: () => Promise<unknown>): Promise<string> {
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  return ms < 100 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en-US');
}

const folder = mkdtempSync(join(tmpdir(), 'signalbox-parked-'));
const server = NO_POSTGRES === '' ? await startPostgres([]) : null;
const postgres = server === null ? null : () => postgresJournal(server.url, { migrate: true });
const stores: readonly (readonly [name: string, open: () => JournalStore])[] = [
  ['file', () => fileJournal(join(folder, 'files'))],
  ['SQLite', () => sqliteJournal(join(folder, 'runs.sqlite'))],
  ...(postgres === null ? [] : [['Postgres', postgres] as const]),
];
try {
  const { head, lines } = await parkedRun();
  const rows: string[][] = [];
  for (const [name, open] of stores) {
    const store = open();
    const ids = Array.from({ length: RUNS }, (_, index) => `run-${String(index).padStart(6, '0')}`);
    const parking = await timed(async () => {
      for (let at = 0; at < ids.length; at += AT_ONCE)
        await Promise.all(ids.slice(at, at + AT_ONCE).map((runId) => handOver(store, { ...head, runId }, lines)));
    });
    // A process that has not read them yet.
    const list = await timed(async () => open().list?.({ limit: 20 }));
    const waiting = await timed(async () => open().list?.({ state: 'waiting', limit: 20 }));
    const agent = agentOn(open());
    const none = await timed(() => agent.wake());
    const again = await timed(() => agent.wake());
    for (const runId of ids.slice(0, ANSWERED)) {
      const [call] = await agent.pending(runId);
      await agent.approve(runId, call?.callId ?? '');
    }
    const some = await timed(async () => {
      const woken = await agent.wake();
      if (woken.length !== ANSWERED) throw new Error(`${name}: ${woken.length} were woken.`);
    });
    rows.push([name, parking, list, waiting, none, again, some]);
    console.log(rows.at(-1));
  }
  printTable(
    ['', 'parking all', 'the newest 20', '20 that wait', 'wake, none can', 'again', `wake, ${ANSWERED} can`],
    rows,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
  await server?.[Symbol.asyncDispose]();
}
process.exit(0);
