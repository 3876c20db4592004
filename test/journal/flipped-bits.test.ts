import type { RunQuery } from '../../src/journal/format/tally.ts';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { readFileContent } from '../../src/journal/stores/file-sink.ts';
import { summarizeFile } from '../../src/journal/stores/file-summary.ts';
import type { Recording } from '../../src/journal/format/recording.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { readStored } from '../../src/journal/format/recording.ts';
import { RunTables } from '../../src/journal/stores/sqlite-runs.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { cases, seedOr } from '../support/soak.ts';
import { answered, interrupted } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** How many bits are flipped in a database, and four times as many in files. */
const FLIPS = Number(process.env['SIGNALBOX_FLIPS'] ?? cases(600, 20_000));
const IN_FILES = 4 * FLIPS;
const SEED = seedOr(1);
const LONG = 60_000 + FLIPS * 30;

/** A result with characters of several bytes, one that is stored by itself, and one that looks like the end of a line. */
const RESULT = {
  text: 'halb eins – 十二時半 🕧',
  large: 'x'.repeat(8200),
  like: { a: 1, sum: '12.0123456789abc' },
};

function* randomBits(
  count: number,
  bytes: number,
  seed: number,
): Generator<{ readonly byte: number; readonly bit: number }> {
  let state = seed;
  for (let done = 0; done < count; done++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const byte = Math.floor((state / 2 ** 32) * bytes);
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield { byte, bit: state >>> 29 };
  }
}

function flipped(content: Buffer, { byte, bit }: { readonly byte: number; readonly bit: number }): Buffer {
  const copy = Buffer.from(content);
  copy[byte] = (copy[byte] ?? 0) ^ (1 << bit);
  return copy;
}

/** What is read, or null where damage was found. */
async function orNull<T>(read: () => T | Promise<T>): Promise<T | 'found'> {
  try {
    return await read();
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code');
    // One bit makes of format 1 a newer one: its checksum may be made in another way, and it is not read either.
    if (code === 'bad-recording' || code === 'recording-newer' || code === 'ERR_SQLITE_ERROR') return 'found';
    throw error;
  }
}

function storedIn(runs: RunTables, runId: string): Recording | null {
  const stored = runs.lines(runId);
  return stored === null ? null : readStored(stored, runId, Infinity);
}

const plain = (recording: Recording | null): string => JSON.stringify(recording && [recording.head, recording.lines]);

test(
  `of ${IN_FILES} flipped bits in files none is read or listed as something else (seed ${SEED})`,
  { timeout: LONG },
  async () => {
    await using folder = await temporaryFolder();
    const store = fileJournal(folder.path);
    await answered(store, 'ended', { tools: [fakeTool('clock', [RESULT])] });
    await interrupted(store, 'open');
    const silent: string[] = [];
    for (const runId of ['ended', 'open']) {
      const content = readFileSync(join(folder.path, `${runId}.jsonl`));
      const whole = plain(readFileContent(content)?.recording ?? null);
      const listed = JSON.stringify(summarizeFile(content));
      for (const place of randomBits(IN_FILES / 2, content.length, SEED)) {
        const damaged = flipped(content, place);
        const read = await orNull(() => readFileContent(damaged)?.recording ?? null);
        if (read !== 'found' && plain(read) !== whole) silent.push(`${runId} ${JSON.stringify(place)}`);
        const summary = await orNull(() => summarizeFile(damaged));
        if (summary !== 'found' && JSON.stringify(summary) !== listed)
          silent.push(`list ${runId} ${JSON.stringify(place)}`);
      }
    }
    expect(silent).toEqual([]);
  },
);

const QUERIES: readonly RunQuery[] = [
  {},
  { agent: 'mailer' },
  { status: 'answered' },
  { state: 'waiting' },
  { due: '2999-01-01T00:00:00.000Z' },
  { tool: 'clock' },
  { metadata: { ticket: 17 } },
  { metadata: { conversation: 'talk' } },
];

/** All that can be read of a database, part by part, as text; a list of which a run is left out with a warning is found. */
function partsOf(runs: RunTables): readonly (() => string | Promise<string>)[] {
  const listed = async (query: RunQuery): Promise<string> => {
    let warned = false;
    const list = await runs.list(query, () => void (warned = true));
    // What was read from lines has its members in another order.
    return warned
      ? 'found'
      : JSON.stringify(list.map((run) => Object.entries(run).toSorted(([a], [b]) => (a < b ? -1 : 1))));
  };
  return [
    ...['ended', 'open'].map((runId) => () => plain(storedIn(runs, runId))),
    ...QUERIES.map((query) => () => listed(query)),
  ];
}

/** The bytes of a database that say what its runs are, apart from their lines. */
function summaryPages(database: DatabaseSync): readonly number[] {
  const pages = database.prepare("select pageno, pgsize from dbstat where name not like '%lines%'").all();
  return pages.flatMap(({ pageno, pgsize }) =>
    Array.from({ length: Number(pgsize) }, (_, at) => (Number(pageno) - 1) * Number(pgsize) + at),
  );
}

test(
  `of ${FLIPS} flipped bits in a database none is read or listed as something else (seed ${SEED})`,
  { timeout: LONG },
  async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'runs.sqlite');
    const store = sqliteJournal(path);
    await answered(store, 'ended', { tools: [fakeTool('clock', [RESULT])] }, { ticket: 17, conversation: 'talk' });
    await interrupted(store, 'open');
    const [flat, copy] = [join(folder.path, 'flat.sqlite'), join(folder.path, 'damaged.sqlite')];
    new DatabaseSync(path).prepare('vacuum into ?').run(flat);
    const whole = new DatabaseSync(flat);
    const expected: string[] = [];
    for (const part of partsOf(new RunTables(whole, flat))) expected.push(await part());
    const summaries = summaryPages(whole);
    whole.close();
    const content = readFileSync(flat);
    const places = [
      ...randomBits(FLIPS / 2, content.length, SEED),
      ...[...randomBits(FLIPS / 2, summaries.length, SEED)].map(({ byte, bit }) => ({
        byte: summaries[byte] ?? 0,
        bit,
      })),
    ];
    const silent: string[] = [];
    const found = expected.map(() => 0);
    for (const place of places) {
      rmSync(copy, { force: true });
      writeFileSync(copy, flipped(content, place));
      const database = new DatabaseSync(copy);
      const parts = await orNull(() => partsOf(new RunTables(database, copy)));
      for (const [index, right] of expected.entries()) {
        const read = parts === 'found' ? parts : await orNull(() => parts[index]?.() ?? '');
        if (read === 'found') found[index] = (found[index] ?? 0) + 1;
        else if (read !== right) silent.push(`part ${index}, ${JSON.stringify(place)}: ${read.slice(0, 900)}`);
      }
      database.close();
    }
    expect(silent).toEqual([]);
    expect(Math.min(...found)).toBeGreaterThan(FLIPS / 100);
  },
);

test('what a row says that was damaged is read from its lines, and a repair makes the row whole', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'run');
  const before = await store.list?.();
  const database = new DatabaseSync(path);
  const intact = database.prepare('select agent, status, sum, head_sum from runs, progress').get();
  database.exec("update runs set agent = 'cloak'");
  database.exec("update progress set status = 'failed', steps = 9");
  expect(await store.list?.()).toEqual(before);
  expect(await store.list?.({ agent: 'cloak' })).toEqual([]);
  expect(await store.list?.({ agent: 'clock', status: 'answered', limit: 1 })).toEqual(before);
  expect(await store.repair?.('run')).toMatchObject({ lost: 0, damage: null });
  expect(database.prepare('select agent, status, sum, head_sum from runs, progress').get()).toEqual(intact);
  database.exec('delete from progress');
  expect(await store.list?.()).toEqual(before);
  await expect(store.read?.('run')).rejects.toMatchObject({ code: 'bad-recording' });
  database.exec("update lines set line = '{}' where n = 1");
  expect(await store.list?.()).toEqual([]);
});
