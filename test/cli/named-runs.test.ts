import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { viewer } from '../inspector/viewer.ts';
import { keptRuns, weatherRun } from './kept-runs.ts';
import { runCli, startCli, temporaryFolder } from './spawn-cli.ts';

const places = [
  ['a folder of recordings', undefined, []],
  ['a SQLite file', (folder: string) => sqliteJournal(join(folder, 'runs.sqlite')), ['--in', 'runs.sqlite']],
] as const;

test.each(places)(
  'replay, fork and recording take the ids of runs of %s, and beginnings of them',
  async (_what, store, place) => {
    await using user = await keptRuns(store);
    const said = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await user.signalbox(...args, ...place);
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
      return stdout;
    };
    expect(await said('replay', 'a-g')).toContain('The run ended: answered (answer).');
    expect(await said('recording', 'show', 'a-good')).toContain('Asked       How warm is it in Austin?');
    expect(await said('recording', 'validate', 'a-good', 'c-cut')).toMatch(/^a-good: valid, 8 records/);
    expect(await said('recording', 'diff', 'a-good', 'a-good')).toContain('They are the same');
    expect(JSON.parse((await said('recording', 'normalize', 'a-good')).split('\n')[0] ?? '')).toMatchObject({
      runId: 'a-good',
    });
    const forked = ['--input', 'Which file is the largest?', '--model', 'practice', '--json', '--silent'];
    const fork = await user.signalbox('fork', 'a-good', ...forked, ...place);
    expect(fork.stderr).not.toContain('There is no');
    expect(JSON.parse(fork.stdout)).toMatchObject({ states: expect.arrayContaining(['PLANNING']) });
    const [parent] = (await readdir(join(user.path, '.signalbox/runs'))).filter((name) => name.startsWith('01'));
    const text = await readFile(join(user.path, '.signalbox/runs', parent ?? ''), 'utf8');
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ parent: { runId: 'a-good' } });
    // The command has other tools than the run, which had called its own before that line.
    const later = await user.signalbox('fork', 'a-good', '--at', '6', '--model', 'practice', ...place);
    expect([later.code, later.stderr]).toEqual([
      1,
      expect.stringMatching(/left the recording at entry 4[^]*forked in code/),
    ]);
  },
);

test.each(places)('inspect shows runs of %s by their ids', async (_what, store, place) => {
  await using user = await keptRuns(store);
  const cli = startCli(['inspect', 'a-good', ...place], { cwd: user.path });
  await cli.until('Other apps send to');
  const [url = ''] = /http:\S+/.exec(cli.printed()) ?? [];
  const listed = await viewer(url).list((frame) => frame.t === 'session');
  expect(listed.at(-1)).toMatchObject({ session: { status: 'answered', title: expect.stringMatching(/Austin/) } });
  cli.child.kill('SIGINT');
  expect((await cli.ended).code).toBe(0);
});

test.each([
  ['replay', 'none.jsonl'],
  ['replay', 'a-goof'],
  ['replay', 'no/such/file'],
  ['fork', 'none.jsonl', '--at', '1'],
  ['recording', 'show', 'none.jsonl'],
  ['recording', 'diff', 'none.jsonl', 'none.jsonl'],
  ['recording', 'validate', 'none.jsonl'],
  ['recording', 'normalize', 'none.jsonl'],
  ['recording', 'show', 'a-good', '--in', 'none.sqlite'],
  ['runs', 'list', '--in', 'none.sqlite'],
  ['inspect', 'none.jsonl'],
  ['inspect', 'a-goof'],
  ['parse', 'none.txt'],
  ['parse', '--schema', 'none.json'],
  ['verify', 'none.ts'],
  ['diagram', 'none.ts'],
  ['mcp', 'list', '--mcp', 'none.json'],
  ['run', 'Hello?', '--mcp', 'none.json', '--model', 'practice'],
  ['permissions', 'list', '--path', 'none.json'],
])('what is not there is exit code 2, and named: %s %s %s', async (...args) => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/none|a-goof|no\/such/);
  expect(stderr).not.toMatch(/ at .*\.ts:\d/);
});

test.each(places)('the beginning of several ids of runs of %s names none of them', async (_what, store, place) => {
  await using user = await keptRuns(store);
  await weatherRun(user.journal, 'c-cut-2');
  const said = "'c' is the beginning of 2 run ids. Give more of it.";
  const listed = await user.signalbox('runs', 'list', '--json', ...place);
  for (const [code, ...args] of [
    [2, 'replay', 'c'],
    [2, 'recording', 'show', 'c'],
    [2, 'fork', 'c', '--at', '2', '--model', 'practice'],
    [2, 'runs', 'list', '--after', 'c'],
    [1, 'runs', 'show', 'c'],
    [1, 'runs', 'resume', 'c', '--model', 'practice'],
  ] as const)
    expect([args, await user.signalbox(...args, ...place)]).toEqual([
      args,
      { code, stdout: '', stderr: expect.stringContaining(said) },
    ]);
  expect((await user.signalbox('runs', 'list', '--json', ...place)).stdout).toBe(listed.stdout);
  // An id that is the beginning of another one names its own run, and the empty word names none.
  const whole = await user.signalbox('runs', 'show', 'c-cut', ...place);
  expect(whole.stdout).toContain('Asked       Mail Ada');
  expect((await user.signalbox('runs', 'show', '', ...place)).stdout).toBe('');
});

test('an id that fits no run is told, and --write changes no database', async () => {
  await using user = await keptRuns((folder) => sqliteJournal(join(folder, 'runs.sqlite')));
  const none = await user.signalbox('replay', 'a-goof', '--in', 'runs.sqlite');
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean 'a-good'?") });
  const write = await user.signalbox('recording', 'normalize', 'a-good', '--write', '--in', 'runs.sqlite');
  expect(write).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is a run of a database') });
});

test.each(places)('runs list finds by metadata, and goes on page by page in %s', async (_what, store, place) => {
  await using user = await keptRuns(store);
  const ids = async (...args: readonly string[]) => {
    const { stdout } = await user.signalbox('runs', 'list', '--json', ...place, ...args);
    const runs: readonly { readonly runId: string }[] = JSON.parse(stdout);
    return runs.map(({ runId }) => runId);
  };
  expect(await ids('--metadata', 'ticket=17')).toEqual(['b-bad', 'a-good']);
  expect(await ids('--metadata', '{"ticket": 17}', '--limit', '1')).toEqual(['b-bad']);
  expect(await ids('--metadata', 'ticket="17"')).toEqual([]);
  expect(await ids('--after', 'c-cut', '--limit', '1')).toEqual(['b-bad']);
  expect(await ids('--after', 'b-bad')).toEqual(['a-good']);
  const wrong = await user.signalbox('runs', 'list', '--after', 'x-none', ...place);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--after: There is no run 'x-none'") });
  expect((await user.signalbox('runs', 'list', '--metadata', 'ticket', ...place)).code).toBe(2);
});
