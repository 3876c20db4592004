// One conversation of many turns: its size on disk, the time of a turn, and the time of a list. Nothing leaves the process.
// Run with: npm run bench:session [-- turns [messages that the agent keeps, 0 = all]]
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, tool } from '../src/index.ts';
import { fileJournal, memoryJournal, sqliteJournal } from '../src/journal/index.ts';
import type { JournalStore } from '../src/journal/index.ts';
import { median, printTable } from './harness/figures.ts';
import { TOOL_DESCRIPTION, TOOL_NAME, TOOL_SCHEMA } from './harness/job.ts';

const TURNS = Number(process.argv[2] ?? 1000);
const KEPT = Number(process.argv[3] ?? 0);
/** A turn's time is the median of the last of so many turns. */
const WINDOW = 10;
const MARKS = [10, 100, 1000, 10_000].filter((turn) => turn < TURNS).concat(TURNS);
/** With the call and its result a turn adds about 900 bytes to the history. */
const QUESTION = 'And how is it in the next city on my list, compared with the one before?';
const ANSWER = 'It is mild there, a little warmer than in the one before, with a light wind from the west.';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-session-'));
const stores: Readonly<Record<string, (() => JournalStore) | undefined>> = {
  'no journal': undefined,
  memory: once(() => memoryJournal({ maxRuns: TURNS })),
  files: () => fileJournal(join(folder, 'files')),
  SQLite: () => sqliteJournal(join(folder, 'sqlite/runs.sqlite')),
};

try {
  const rows: (readonly string[])[] = [];
  for (const [name, open] of Object.entries(stores)) {
    // Side by side they would disturb each other.
    rows.push([name, ...(await measured(open, join(folder, name.toLowerCase())))]);
  }
  const history = KEPT === 0 ? 'the whole history' : `a history of ${String(KEPT)} messages`;
  console.log(`\nA conversation of ${String(TURNS)} turns, each a call and an answer, with ${history}\n`);
  printTable(
    [
      '',
      ...MARKS.map((turn) => `ms at turn ${String(turn)}`),
      'whole s',
      'MB on disk',
      'list ms',
      'page of 20 ms',
      'read last ms',
    ],
    rows,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Holds the conversation, then reads it with a store that is opened anew, as another process does. */
async function measured(open: (() => JournalStore) | undefined, where: string): Promise<readonly string[]> {
  const { turnMs, lastRun } = await converse(open?.());
  const turns = MARKS.map((turn) => median(turnMs.slice(Math.max(0, turn - WINDOW), turn)).toFixed(2));
  const total = (turnMs.reduce((sum, ms) => sum + ms, 0) / 1000).toFixed(1);
  const size = (sizeOf(where) / 1e6).toFixed(1);
  if (open === undefined) return [...turns, total, '', '', '', ''];
  const listed = await timed(() => open().list?.());
  if (listed.value?.length !== TURNS) throw new Error(`The list has ${String(listed.value?.length)} runs.`);
  const page = await timed(() => open().list?.({ limit: 20 }));
  const read = await timed(() => open().read?.(lastRun));
  return [...turns, total, size, ...[listed, page, read].map(({ ms }) => ms.toFixed(1))];
}

async function converse(journal: JournalStore | undefined) {
  const agent = createAgent({
    name: 'weather',
    instructions: 'You are a weather assistant.',
    model: {
      id: 'in-process',
      complete: ({ messages }) =>
        Promise.resolve(
          messages.at(-1)?.role === 'user'
            ? { content: '', toolCalls: [{ id: 'call', name: TOOL_NAME, arguments: { city: 'Austin' } }] }
            : { content: ANSWER },
        ),
    },
    tools: [
      tool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        inputSchema: TOOL_SCHEMA,
        execute: ({ city }) => ({ city, celsius: 21 }),
      }),
    ],
    maxHistoryMessages: KEPT,
    silent: true,
    ...(journal === undefined ? {} : { journal }),
  });
  const turnMs: number[] = [];
  let lastRun = '';
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const began = performance.now();
    const run = agent.run(`${String(turn)}. ${QUESTION}`);
    await run.orThrow();
    turnMs.push(performance.now() - began);
    lastRun = run.runId;
  }
  await agent.close();
  return { turnMs, lastRun };
}

async function timed<T>(work: () => T): Promise<{ readonly value: Awaited<T>; readonly ms: number }> {
  const began = performance.now();
  const value = await work();
  return { value, ms: performance.now() - began };
}

function sizeOf(dir: string): number {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map((path) => statSync(join(dir, path)))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  } catch {
    return 0;
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
