import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { runCli } from '../cli/spawn-cli.ts';
import { withoutSums } from '../support/without-sums.ts';
import { answered, whole } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const isLinux = process.platform === 'linux';

/** The warnings of this process until the test ends. */
function warnings(): readonly string[] {
  const seen: string[] = [];
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void seen.push(String(warning)));
  onTestFinished(() => spy.mockRestore());
  return seen;
}

/** The same recording with another head, as somebody else's program could write it. */
function withHead(text: string, changes: object): string {
  const [head = '', ...lines] = withoutSums(text).split('\n');
  return [JSON.stringify({ ...JSON.parse(head), ...changes }), ...lines].join('\n');
}

const WRONG_HEADS = [
  ['agent', { agent: undefined }],
  ['at', { at: {} }],
  ['input', { input: 5 }],
  ['metadata', { metadata: null }],
  ['runId', { runId: 5 }],
] as const;

/** A folder with two runs that have ended, and whatever else a folder may hold under the name of a run. */
async function oddFolder() {
  const folder = await temporaryFolder();
  const store = whole(fileJournal(folder.path));
  for (const runId of ['one', 'two']) await answered(store, runId);
  const at = (name: string): string => join(folder.path, name);
  const text = readFileSync(at('one.jsonl'), 'utf8');
  mkdirSync(at('folder.jsonl'));
  symlinkSync('.', at('around.jsonl'));
  symlinkSync('loop.jsonl', at('loop.jsonl'));
  if (process.platform !== 'win32') execFileSync('mkfifo', [at('pipe.jsonl')]);
  // Whoever opens it may not read it, root neither.
  if (isLinux) symlinkSync('/proc/self/mem', at('unreadable.jsonl'));
  for (const [name, changes] of WRONG_HEADS) writeFileSync(at(`head-${name}.jsonl`), withHead(text, changes));
  writeFileSync(at('line.jsonl'), `${withoutSums(text).split('\n')[0]}\n{"t":"start"}\n{"t":"event"}\n`);
  return { ...folder, store, text };
}

test('files that are no runs, or not to be read, hide no other run from a list', async () => {
  await using folder = await oddFolder();
  const seen = warnings();
  expect((await folder.store.list()).map(({ runId }) => runId).toSorted()).toEqual(['one', 'two']);
  expect(seen).toEqual([
    expect.stringMatching(new RegExp(`^(?:.*left out of the list.*\\n){3}… and ${isLinux ? 4 : 3} more\\.$`)),
  ]);
});

test.each([
  ...WRONG_HEADS.map(([name]) => [`head-${name}`, `Line 1 .* without a usable "${name}"`] as const),
  ['line', 'Line '] as const,
  ...(isLinux ? [['unreadable', 'EIO'] as const] : []),
])('of a file that is no run, or not to be read, a list says what is wrong: %s', async (name, what) => {
  await using folder = await oddFolder();
  for (const other of readdirSync(folder.path))
    if (other !== `${name}.jsonl`) rmSync(join(folder.path, other), { recursive: true });
  const seen = warnings();
  expect(await folder.store.list()).toEqual([]);
  expect(seen).toEqual([
    expect.stringMatching(new RegExp(`${name}\\.jsonl is left out of the list of runs\\. ${what}`)),
  ]);
  await folder.store.list();
  expect(seen).toHaveLength(2);
});

test('with them a run is shown, listed and pruned by its command', async () => {
  await using folder = await oddFolder();
  warnings();
  const run = (...args: readonly string[]) => runCli(['runs', ...args, '--in', folder.path], { cwd: folder.path });
  expect(await run('show', 'one')).toMatchObject({ code: 0, stdout: expect.stringContaining('What time is it?') });
  expect(await run('list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^run [^]*\ntwo .*\none .*\n$/) });
  const pruned = await run('prune', '--max-runs', '1', '--json');
  expect(pruned).toMatchObject({ code: 0, stdout: '{"removed":["one"]}\n' });
});

test('with them a journal keeps to its limits', async () => {
  await using folder = await oddFolder();
  const seen = warnings();
  const journal = fileJournal(folder.path, { maxRuns: 1 });
  const agent = createAgent({ model: scriptedModel(['Hello.']), journal, silent: true });
  expect(await agent.run('Hi', { runId: 'three' })).toMatchObject({ status: 'answered' });
  const left = await whole(journal).list();
  expect(left.map(({ runId }) => runId)).toEqual(['three']);
  expect(seen.filter((warning) => !warning.includes('left out of the list'))).toEqual([]);
});

test('a run whose lock cannot be read is named and left out of a list; the others are listed, pruned and recovered', async () => {
  await using folder = await temporaryFolder();
  const store = whole(fileJournal(folder.path));
  for (const runId of ['one', 'two']) await answered(store, runId);
  const begun = readFileSync(join(folder.path, 'one.jsonl'), 'utf8').split('\n').slice(0, 2).join('\n');
  for (const name of ['begun', 'stuck']) writeFileSync(join(folder.path, `${name}.jsonl`), `${begun}\n`);
  for (const name of ['stuck', 'two']) mkdirSync(join(folder.path, `${name}.lock`));
  const seen = warnings();
  expect((await store.list()).map(({ runId }) => runId).toSorted()).toEqual(['begun', 'one', 'two']);
  expect(seen).toEqual([expect.stringMatching(/stuck\.jsonl is left out of the list of runs\. EISDIR/)]);
  const journal = fileJournal(folder.path, { maxRuns: 0 });
  const agent = createAgent({ name: 'clock', model: scriptedModel(['Hello.', 'Hello.']), journal, silent: true });
  const { runs } = await agent.resumeOrphans();
  await Promise.all(runs);
  expect(runs.map(({ runId }) => runId)).toEqual(['begun']);
  expect(await agent.run('Hi', { runId: 'three' })).toMatchObject({ status: 'answered' });
  await vi.waitFor(() => expect(readdirSync(folder.path)).not.toContain('one.jsonl'));
  expect(seen).toContainEqual(expect.stringMatching(/two\.jsonl could not be removed\. EISDIR/));
});

test('a file where a database keeps its secrets hides no run from the first list', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  await answered(sqliteJournal(path), 'one');
  writeFileSync(`${path}-secrets`, '');
  expect((await whole(sqliteJournal(path)).list()).map(({ runId }) => runId)).toEqual(['one']);
});

test('a folder or a pipe under the name of a run is not a run to resume, to show or to repair, and none begins there', async () => {
  await using folder = await oddFolder();
  const agent = createAgent({ model: scriptedModel(['Hello.']), journal: folder.store, silent: true });
  for (const runId of process.platform === 'win32' ? ['folder'] : ['folder', 'pipe']) {
    await expect(async () => agent.resume(runId)).rejects.toThrow(`has no run ${runId}.`);
    expect(await folder.store.read(runId)).toBeNull();
    expect(await fileJournal(folder.path).repair?.(runId)).toBeNull();
    expect(await agent.run('Hi', { runId })).toMatchObject({ error: { code: 'run-exists' } });
  }
});

test('a file that is longer than memory hides no other run from a list, and is pruned', async () => {
  await using folder = await temporaryFolder();
  const store = whole(fileJournal(folder.path));
  for (const runId of ['one', 'two']) await answered(store, runId);
  const at = (name: string): string => join(folder.path, name);
  writeFileSync(at('hole.jsonl'), '');
  truncateSync(at('hole.jsonl'), 3 * 2 ** 30);
  writeFileSync(at('begun.jsonl'), '{"t":"run"');
  truncateSync(at('begun.jsonl'), 3 * 2 ** 30);
  utimesSync(at('begun.jsonl'), 0, 0);
  const seen = warnings();
  expect((await store.list()).map(({ runId }) => runId)).toEqual(['two', 'one']);
  expect(seen).toEqual([expect.stringMatching(/(?:.*is longer than a text can be.*\n?){2}/)]);
  const journal = fileJournal(folder.path, { maxAgeDays: 1 });
  const agent = createAgent({ model: scriptedModel(['Hello.']), journal, silent: true });
  expect(await agent.run('Hi', { runId: 'three' })).toMatchObject({ status: 'answered' });
  await vi.waitFor(() => expect(readdirSync(folder.path)).not.toContain('begun.jsonl'));
});

test.skipIf(process.platform === 'win32')(
  'a pipe in the place of what stands beside a run holds nobody up',
  async () => {
    await using folder = await temporaryFolder();
    const store = whole(fileJournal(folder.path));
    await answered(store, 'one');
    const at = (name: string): string => join(folder.path, name);
    const [head = '', second = ''] = withoutSums(readFileSync(at('one.jsonl'), 'utf8')).split('\n');
    writeFileSync(at('begun.jsonl'), `${head}\n${second}\n`);
    const told = { ...JSON.parse(head), history: { $history: 'told', from: 0, to: 1 } };
    writeFileSync(at('told.jsonl'), `${JSON.stringify(told)}\n${second}\n`);
    mkdirSync(at('histories'));
    mkdirSync(at('requests'));
    const asked = 'requests/three~00000000-0000-0000-0000-000000000000.ask';
    for (const name of ['begun.lock', 'old.vault', 'three.vault', 'histories/told.jsonl', asked])
      execFileSync('mkfifo', [at(name)]);
    utimesSync(at('old.vault'), 0, 0);
    expect((await store.list()).map(({ runId }) => runId).toSorted()).toEqual(['begun', 'one', 'told']);
    await expect(store.read('told')).rejects.toMatchObject({ code: 'bad-recording' });
    await expect(store.take('begun')).rejects.toMatchObject({ code: 'run-locked' });
    const agent = createAgent({
      model: scriptedModel(['Hello.', 'Hello.']),
      journal: fileJournal(folder.path),
      silent: true,
    });
    expect(await agent.run('Hi', { runId: 'two' })).toMatchObject({ status: 'answered' });
    expect(store.secrets.read('three')).toEqual({});
    expect(() => store.secrets.keep('three', { '«secret:1»': 'a-key' })).toThrow(/ENXIO/);
    const done = store.requests.serve('three', () => Promise.resolve({}));
    await vi.waitFor(() => expect(existsSync(at(asked))).toBe(false));
    done();
  },
);

test('what a link in the place of a run, of its secrets or of a copy leads to is not written', async () => {
  await using folder = await temporaryFolder();
  const store = whole(fileJournal(folder.path));
  await answered(store, 'one');
  const at = (name: string): string => join(folder.path, name);
  writeFileSync(at('foreign'), 'not a line');
  for (const name of ['two.jsonl', 'two.vault', 'one.jsonl.damaged', 'one.jsonl.new']) symlinkSync('foreign', at(name));
  symlinkSync('nothing', at('three.jsonl'));
  const agent = createAgent({ model: scriptedModel(['Hello.', 'Hello.']), journal: store, silent: true });
  for (const runId of ['two', 'three'])
    expect(await agent.run('Hi', { runId })).toMatchObject({ error: { code: 'run-exists' } });
  expect(() => store.secrets.keep('two', { '«secret:1»': 'a-key' })).toThrow(/ELOOP/);
  const text = readFileSync(at('one.jsonl'), 'utf8');
  writeFileSync(at('one.jsonl'), text.replace('"t":"end"', '"t":"and"'));
  expect(await fileJournal(folder.path).repair?.('one')).toMatchObject({ lost: 1 });
  const taken = await store.take('one');
  const [head, ...lines] = readRecording(text).lines;
  if (taken !== null && head !== undefined) await taken.sink.replace?.([taken.recording.head, head, ...lines]);
  await taken?.sink.close();
  expect(readFileSync(at('foreign'), 'utf8')).toBe('not a line');
  expect(existsSync(at('nothing'))).toBe(false);
});

test('the id in the recording of somebody else names no secrets of another folder', async () => {
  await using folder = await temporaryFolder();
  const store = whole(fileJournal(join(folder.path, 'runs')));
  await answered(store, 'one');
  writeFileSync(join(folder.path, 'two.vault'), '{"«secret:1»":"a-key"}\n');
  for (const runId of ['../two', '..\\two', 'x/../../two', '\ud800', 'a\u0000b'])
    expect(store.secrets.read(runId)).toEqual({});
  store.secrets.keep('../two', { '«secret:2»': 'another' });
  expect(store.secrets.read('../two')).toEqual({ '«secret:2»': 'another' });
  expect(readFileSync(join(folder.path, 'two.vault'), 'utf8')).not.toContain('another');
});

test('a link to the file of a run is the run, and a head that knows more than this version is read', async () => {
  await using folder = await oddFolder();
  warnings();
  symlinkSync('one.jsonl', join(folder.path, 'link.jsonl'));
  writeFileSync(join(folder.path, 'newer.jsonl'), withHead(folder.text, { mood: 5, input: '', metadata: {} }));
  const listed = (await folder.store.list()).map(({ runId }) => runId).toSorted();
  expect(listed).toEqual(['link', 'newer', 'one', 'two']);
});

test('a recording with a byte-order mark, as an editor has saved it, is read, listed, shown and resumed like any other', async () => {
  await using folder = await temporaryFolder();
  const store = whole(fileJournal(folder.path));
  await answered(store, 'one');
  const text = readFileSync(join(folder.path, 'one.jsonl'), 'utf8');
  const seen = warnings();
  const copies = { summed: text, plain: withoutSums(text), begun: `${text.split('\n').slice(0, 2).join('\n')}\n` };
  for (const [name, content] of Object.entries(copies)) {
    writeFileSync(join(folder.path, `${name}.jsonl`), `\ufeff${content}`);
    expect(readRecording(`\ufeff${content}`)).toEqual(readRecording(content));
    expect(await store.read(name)).toEqual(readRecording(content));
  }
  const states = (await store.list()).map(({ runId, state, records }) => ({ runId, state, records }));
  const { records } = states.find(({ runId }) => runId === 'one') ?? {};
  expect(states).toEqual(
    expect.arrayContaining([
      { runId: 'summed', state: 'ended', records },
      { runId: 'plain', state: 'ended', records },
      { runId: 'begun', state: 'interrupted', records: 2 },
    ]),
  );
  expect(seen).toEqual([]);
  const agent = createAgent({ journal: store, model: scriptedModel(['Again.']), silent: true });
  expect(await agent.resume('begun')).toMatchObject({ status: 'answered' });
  expect((await store.list()).find(({ runId }) => runId === 'begun')).toMatchObject({ state: 'ended' });
  const shown = await runCli(['recording', 'validate', 'plain.jsonl', 'summed.jsonl', 'begun.jsonl'], {
    cwd: folder.path,
  });
  expect(shown).toMatchObject({ code: 0, stderr: '' });
});

test.each(WRONG_HEADS)('a head without its %s is damage wherever a recording is read', async (name, changes) => {
  await using folder = await temporaryFolder();
  const { recording } = await answered(fileJournal(folder.path), 'one');
  expect(() => readRecording(withHead(recording, changes))).toThrow(
    expect.objectContaining({ code: 'bad-recording', line: 1, message: expect.stringContaining(`"${name}"`) }),
  );
});
