import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { type FileJournalOptions, fileJournal, singleFileJournal } from '../../src/journal/stores/file.ts';
import { newWriter } from '../../src/journal/stores/writer.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { BUNDLED } from '../support/bundled.ts';
import { calls } from '../support/replies.ts';
import { answered, interrupted, recordsOf, taken, waiting, whole } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const failing = { model: scriptedModel([new Error('no'), new Error('no')]) };
const DAY = 86_400;

/** A folder with runs in it, answered one after the other, each a second older than the next. */
async function folderOf(runIds: readonly string[]) {
  const folder = await temporaryFolder();
  for (const [index, runId] of runIds.entries()) {
    await answered(fileJournal(folder.path), runId);
    const at = Date.now() / 1000 - runIds.length + index;
    await utimes(join(folder.path, `${runId}.jsonl`), at, at);
  }
  return { ...folder, left: () => readdirSync(folder.path).toSorted() };
}

test('a run leaves one file, which only its owner may read', async () => {
  await using folder = await folderOf(['one']);
  expect(folder.left()).toEqual(['one.jsonl']);
  expect(statSync(join(folder.path, 'one.jsonl')).mode & 0o777).toBe(0o600);
});

/** The files of a folder that this process has open, where the system tells. */
function openIn(folder: string): readonly string[] {
  const files = '/proc/self/fd';
  if (!existsSync(files)) return [];
  const target = (file: string): string => {
    try {
      return readlinkSync(join(files, file));
    } catch {
      return ''; // That of the folder itself is closed by now.
    }
  };
  return readdirSync(files)
    .map(target)
    .filter((path) => path.startsWith(folder));
}

test('of a run that is over its process holds nothing: no file is open, and no sign of life is given', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    await using folder = await folderOf([]);
    const held: number[] = [];
    const said = (text: string) => () => {
      held.push(vi.getTimerCount());
      return text;
    };
    const model = scriptedModel([said('Hi.'), said('Again.')]);
    const talk = createAgent({ model, silent: true, journal: fileJournal(folder.path) }).conversation('c');
    for (const text of ['Hello '.repeat(20_000), 'Again'])
      expect(await talk.run(text)).toMatchObject({ status: 'answered' });
    await expect.poll(() => vi.getTimerCount()).toBe(0);
    expect(held.map((timers) => timers > 0)).toEqual([true, true]);
    expect(openIn(folder.path)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("with keep 'not-answered' a run that went well leaves nothing, and any other its recording", async () => {
  await using folder = await folderOf([]);
  const store = whole(fileJournal(folder.path, { keep: 'not-answered' }));
  await answered(store, 'good');
  await answered(store, 'bad', failing);
  await interrupted(store, 'cut');
  expect(folder.left()).toEqual(['bad.jsonl', 'cut.jsonl']);
  const { sink } = await taken(store, 'cut');
  await sink.append([{ t: 'end', at: 1, output: { status: 'answered' } }]);
  await sink.close();
  expect(folder.left()).toEqual(['bad.jsonl']);
});

test('the secrets of a run are in a file that only its owner may read, while the run lasts', async () => {
  await using folder = await folderOf([]);
  const store = whole(fileJournal(folder.path));
  const { run } = await waiting(store, 'one');
  store.secrets.keep('one', { '«secret:1»': 'a-key' });
  expect(folder.left()).toEqual(['one.jsonl', 'one.lock', 'one.vault']);
  expect(statSync(join(folder.path, 'one.vault')).mode & 0o777).toBe(0o600);
  await run.cancel();
  await run;
  expect(folder.left()).toEqual(['one.jsonl']);
});

test('secrets of a run whose process died as it ended, or before it began, are gone when the next run begins', async () => {
  await using folder = await folderOf(['ended']);
  const before = whole(fileJournal(folder.path));
  await interrupted(before, 'cut');
  const kept = ['ended', 'never-begun', 'cut', 'beginning'];
  for (const runId of kept) before.secrets.keep(runId, { '«secret:1»': 'a-key' });
  const old = Date.now() / 1000 - 61;
  for (const runId of kept.slice(0, 3)) await utimes(join(folder.path, `${runId}.vault`), old, old);
  await answered(fileJournal(folder.path), 'next');
  expect(folder.left().filter((name) => name.endsWith('.vault'))).toEqual(['beginning.vault', 'cut.vault']);
});

test.each([['keys.vault'], ['my notes.vault'], ['.vault'], ['%zz.vault'], ['folder.vault/']])(
  'what is not of runs, such as %s, stays in their folder and is in the way of none',
  async (stray) => {
    await using folder = await folderOf(['one']);
    const path = join(folder.path, stray);
    await (stray.endsWith('/') ? mkdir(path) : writeFile(path, 'mine'));
    await utimes(path, 1, 1);
    await writeFile(join(folder.path, 'figures.jsonl'), '{"sold":7}\n{"sold":9}\n');
    await utimes(join(folder.path, 'figures.jsonl'), 1, 1);
    await answered(fileJournal(folder.path, { maxAgeDays: 2, maxRuns: 1 }), 'two');
    expect(folder.left()).toEqual([stray.replace('/', ''), 'figures.jsonl', 'two.jsonl'].toSorted());
  },
);

test('a secret is kept behind what a crash has torn of another', async () => {
  await using folder = await folderOf([]);
  const { secrets } = whole(fileJournal(folder.path));
  secrets.keep('run', { '«secret:1»': 'first-key' });
  await appendFile(join(folder.path, 'run.vault'), '{"«secret:2»":"sec');
  secrets.keep('run', { '«secret:2»': 'second-key' });
  expect(whole(fileJournal(folder.path)).secrets.read('run')).toEqual({
    '«secret:1»': 'first-key',
    '«secret:2»': 'second-key',
  });
});

test('a lock that a full disk could not take does not stay', async () => {
  await using folder = await folderOf(['one']);
  const script = join(import.meta.dirname, 'children/write-runs.ts');
  // No file may grow: what a full disk does, told by another code.
  const limited = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, ...BUNDLED, script];
  const { stderr, status } = spawnSync('bash', [...limited, 'file', folder.path, 'other', '1'], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(folder.left()).toEqual(['one.jsonl']);
});

test('maxRuns keeps the newest runs that have ended, and every one that has not', async () => {
  await using folder = await folderOf(['a', 'b', 'c']);
  await interrupted(fileJournal(folder.path), 'cut');
  await utimes(join(folder.path, 'cut.jsonl'), 1, 1);
  await answered(fileJournal(folder.path, { maxRuns: 2 }), 'd');
  expect(folder.left()).toEqual(['c.jsonl', 'cut.jsonl', 'd.jsonl']);
});

test('thousands of runs are forgotten while others have their turns', async () => {
  await using folder = await folderOf(['a']);
  const ended = await readFile(join(folder.path, 'a.jsonl'));
  for (let n = 0; n < 4000; n++) writeFileSync(join(folder.path, `old-${n}.jsonl`), ended);
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  await answered(fileJournal(folder.path, { maxRuns: 1 }), 'last');
  clearInterval(counting);
  expect(folder.left()).toEqual(['last.jsonl']);
  expect(turns).toBeGreaterThan(5);
});

test('maxAgeDays forgets what nobody has written to for so long, ended or not, but no run that is live', async () => {
  await using folder = await folderOf(['a', 'b']);
  const store = fileJournal(folder.path, { maxAgeDays: 2 });
  await interrupted(store, 'cut');
  const { run } = await waiting(store, 'live');
  const old = Date.now() / 1000 - 3 * DAY;
  for (const runId of ['a', 'cut', 'live']) await utimes(join(folder.path, `${runId}.jsonl`), old, old);
  await answered(store, 'c');
  expect(folder.left()).toEqual(['b.jsonl', 'c.jsonl', 'live.jsonl', 'live.lock']);
  await run.cancel();
  await run;
});

test.each([
  [{ keep: 'some' }, /option keep must be/],
  [{ durability: 'none' }, /option durability/],
  [{ maxRuns: -1 }, /option maxRuns/],
  [{ maxRuns: 1.5 }, /option maxRuns/],
  [{ maxAgeDays: Object('30') }, /option maxAgeDays/],
  [{ maxAgeDays: 0 }, /option maxAgeDays/],
])('the options %j are refused', (options, message) => {
  // @ts-expect-error -- as a program without types would
  const wrong: FileJournalOptions = options;
  expect(() => fileJournal('runs', wrong)).toThrow(message);
});

test.each<FileJournalOptions>([{ maxAgeDays: 30 }, { maxRuns: 15 }])(
  'a run that ends elsewhere while old ones are looked for is not forgotten with them (%o)',
  async (limits) => {
    await using folder = await folderOf(['parked', ...Array.from({ length: 19 }, (_, n) => `run-${n}`)]);
    const path = join(folder.path, 'parked.jsonl');
    const end = (await readFile(path, 'utf8')).split('\n').slice(-2).join('\n');
    const old = Date.now() / 1000 - 40 * DAY;
    await writeFile(path, (await readFile(path, 'utf8')).replace(end, ''));
    await utimes(path, old, old);
    // Others have their turn after each file.
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 100));
    onTestFinished(() => void vi.restoreAllMocks());
    const model = scriptedModel(['Hi.']);
    const run = createAgent({ model, silent: true, journal: fileJournal(folder.path, limits) }).run('Hi', {
      runId: 'new',
    });
    while (!existsSync(join(folder.path, 'new.jsonl'))) await new Promise(setImmediate);
    // Its files have been found by now, and it is the last to be looked at.
    for (let turn = 0; turn < 25; turn++) await new Promise(setImmediate);
    appendFileSync(path, end);
    expect(await run).toMatchObject({ status: 'answered' });
    for (let turn = 0; turn < 60; turn++) await new Promise(setImmediate);
    expect(await recordsOf(fileJournal(folder.path), 'parked')).toContainEqual(expect.objectContaining({ t: 'end' }));
  },
);

test('a damaged line in the middle is reported by its number, and hides no other run', async () => {
  await using folder = await folderOf(['good', 'bad']);
  const path = join(folder.path, 'bad.jsonl');
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, lines.with(3, '{"t":"outc').join('\n').replace('{"t":"end"', '{"t":"fin"'));
  const store = whole(fileJournal(folder.path));
  await expect(store.read('bad')).rejects.toMatchObject({ code: 'bad-recording', line: 4 });
  await expect(store.take('bad')).rejects.toMatchObject({ code: 'bad-recording', line: 4 });
  const warned: string[] = [];
  const warn = process.emitWarning;
  process.emitWarning = (warning) => void warned.push(String(warning));
  expect((await store.list()).map(({ runId }) => runId)).toEqual(['good']);
  process.emitWarning = warn;
  expect(warned).toEqual([expect.stringMatching(/bad\.jsonl is left out.*Line 4/)]);
  expect(await store.remove('bad')).toBe(true);
});

test('what a crash left before the first line was whole is no run, and its id can be used', async () => {
  await using folder = await folderOf([]);
  await writeFile(join(folder.path, 'one.jsonl'), '{"t":"run","form');
  const store = whole(fileJournal(folder.path));
  expect(await store.list()).toEqual([]);
  expect(await store.read('one')).toBeNull();
  expect(await store.take('one')).toBeNull();
  await answered(store, 'one');
  expect(await recordsOf(store, 'one')).toHaveLength(8);
});

test('a recording whose last newline an editor has removed is whole', async () => {
  await using folder = await folderOf(['one']);
  const path = join(folder.path, 'one.jsonl');
  await writeFile(path, (await readFile(path, 'utf8')).trimEnd());
  const store = whole(fileJournal(folder.path));
  expect(await recordsOf(store, 'one')).toHaveLength(8);
  expect(await store.list()).toMatchObject([{ state: 'ended', records: 8 }]);
  await answered(store, 'one');
  const { sink } = await taken(store, 'one');
  await sink.append([{ t: 'note', at: 1, note: {} }]);
  await sink.close();
  expect(await recordsOf(store, 'one')).toHaveLength(9);
});

test('a lock of a pid that another process has by now is left behind', async () => {
  await using folder = await folderOf([]);
  await interrupted(fileJournal(folder.path), 'cut');
  const lock = join(folder.path, 'cut.lock');
  const store = whole(fileJournal(folder.path));
  await writeFile(lock, JSON.stringify(newWriter()));
  expect(await store.list()).toMatchObject([{ state: 'running' }]);
  await writeFile(lock, JSON.stringify({ ...newWriter(), start: '1' }));
  expect(await store.list()).toMatchObject([{ state: 'waiting' }]);
  await (await taken(store, 'cut')).sink.close();
  expect(folder.left()).toEqual(['cut.jsonl']);
});

test.each([
  ['of another host', JSON.stringify({ ...newWriter(), place: 'elsewhere', pid: 1 })],
  ['that cannot be read', ''],
])('a lock %s holds while it gives signs of life, and a minute longer', async (_which, content) => {
  await using folder = await folderOf([]);
  await interrupted(fileJournal(folder.path), 'cut');
  const lock = join(folder.path, 'cut.lock');
  await writeFile(lock, content);
  const store = whole(fileJournal(folder.path));
  await expect(store.take('cut')).rejects.toMatchObject({ code: 'run-locked' });
  const past = Date.now() / 1000 - 61;
  await utimes(lock, past, past);
  await (await taken(store, 'cut')).sink.close();
  expect(folder.left()).toEqual(['cut.jsonl']);
});

test('a disk that is full ends the run as failed, and says so', async () => {
  const agent = createAgent({
    model: scriptedModel(['Hi.']),
    silent: true,
    journal: singleFileJournal('/dev/full'),
  });
  const result = await agent.run('Hello');
  expect(result).toMatchObject({ status: 'failed', reason: 'thrown' });
  expect(result.error?.message).toContain('ENOSPC');
});

test('a list reads the heads and ends of runs that have ended, however long these are, and no more', async () => {
  await using folder = await folderOf(['long']);
  const large = 'x'.repeat(40_000);
  const model = scriptedModel([calls(['clock']), large]);
  await answered(fileJournal(folder.path), 'large', { model, instructions: large });
  const path = join(folder.path, 'long.jsonl');
  const lines = (await readFile(path, 'utf8')).split('\n');
  // Damage between is found by whoever reads the run.
  await writeFile(path, lines.with(3, 'x'.repeat(lines[3]?.length ?? 0)).join('\n'));
  const store = whole(fileJournal(folder.path));
  expect(await store.list()).toMatchObject([
    { runId: 'large', state: 'ended', records: 8 },
    { runId: 'long', state: 'ended', records: 8, toolsUsed: ['clock'] },
  ]);
  await expect(store.read('long')).rejects.toMatchObject({ line: 4 });
});

test('other files in the folder are left alone', async () => {
  await using folder = await folderOf(['one']);
  await mkdir(join(folder.path, 'more'));
  await appendFile(join(folder.path, 'notes.txt'), 'mine');
  await answered(fileJournal(folder.path, { maxRuns: 1 }), 'two');
  expect(folder.left()).toEqual(['more', 'notes.txt', 'two.jsonl']);
  expect(existsSync(join(folder.path, 'one.jsonl'))).toBe(false);
});

test.each(['../out', '.hidden', 'a/b', ''])('the run id %j names no file', async (runId) => {
  await using folder = await folderOf([]);
  await expect(whole(fileJournal(folder.path)).read(runId)).rejects.toThrow(/cannot name a file/);
});

test("who seemed dead and was not notices within ten seconds that the run is another's", async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    await using folder = await folderOf([]);
    const store = fileJournal(folder.path);
    await interrupted(store, 'cut');
    const { sink } = await taken(store, 'cut');
    await sink.append([{ t: 'note', at: 1, note: {} }]);
    vi.advanceTimersByTime(10_000);
    await sink.append([{ t: 'note', at: 2, note: {} }]);
    await writeFile(join(folder.path, 'cut.lock'), JSON.stringify(newWriter()));
    vi.advanceTimersByTime(10_000);
    expect(() => sink.append([{ t: 'note', at: 3, note: {} }])).toThrow(expect.objectContaining({ code: 'run-lost' }));
    expect((await recordsOf(store, 'cut')).filter(({ t }) => t === 'note')).toHaveLength(2);
    expect(folder.left()).toEqual(['cut.jsonl', 'cut.lock']);
  } finally {
    vi.useRealTimers();
  }
});

test('a list shows what a file is now, though it has read it before', async () => {
  await using folder = await folderOf(['one']);
  await using elsewhere = await folderOf([]);
  const [store, other] = [whole(fileJournal(folder.path)), whole(fileJournal(elsewhere.path))];
  const agents = async () => (await store.list({})).map(({ agent, status }) => [agent, status]);
  expect(await agents()).toEqual([['clock', 'answered']]);
  await answered(other, 'one', { name: 'another', ...failing });
  await writeFile(join(folder.path, 'one.jsonl'), await readFile(join(elsewhere.path, 'one.jsonl')));
  expect(await store.list({ agent: 'another' })).toHaveLength(1);
  expect(await agents()).toEqual([['another', 'failed']]);
  expect(await store.list({ agent: 'clock' })).toEqual([]);
  // Put in its place by a rename, as another process does that restores a backup.
  await answered(other, 'two');
  await rename(join(elsewhere.path, 'two.jsonl'), join(folder.path, 'one.jsonl'));
  expect(await store.list({ agent: 'clock' })).toHaveLength(1);
  await store.remove('one');
  expect(await store.list({})).toEqual([]);
});

test('a run that goes on is shown as it is each time, and asked for by its beginning', async () => {
  await using folder = await folderOf([]);
  const store = whole(fileJournal(folder.path));
  const { run } = await waiting(store, 'open');
  const [before] = await store.list({ agent: 'mailer' });
  expect(await store.list({ agent: 'another' })).toEqual([]);
  expect(await run.approve(run.pending[0]?.callId ?? '')).toBe(true);
  await run;
  const [after] = await store.list({ agent: 'mailer' });
  expect([before?.runId, before?.state]).toEqual(['open', 'running']);
  expect([after?.runId, after?.state]).toEqual(['open', 'ended']);
});

test('a run that nobody has written to for long is shown as it is when somebody writes to it again', async () => {
  await using folder = await folderOf([]);
  const [store, other] = [whole(fileJournal(folder.path)), whole(fileJournal(folder.path))];
  await interrupted(other, 'old');
  await utimes(join(folder.path, 'old.jsonl'), new Date(2020, 1, 1), new Date(2020, 1, 1));
  const states = async () => (await store.list({})).map(({ state, records }) => [state, records]);
  const [[, records = 0] = []] = await states();
  expect(await states()).toEqual([['waiting', records]]);
  const { sink } = await taken(other, 'old');
  expect(await states()).toEqual([['running', records]]);
  await sink.append([{ t: 'note', at: 1, note: {} }]);
  await sink.close();
  expect(await states()).toEqual([['waiting', Number(records) + 1]]);
  await other.remove('old');
  expect(await states()).toEqual([]);
});
