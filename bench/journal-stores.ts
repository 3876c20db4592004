// What it costs to write a record and an effect, and how large a recording gets. Run with: node bench/journal-stores.ts [folder]
// Postgres is measured on a server of its own, with its defaults (each commit is flushed), where it is installed.
import type { Sink } from '../src/journal/run/run-journal.ts';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../src/agent/create-agent.ts';
import { effectKey } from '../src/actors/journal.ts';
import { fileJournal, memoryJournal, sqliteJournal } from '../src/journal/index.ts';
import { postgresJournal } from '../src/journal/postgres/index.ts';
import { digest } from '../src/json/digest.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import type { JournalStore } from '../src/journal/index.ts';
import type { RecordLine, RunRecord } from '../src/journal/format/record.ts';
import { readRecording } from '../src/journal/format/recording.ts';
import { fakeTool } from '../src/testing/fake-tool.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { printTable } from './harness/figures.ts';

/** How long each case is measured, in milliseconds. */
const MEASURED_MS = 2000;
const AT_ONCE = 50;
const MANY_AT_ONCE = 1000;

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'signalbox-bench-'));
const recording = await recordingOf(10);
const { head } = readRecording(recording);
const record: RecordLine = {
  t: 'outcome',
  at: 1234,
  id: 'agent/llmCall/callLlm#7',
  ok: true,
  value: {
    content: '',
    toolCalls: [{ name: 'look', arguments: { turn: 7 } }],
    usage: { inputTokens: 900, outputTokens: 20, totalTokens: 920 },
  },
};

if (NO_POSTGRES !== '') console.log(`Without Postgres: ${NO_POSTGRES}.`);
const server = NO_POSTGRES === '' ? await startPostgres([]) : null;
const postgres = server === null ? null : postgresJournal(server.url, { migrate: true });
const stores: readonly (readonly [name: string, store: JournalStore])[] = [
  ['memory', memoryJournal()],
  ["file, 'process'", fileJournal(join(folder, 'files'))],
  ["file, 'power'", fileJournal(join(folder, 'flushed'), { durability: 'power' })],
  ["SQLite, 'process'", sqliteJournal(join(folder, 'runs.sqlite'))],
  ["SQLite, 'power'", sqliteJournal(join(folder, 'flushed.sqlite'), { durability: 'power' })],
  ...(postgres === null ? [] : [['Postgres', postgres] as const]),
];

try {
  const rows: (readonly string[])[] = [bareRow('bare write', false), bareRow('bare write and fdatasync', true)];
  for (const [name, store] of stores) {
    // Side by side they would disturb each other.
    const alone = await measured(await sinksOf(store, 1));
    const together = await measured(await sinksOf(store, AT_ONCE));
    rows.push([name, ...cells(alone), perSecond(together), ms(quantile(together.each, 0.99))]);
  }
  console.log(`\nAppending a record of ${JSON.stringify(record).length} bytes, until it is durable\n`);
  printTable(['', 'records/s', 'p50 ms', 'p99 ms', `records/s, ${AT_ONCE} runs at once`, 'p99 ms of those'], rows);
  console.log(
    '\nAn effect: its start, written before it is launched, and its outcome, written before it is delivered\n',
  );
  const effects: (readonly string[])[] = [];
  for (const [name, store] of stores) {
    const found: Measured[] = [];
    // Side by side they would disturb each other.
    for (const count of [1, AT_ONCE, MANY_AT_ONCE]) found.push(await measuredEffects(store, count));
    effects.push([name, ...found.flatMap((one) => cells(one))]);
  }
  printTable(
    ['', ...[1, AT_ONCE, MANY_AT_ONCE].flatMap((count) => [`effects/s, ${count} at once`, 'p50 ms', 'p99 ms'])],
    effects,
  );
  console.log('\nSize of a recording: a call with a small result each turn, then an answer\n');
  const sizes = await Promise.all(
    [10, 50, 200].map(async (turns) => [turns, (await recordingOf(turns)).length] as const),
  );
  printTable(
    ['turns', 'KB', 'bytes a turn'],
    sizes.map(([turns, bytes]) => [
      String(turns),
      (bytes / 1000).toFixed(1),
      ((bytes - JSON.stringify(head).length) / turns).toFixed(0),
    ]),
  );
} finally {
  await postgres?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}

interface Measured {
  readonly each: readonly number[];
  readonly totalMs: number;
}

/** Appends on all sinks at once, each one record after the other. */
async function measured(sinks: readonly Sink[]): Promise<Measured> {
  const each: number[] = [];
  const began = performance.now();
  await Promise.all(
    sinks.map(async (sink) => {
      while (performance.now() - began < MEASURED_MS) {
        const from = performance.now();
        await sink.append([record]);
        each.push(performance.now() - from);
      }
    }),
  );
  const totalMs = performance.now() - began;
  await Promise.all(sinks.map(async (sink) => sink.close()));
  return { each, totalMs };
}

/** Runs that each do one effect after the other. */
async function measuredEffects(store: JournalStore, count: number): Promise<Measured> {
  const each: number[] = [];
  const began = performance.now();
  const runs = Array.from({ length: count }, async (_, index) => {
    const journal = store.open({ head: { ...head, runId: `effects-${count}-${index}` }, accepts: () => false });
    for (let n = 1; performance.now() - began < MEASURED_MS; n++) {
      const request = { tool: 'look', n };
      const [id, sum] = [`agent/toolCall/callTool#${n}`, digest(request)];
      const from = performance.now();
      const effect = { id, name: 'callTool', effects: 'none', request, digest: sum, key: effectKey(id, sum) } as const;
      journal.open(effect, async () => ({ ok: true, value: { found: 'a stone', weight: 3 } }));
      await journal.next();
      each.push(performance.now() - from);
    }
    await journal.end({ status: 'answered' });
  });
  await Promise.all(runs);
  return { each, totalMs: performance.now() - began };
}

function bareRow(name: string, flush: boolean): readonly string[] {
  const file = openSync(join(folder, 'bare'), 'a');
  const line = `${JSON.stringify(record)}\n`;
  const each: number[] = [];
  const began = performance.now();
  while (performance.now() - began < MEASURED_MS) {
    const from = performance.now();
    writeSync(file, line);
    if (flush) fdatasyncSync(file);
    each.push(performance.now() - from);
  }
  closeSync(file);
  return [name, ...cells({ each, totalMs: performance.now() - began }), '', ''];
}

/** New runs of a store, and where their records go. */
async function sinksOf(store: JournalStore, count: number): Promise<readonly Sink[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const own: RunRecord = { ...head, runId: `run-${String(count)}-${String(index)}` };
      const journal = store.open({ head: own, accepts: () => false });
      void journal.next();
      await journal.abandon?.();
      const taken = await store.take?.(own.runId);
      if (taken === undefined || taken === null) throw new Error('the store has lost a run');
      return taken.sink;
    }),
  );
}

async function recordingOf(turns: number): Promise<string> {
  const call = (turn: number) => ({ content: '', toolCalls: [{ name: 'look', arguments: { turn } }] });
  const run = createAgent({
    model: scriptedModel([...Array.from({ length: turns }, (_, turn) => call(turn)), 'Done.']),
    tools: [fakeTool('look', [{ found: 'a stone', weight: 3 }])],
    maxSteps: turns + 1,
    silent: true,
  }).run('Look around.');
  await run;
  return run.recording();
}

function cells(found: Measured): readonly string[] {
  return [perSecond(found), ms(quantile(found.each, 0.5)), ms(quantile(found.each, 0.99))];
}

function perSecond({ each, totalMs }: Measured): string {
  return ((each.length / totalMs) * 1000).toFixed(0);
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

function ms(value: number): string {
  return value.toFixed(value < 0.1 ? 4 : 2);
}
