import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/file.ts';
import { readFileContent } from '../../src/journal/file-lines.ts';
import { summarizeFile } from '../../src/journal/file-summary.ts';
import type { Recording } from '../../src/journal/recording.ts';
import { readStored, sqliteJournal } from '../../src/journal/sqlite.ts';
import { type SqliteRuns, sqliteRuns } from '../../src/journal/sqlite-runs.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { answered, interrupted } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Nightly: ten times as many, from another seed each night. */
const NIGHTLY = process.env['SIGNALBOX_NIGHTLY'] !== undefined;
const TIMES = NIGHTLY ? 10 : 1;
const SEED = NIGHTLY ? Math.floor(Date.now() / 86_400_000) : 1;
const LONG = 60_000 * TIMES;

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
function orNull<T>(read: () => T): T | 'found' {
  try {
    return read();
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code');
    if (code === 'bad-recording' || code === 'ERR_SQLITE_ERROR') return 'found';
    throw error;
  }
}

function storedIn(runs: SqliteRuns, runId: string): Recording | null {
  const stored = runs.lines(runId);
  return stored === null ? null : readStored(stored, runId);
}

const plain = (recording: Recording | null): string => JSON.stringify(recording && [recording.head, recording.lines]);

test(`of ${8000 * TIMES} flipped bits in files none is read as something else`, { timeout: LONG }, async () => {
  await using folder = await temporaryFolder();
  const store = fileJournal(folder.path);
  await answered(store, 'ended', { tools: [fakeTool('clock', [RESULT])] });
  await interrupted(store, 'open');
  const silent: string[] = [];
  for (const runId of ['ended', 'open']) {
    const content = readFileSync(join(folder.path, `${runId}.jsonl`));
    const whole = plain(readFileContent(content)?.recording ?? null);
    const listed = JSON.stringify(summarizeFile(content));
    for (const place of randomBits(4000 * TIMES, content.length, SEED)) {
      const damaged = flipped(content, place);
      const read = orNull(() => readFileContent(damaged)?.recording ?? null);
      if (read !== 'found' && plain(read) !== whole) silent.push(`${runId} ${JSON.stringify(place)}`);
      const summary = orNull(() => summarizeFile(damaged));
      if (summary !== 'found' && JSON.stringify(summary) !== listed)
        silent.push(`list ${runId} ${JSON.stringify(place)}`);
    }
  }
  expect(silent).toEqual([]);
});

test(`of ${2000 * TIMES} flipped bits in a database none is read as something else`, { timeout: LONG }, async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const store = sqliteJournal(path);
  await answered(store, 'ended', { tools: [fakeTool('clock', [RESULT])] });
  await interrupted(store, 'open');
  const runIds = ['ended', 'open'];
  const whole = new Map<string, string>();
  for (const runId of runIds) whole.set(runId, plain((await store.read?.(runId)) ?? null));
  const flat = new DatabaseSync(path);
  flat.prepare('vacuum into ?').run(join(folder.path, 'flat.sqlite'));
  flat.close();
  const content = readFileSync(join(folder.path, 'flat.sqlite'));
  const copy = join(folder.path, 'damaged.sqlite');
  const silent: string[] = [];
  let found = 0;
  for (const place of randomBits(2000 * TIMES, content.length, SEED)) {
    rmSync(copy, { force: true });
    writeFileSync(copy, flipped(content, place));
    const database = new DatabaseSync(copy);
    const runs = orNull(() => sqliteRuns(database, copy));
    for (const runId of runIds) {
      const read = runs === 'found' ? runs : orNull(() => storedIn(runs, runId));
      if (read === 'found') found += 1;
      else if (plain(read) !== whole.get(runId))
        silent.push(`${runId} ${JSON.stringify(place)}: ${plain(read).slice(0, 60)}`);
    }
    database.close();
  }
  expect(silent).toEqual([]);
  expect(found).toBeGreaterThan(100);
});
