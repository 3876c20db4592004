import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Effect } from '../../src/actors/journal.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { LARGE, blobReader, lineWriter } from '../../src/journal/format/blobs.ts';
import { withSum } from '../../src/journal/format/checksums.ts';
import { deltaReader, deltaWriter } from '../../src/journal/format/deltas.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import type { RecordLine, StartRecord } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { answered } from './stored-runs.ts';
import { withoutSums } from '../support/without-sums.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { cases, seedOr } from '../support/soak.ts';

/** A run in which a tool is called so many times, each time with another argument and the same result. */
async function turns(count: number, result: JsonObject | string, more: { readonly maxToolResultChars?: number } = {}) {
  const replies = Array.from({ length: count }, (_, turn) => calls(['look', { turn }]));
  const options = {
    name: 'looker',
    tools: [fakeTool('look', [result])],
    silent: true,
    maxSteps: count + 1,
    maxConsecutiveRepeats: count + 2,
    ...more,
  };
  const run = createAgent({ ...options, model: scriptedModel([...replies, 'Done.']) }).run('Look around.');
  await run;
  return { options, recording: run.recording(), moves: run.transitions() };
}

/** How often a text stands in another. */
function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

const unique = (length: number): string =>
  Array.from({ length: Math.ceil(length / 8) }, (_, index) => index.toString(36).padStart(8, ' ')).join('');

describe('size', () => {
  test('grows by the same amount with every turn', async () => {
    const sizes = await Promise.all(
      [10, 20, 40, 80].map(async (count) => (await turns(count, { found: 'a stone' })).recording.length),
    );
    const [ten = 0, twenty = 0, forty = 0, eighty = 0] = sizes;
    const perTurn = (twenty - ten) / 10;
    expect((forty - twenty) / 20 / perTurn).toBeCloseTo(1, 1);
    expect((eighty - forty) / 40 / perTurn).toBeCloseTo(1, 1);
    expect(perTurn).toBeLessThan(1500);
  });

  test('a large payload of a history that stands elsewhere is not stored again', async () => {
    const { head } = readRecording((await turns(1, { found: 'a stone' })).recording);
    const text = unique(50_000);
    const write = lineWriter(undefined, null, (whole) => ({ ...whole, history: { $history: 'h', from: 0, to: 1 } }));
    write({ ...head, history: [{ role: 'user', content: text }] });
    const line = write({ t: 'note', at: 1, note: { text } });
    expect(line).toContain('$blob');
    expect(line.length).toBeLessThan(200);
  });

  test.each([
    ['a text', unique(50_000)],
    ['an object that holds it', { found: unique(50_000), at: 'home' }],
    ['text that must be escaped', { found: unique(50_000).replaceAll(' ', '"') }],
  ])('a result of 50 KB stands in the recording once: %s', async (_what, result) => {
    const text = typeof result === 'string' ? result : result.found;
    const inJson = JSON.stringify(text).slice(1, -1);
    for (const maxToolResultChars of [4000, 200_000]) {
      const { recording, options } = await turns(6, result, { maxToolResultChars });
      expect(countOf(recording, inJson)).toBe(1);
      expect(recording.length).toBeLessThan(2 * inJson.length + 40_000);
      const again = await replay(recording, createAgent({ ...options, model: scriptedModel([]) }));
      expect(again.reason).toBe('answer');
    }
  });

  test.each([
    ['a short text that takes six characters each in JSON', { text: '\u0001'.repeat(1400) }],
    ['numbers', { list: Array.from({ length: 500 }, (_, index) => -1.2345678901234e-100 * (index + 1)) }],
    ['long names', { data: { ['a name'.repeat(300)]: 1, ['\u0002'.repeat(1200)]: 2 } }],
    ['one item of a list', { rows: ['small', { cells: ['\u0003'.repeat(1400)] }] }],
  ])('what is large only as JSON stands in the recording once: %s', (_what, value) => {
    const write = lineWriter();
    const record: RecordLine = { t: 'outcome', at: 1, id: 'agent#1', ok: true, value };
    expect(JSON.stringify(value).length).toBeGreaterThan(LARGE);
    expect(write(record)).toMatch(/^\{"t":"blob"/);
    expect(write(record).length).toBeLessThan(200);
  });

  test('what is exactly as large as a line may hold stays in it, and one character more does not', () => {
    const outcomeOf = (length: number): RecordLine => {
      const rows = Array.from({ length: 80 }, (_, row) => ({ row, cells: ['x', row] }));
      const rest = length - JSON.stringify({ rows, text: '' }).length;
      return { t: 'outcome', at: 1, id: 'agent#1', ok: true, value: { data: { rows, text: 'y'.repeat(rest) } } };
    };
    expect(lineWriter()(outcomeOf(LARGE))).not.toContain('$blob');
    expect(lineWriter()(outcomeOf(LARGE + 1))).toContain('$blob');
  });

  test('a large input stands in the first line, and nowhere else', async () => {
    const input = `Read this: ${unique(20_000)}`;
    const run = createAgent({ model: scriptedModel(['Read.']), silent: true }).run(input);
    await run;
    const recording = run.recording();
    expect(countOf(recording, unique(20_000))).toBe(1);
    expect(readRecording(recording).head.input).toBe(input);
    expect(transitions(recording)).toEqual(run.transitions());
  });
});

describe('lines', () => {
  test('a file and run.recording() hold the same, but for the times and the checksums', async () => {
    await using folder = await temporaryFolder();
    const large = { tools: [fakeTool('clock', [{ large: unique(30_000) }])] };
    const { recording } = await answered(fileJournal(folder.path), 'one', large);
    const file = await readFile(join(folder.path, 'one.jsonl'), 'utf8');
    const timeless = (text: string) => text.replaceAll(/"at":\d+/g, '"at":0');
    expect(timeless(withoutSums(file))).toBe(timeless(recording));
    expect(countOf(file, '{"t":"blob"')).toBe(1);
  });

  test('a replay of a replay holds the same lines, payloads included', async () => {
    const { recording, options } = await turns(2, { found: unique(30_000) });
    const again = replay(recording, createAgent({ ...options, model: scriptedModel([]) }));
    await again;
    const timeless = (text: string) => text.replaceAll(/"at":\d+/g, '"at":0');
    expect(timeless(again.recording())).toBe(timeless(recording));
  });

  test('records of unknown kinds are skipped, and lines are counted as they stand in the file', async () => {
    const { recording, moves } = await turns(2, { found: unique(30_000) });
    const lines = recording.trimEnd().split('\n');
    const strange = [lines[0] ?? '', '{"t":"weather","sky":"blue"}', ...lines.slice(1)];
    expect(transitions(strange)).toEqual(moves);
    const edited = strange.map((line) => line.replace('"id":"agent/llmCall/callLlm#2"', '"id":"agent/other#2"'));
    const line = edited.findIndex((text) => text.includes('agent/other#2')) + 1;
    expect(() => transitions(edited)).toThrow(expect.objectContaining({ code: 'replay-divergence', entry: line }));
  });

  test('a line that is no record at all is damage, and told with its number', async () => {
    const { recording } = await turns(1, 'x');
    const [head = '', ...lines] = recording.trimEnd().split('\n');
    for (const strange of ['{"x":1}', '17', 'null'])
      expect(() => readRecording([head, strange, ...lines].join('\n'))).toThrow(/Line 2 .*is not a record/);
  });

  test('what is no text in UTF-8, such as what a shell of Windows or gzip writes, is told so', async () => {
    const { recording } = await turns(1, 'x');
    const utf16 = Buffer.from(`\uFEFF${recording}`, 'utf16le').toString();
    for (const text of [utf16, 'garbage\n{}'])
      expect(() => readRecording(text)).toThrow(/^Line 1 of the recording is not JSON in UTF-8\. The file is damaged/);
    expect(() => readRecording(recording.replace('\n', '\ngarbage\n'))).toThrow(
      /^Line 2 of the recording is not JSON\. /,
    );
  });

  test('a file in which nothing was recorded yet is told from one that is no recording', () => {
    expect(() => readRecording('')).toThrow(/is empty or torn/);
    expect(() => readRecording('{"t":"run","format":1,"ru')).toThrow(/is empty or torn/);
    expect(() => readRecording('{"t":"end"}\n')).toThrow(/which every recording begins with/);
    for (const path of ['run.jsonl', './runs/01k80', 'C:\\runs\\a run.jsonl', '/tmp/my run.rec'])
      expect(() => readRecording(path)).toThrow(
        `is a path (${path}) and no record. Read that file, and give its text.`,
      );
    for (const text of ['Hello.', 'run', '{"a/b', 'a\n/b']) expect(() => readRecording(text)).not.toThrow(/is a path/);
  });

  test('a newer major version is refused', async () => {
    const { recording } = await turns(1, 'x');
    expect(() => readRecording(recording.replace('"format":1', '"format":2'))).toThrow(
      /format 2, and this version of Signalbox reads up to 1\. Update signalbox/,
    );
  });

  test('a newer major version is not taken for damage where it makes its checksums in another way', async () => {
    const { recording } = await turns(1, 'x');
    const stored = recording
      .trimEnd()
      .split('\n')
      .map((line, index) => withSum(line, index + 1))
      .join('\n');
    expect(() => readRecording(stored.replace('"format":1', '"format":2'))).toThrow(/format 2, .* Update signalbox/);
    expect(() => readRecording(stored.replace('"format":1', '"format":0'))).toThrow(/does not fit its checksum/);
  });

  test('a payload that was lost is reported with the line that needs it', async () => {
    const { recording } = await turns(2, { found: unique(30_000) });
    const lines = recording.split('\n');
    const without = lines.filter((line) => !line.startsWith('{"t":"blob"'));
    const needs = without.findIndex((line) => line.includes('"$blob"')) + 1;
    expect(needs).toBeGreaterThan(1);
    expect(() => readRecording(without)).toThrow(expect.objectContaining({ code: 'bad-recording', line: needs }));
  });
});

/** Values in which what stands for something else stands for itself, and texts that are large or JSON themselves. */
const trickyJson = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('x'.repeat(9000), JSON.stringify({ a: 'y'.repeat(9000) }), `[${'1,'.repeat(5000)}1]`, `{"a":1}`),
    fc.dictionary(
      fc.constantFrom('$blob', '$json', '$is', '$same', '$from', 'keep', 'add', 'data', '__proto__'),
      tie('value'),
      { maxKeys: 3 },
    ),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
})).value;

const asJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify({ value }));

describe('whatever is written is read', () => {
  const head = JSON.stringify({
    t: 'run',
    format: 1,
    runId: 'a',
    at: '',
    agent: '',
    metadata: {},
    input: 'x'.repeat(9000),
  });

  test('as outcomes, in order', () => {
    fc.assert(
      fc.property(fc.array(trickyJson, { minLength: 1, maxLength: 4 }), (values) => {
        const records = values.map((value, at): RecordLine => {
          const { value: json = null } = asJson(value);
          return { t: 'outcome', at, id: 'agent#1', ok: true, value: json };
        });
        const write = lineWriter();
        const text = records.map((record) => write(record)).join('');
        expect(readRecording(`${head}\n${text}`).lines).toEqual(records);
      }),
      { numRuns: cases(60, 6000), seed: seedOr(1) },
    );
  });

  test('two large values that differ in the order of their keys alone each keep it', () => {
    const members = Array.from({ length: 2000 }, (_, index) => [`key-${index}`, index] as const);
    const values = [members, members.toReversed()].map((list) => ({ deep: { value: Object.fromEntries(list) } }));
    const write = lineWriter();
    const text = values.map((value) => write({ t: 'outcome', at: 0, id: 'agent#1', ok: true, value })).join('');
    const read = readRecording(`${head}\n${text}`).lines.map((line) =>
      line.t === 'outcome' && line.ok ? line.value : null,
    );
    expect(read.map((value) => JSON.stringify(value))).toEqual(values.map((value) => JSON.stringify(value)));
  });

  test('as requests, written against earlier ones', () => {
    fc.assert(
      fc.property(fc.array(trickyJson, { minLength: 1, maxLength: 4 }), (values) => {
        const [shorten, write, restore] = [deltaWriter({ history: [] }), lineWriter(), deltaReader({ history: [] })];
        const requests = values.map((value, index) => ({ ...asJson(value), same: asJson(values[index - 1] ?? 1) }));
        const records = requests.map((request, index): StartRecord => {
          const effect: Effect = { id: `${index}`, name: 'n', effects: 'none', request, digest: '', key: '' };
          return {
            t: 'start',
            at: 0,
            id: `${index}`,
            name: 'n',
            effects: 'none',
            digest: '',
            key: '',
            request: shorten(effect),
          };
        });
        const { lines } = readRecording(`${head}\n${records.map((record) => write(record)).join('')}`);
        const read = lines.map((line) => (line.t === 'start' ? restore(line.id, line.request ?? null) : null));
        expect(read).toEqual(requests);
      }),
      { numRuns: cases(60, 6000), seed: seedOr(1) },
    );
  });
});

test('a text of JSON that is longer than one is read from its value is written as it is', () => {
  const write = lineWriter();
  const noteOf = (length: number) =>
    ({ t: 'note', at: 1, note: { text: JSON.stringify(['x'.repeat(length)]) } }) as const;
  const [short, long] = [noteOf(9000), noteOf(2 ** 25)];
  const reader = blobReader();
  const read = (lines: string): object | null => {
    const records = lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const blob of records.slice(0, -1)) expect(reader.blob(blob)).toBe(true);
    return reader.restore(records.at(-1));
  };
  const written = write(short);
  expect(written).toContain('"$json"');
  expect(read(written)).toEqual(short);
  const whole = write(long);
  expect(whole.includes('"$json"')).toBe(false);
  expect(JSON.stringify(read(whole)) === JSON.stringify(long)).toBe(true);
});
