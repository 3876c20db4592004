import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { fileJournal } from '../../src/journal/index.ts';
import { fakeTool, scriptedModel } from '../../src/testing/index.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { sqliteJournal } from '../../src/journal/stores/sqlite.ts';
import { waiting } from '../journal/stored-runs.ts';
import { keptRuns, weatherRun } from './kept-runs.ts';
import { runCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const places = [
  ['a folder of recordings', undefined, []],
  ['a SQLite file', (folder: string) => sqliteJournal(join(folder, 'runs.sqlite')), ['--in', 'runs.sqlite']],
] as const;

test.each(places)('list shows the runs of %s, the newest first', async (_what, store, place) => {
  await using user = await keptRuns(store);
  const { code, stdout, stderr } = await user.signalbox('runs', 'list', ...place);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, '2026-01-05 12:30')).toBe(
    [
      'run     began             agent    state                steps  tools        asked',
      'c-cut   2026-01-05 12:30  mailer   waiting              1      -            Mail Ada',
      'b-bad   2026-01-05 12:30  other    failed: model-error  1      -            How warm is it in Austin?',
      'a-good  2026-01-05 12:30  weather  answered             2      get_weather  How warm is it in Austin?',
      '',
    ].join('\n'),
  );
});

test.each(places)('list finds runs of %s, and prints JSON for programs', async (_what, store, place) => {
  await using user = await keptRuns(store);
  const ids = async (...args: readonly string[]) => {
    const { stdout } = await user.signalbox('runs', 'list', '--json', ...place, ...args);
    const runs: readonly { readonly runId: string }[] = JSON.parse(stdout);
    return runs.map(({ runId }) => runId);
  };
  expect(await ids()).toEqual(['c-cut', 'b-bad', 'a-good']);
  expect(await ids('--state', 'waiting')).toEqual(['c-cut']);
  expect(await ids('--tool', 'get_weather', '--reason', 'answer')).toEqual(['a-good']);
  expect(await ids('--error-code', 'model-error')).toEqual(['b-bad']);
  expect(await ids('--agent', 'weather', '--status', 'failed')).toEqual([]);
  expect(await ids('--limit', '2')).toEqual(['c-cut', 'b-bad']);
});

test('a name with a line break begins no row of the list', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'd-name', { name: 'a\nz-good  2026-01-05 12:30  weather  answered\u001b[31m' });
  const { stdout } = await user.signalbox('runs', 'list');
  expect(stdout.split('\n')).toHaveLength(6);
  expect(stdout).toMatch(/^d-name .* a␊z-good .*answered␛\[31m {2}answered /m);
});

test('list says of a run that stopped why, and of one that is driven that it runs', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'd-short', { maxSteps: 1 });
  const { run } = await waiting(user.journal, 'e-live');
  onTestFinished(() => void run.cancel());
  const { stdout } = await user.signalbox('runs', 'list');
  expect(stdout).toMatch(/^d-short .* {2}weather {2}stopped: max-steps {3}/m);
  expect(stdout).toMatch(/^e-live .* {2}mailer {3}running {2,}1 /m);
  const aged = await user.signalbox('runs', 'prune', '--max-age-days', '0', '--max-runs', '0', '--dry-run');
  expect(aged.stdout.split('\n')).toEqual(
    ['d-short', 'c-cut', 'b-bad', 'a-good'].map((id) => `would remove ${id}`).concat(''),
  );
  await user.signalbox('runs', 'prune', '--max-age-days', '0', '--max-runs', '0');
  expect((await readdir(join(user.path, '.signalbox/runs'))).filter((name) => name.endsWith('.jsonl'))).toEqual([
    'e-live.jsonl',
  ]);
});

test('list says when there is nothing, and when nothing fits', async () => {
  await using user = await keptRuns();
  expect((await user.signalbox('runs', 'list', '--agent', 'nobody')).stdout).toBe(
    'No runs in .signalbox/runs match.\n',
  );
  expect((await user.signalbox('runs', 'list', '--in', '.')).stdout).toBe('No runs in ..\n');
});

test.each([
  [20, 1, 'run     state'],
  [40, 2, 'run     state                asked'],
  [80, 2, 'run     began             agent    state                asked'],
  [120, 0, 'run     began             agent    state                steps  tools        asked'],
])('a terminal of %i columns gets the columns that fit, and no line is broken', async (columns, cut, heading) => {
  await using user = await keptRuns();
  const cli = startInTerminal(['runs', 'list'], { cwd: user.path }, columns);
  expect((await cli.ended).code).toBe(0);
  const lines = cli.printed().trimEnd().split('\r\n');
  expect(lines).toHaveLength(4);
  expect(lines[0]).toBe(heading);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  expect(lines.filter((line) => line.endsWith('…'))).toHaveLength(cut);
});

test('list shows times as the clock on the wall does, and as ISO 8601 to programs', async () => {
  await using user = await keptRuns();
  const list = (zone: string, ...more: readonly string[]) =>
    runCli(['runs', 'list', '--limit', '1', ...more], { cwd: user.path, env: { TZ: zone } });
  const [{ at }]: readonly [{ readonly at: string }] = JSON.parse((await list('Asia/Tokyo', '--json')).stdout);
  const tokyo = new Date(Date.parse(at) + 9 * 3_600_000).toISOString();
  expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect((await list('Asia/Tokyo')).stdout).toContain(`  ${tokyo.slice(0, 16).replace('T', ' ')}  `);
  expect((await list('UTC')).stdout).toContain(`  ${at.slice(0, 16).replace('T', ' ')}  `);
});

test.each(places)(
  'show tells a run of %s step by step; the beginning of its id will do',
  async (_what, store, place) => {
    await using user = await keptRuns(store);
    const { code, stdout } = await user.signalbox('runs', 'show', 'a-g', ...place);
    expect(code).toBe(0);
    expect(stdout).toContain('Asked       How warm is it in Austin?');
    expect(stdout).toMatch(/^ {3}4 .* calls tool +get_weather\(\{"city":"Austin"\}\) · once$/m);
    expect(stdout).toMatch(/^ {3}5 .* tool returns +success: \{"celsius":21\}$/m);
    expect(stdout).toMatch(/^ {3}8 .* ends +answered \(answer\): It is 21 degrees\.$/m);
    expect(stdout).not.toContain('It has not ended');
    expect((await user.signalbox('runs', 'show', 'c-cut', ...place)).stdout).toMatch(
      /asks you .*send_mail[^]*It has not ended/,
    );
    const json = await user.signalbox('runs', 'show', 'a-good', '--json', ...place);
    expect(readRecording(json.stdout)).toMatchObject({ head: { runId: 'a-good' }, lines: { length: 7 } });
  },
);

test('list measures a column once, not again for each of its rows', async () => {
  await using folder = await temporaryFolder();
  const agent = createAgent({
    name: 'Zoë',
    silent: true,
    model: scriptedModel(Array(30).fill('Yes.')),
    journal: fileJournal(join(folder.path, 'runs')),
  });
  for (let run = 0; run < 30; run++) await agent.run('Is it?').orThrow();
  const measured = vi.spyOn(Intl.Segmenter.prototype, 'segment');
  onTestFinished(() => measured.mockRestore());
  const { stdout } = await runCli(['runs', 'list', '--in', 'runs'], { cwd: folder.path });
  const lines = stdout.trimEnd().split('\n');
  expect(new Set(lines.map((line) => line.search(/agent {2}|Zoë {4}/))).size).toBe(1);
  expect(lines).toHaveLength(31);
  expect(measured.mock.calls.length).toBeLessThan(100);
});

test('show cuts long texts, and shows all with --full', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'long', { tools: [fakeTool('get_weather', ['long '.repeat(1000)])] });
  expect((await user.signalbox('runs', 'show', 'long')).stdout).toMatch(/success: (long )+.*… \d+ more characters/);
  const full = await user.signalbox('runs', 'show', '--full', 'long');
  expect(full.stdout).not.toContain('more characters');
  expect(full.stdout.match(/long/g)?.length).toBeGreaterThan(1000);
});

test('show says which run it does not know, exit code 1', async () => {
  await using user = await keptRuns();
  expect(await user.signalbox('runs', 'show', 'a-goof')).toEqual({
    code: 1,
    stdout: '',
    stderr: "There is no run 'a-goof' in .signalbox/runs. Did you mean 'a-good'?\n",
  });
});

test.each(places)(
  'prune keeps the newest runs of %s that have ended, and what can go on',
  async (_what, store, place) => {
    await using user = await keptRuns(store);
    const dry = await user.signalbox('runs', 'prune', '--max-runs', '1', '--dry-run', ...place);
    expect(dry.stdout).toBe('would remove a-good\n');
    const { stdout } = await user.signalbox('runs', 'prune', '--max-runs', '1', ...place);
    expect(stdout).toBe('removed a-good\n');
    expect((await user.signalbox('runs', 'prune', '--max-runs', '1', ...place)).stdout).toBe('Nothing to remove.\n');
    expect((await user.signalbox('runs', 'prune', '--max-age-days', '1', '--json', ...place)).stdout).toBe(
      '{"removed":[]}\n',
    );
    const aged = await user.signalbox('runs', 'prune', '--max-age-days', '0', '--json', ...place);
    expect(JSON.parse(aged.stdout)).toEqual({ removed: ['c-cut', 'b-bad'] });
  },
);

test('prune leaves no file behind', async () => {
  await using user = await keptRuns();
  await user.signalbox('runs', 'prune', '--max-age-days', '0');
  expect(await readdir(join(user.path, '.signalbox/runs'))).toEqual([]);
});

test.each([
  [[], /say what to do: list, show, resume, recover, prune/],
  [['lst'], /there is no 'lst'.*Did you mean 'list'\?/],
  [['show'], /'show' needs <run id>/],
  [['list', 'x'], /'x' is one argument too many/],
  [['prune'], /needs --max-runs, --max-age-days or both/],
  [['prune', '--max-runs', 'many'], /--max-runs takes a whole number from 0 on, not 'many'/],
  [['prune', '--max-runs', '1', '--state', 'ended'], /--state does not go with 'prune'/],
  [['list', '--state', 'dead'], /--state takes running, interrupted, waiting, ended, not 'dead'/],
  [['list', '--status', 'foo'], /--status takes answered, stopped, failed, cancelled, not 'foo'/],
  [['list', '--in', 'large.log'], /--in: 'large\.log' is no SQLite file\. Recordings are named by their folder/],
  [['list', '--in', 'nowhere'], /--in: there is no folder or file 'nowhere'/],
])('wrong usage is told, exit code 2: %j', async (args, message) => {
  await using folder = await temporaryFolder();
  const { code, stderr } = await runCli(['runs', ...args], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test('repair cuts a damaged run off before the damage, and says what is forgotten by that', async () => {
  await using user = await keptRuns();
  const path = join(user.path, user.file('a-good'));
  await writeFile(path, (await readFile(path, 'utf8')).replace('"celsius":21', '"celsius":31'));
  expect((await user.signalbox('runs', 'show', 'a-good')).stderr).toMatch(/Line 5 .*does not fit its checksum/);
  const { code, stdout } = await user.signalbox('runs', 'repair', 'a-good');
  expect(code).toBe(0);
  expect(stdout).toMatch(/Line 5 .*checksum[^]*Kept 4 lines of a-good, and cut 4 off\./);
  expect((await user.signalbox('runs', 'show', 'a-good')).stdout).toContain('It has not ended');
  expect((await user.signalbox('runs', 'repair', 'a-good')).stdout).toBe('a-good is not damaged: 4 lines.\n');
  const json = await user.signalbox('runs', 'repair', '--json', 'b-bad');
  expect(JSON.parse(json.stdout)).toMatchObject({ runId: 'b-bad', lost: 0, damage: null });
  expect(await user.signalbox('runs', 'repair', 'none')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no run 'none'"),
  });
});
