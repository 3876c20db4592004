import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { readFileContent } from '../../src/journal/stores/file-sink.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { answered, recordsOf, whole } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { cases, seedOr } from '../support/soak.ts';

const NOTE = { t: 'note', at: 1, note: { said: 'after' } } as const;

/** A recording with characters of several bytes and a large payload, and the records that its first bytes hold. */
async function recorded(folder: string) {
  const store = fileJournal(join(folder, 'whole'));
  const tools = [fakeTool('clock', [{ text: 'halb eins – 十二時半 🕧', large: 'x'.repeat(9000) }])];
  await answered(store, 'run', { tools });
  const content = readFileSync(join(folder, 'whole/run.jsonl'));
  const all = await recordsOf(store, 'run');
  /** Where the lines end that complete a record, without their newlines. */
  const ends: number[] = [];
  for (let at = 0; at < content.length; at = content.indexOf('\n', at) + 1)
    if (!content.subarray(at).toString().startsWith('{"t":"blob"')) ends.push(content.indexOf('\n', at));
  return {
    content,
    expected: (bytes: number): readonly RecordLine[] => all.slice(0, ends.filter((end) => end <= bytes).length),
  };
}

test('cut at any byte, a file gives the records that are whole', async () => {
  await using folder = await temporaryFolder();
  const { content, expected } = await recorded(folder.path);
  expect(expected(content.length)).toHaveLength(8);
  for (let bytes = 0; bytes <= content.length; bytes++) {
    const read = readFileContent(content.subarray(0, bytes));
    const records = read === null ? [] : [read.recording.head, ...read.recording.lines];
    if (records.length !== expected(bytes).length) expect.fail(`${bytes} bytes gave ${records.length} records`);
    if (bytes % 97 === 0) expect(records).toEqual(expected(bytes));
  }
});

test('cut at any byte, a run that is taken is written on where it was whole', async () => {
  await using folder = await temporaryFolder();
  const { content, expected } = await recorded(folder.path);
  const store = whole(fileJournal(join(folder.path, 'cut')));
  mkdirSync(join(folder.path, 'cut'));
  const path = join(folder.path, 'cut/run.jsonl');
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: content.length }), async (bytes) => {
      writeFileSync(path, content.subarray(0, bytes));
      const run = await store.take('run');
      if (run === null) {
        expect(expected(bytes)).toEqual([]);
        return;
      }
      await run.sink.append([NOTE]);
      await run.sink.close();
      expect(await recordsOf(store, 'run')).toEqual([...expected(bytes), NOTE]);
      // What an unforgiving reader finds: lines of JSON, each ended.
      const text = readFileSync(path, 'utf8');
      expect(text.endsWith('}\n')).toBe(true);
      expect(() =>
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      ).not.toThrow();
      expect(readRecording(text).lines.at(-1)).toEqual(NOTE);
    }),
    { numRuns: cases(250, 8000), seed: seedOr(1) },
  );
});
