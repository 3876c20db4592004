import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { BUNDLED } from '../support/bundled.ts';
import { startModelServer } from '../support/model-server.ts';
import { openScreen } from '../support/screen.ts';
import { withoutSums } from '../support/without-sums.ts';
import { MAIN, runCli, startCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script');

const ANSWER = /The largest file is large\.log/;
const ANSWER_TEXT = 'Two files are here.';
const PRACTICE = ['--model', 'practice', '--silent'];

/** Keeps so many lines of a file: as if the process that wrote it had been killed there. */
async function cutFile(path: string, lines: number): Promise<void> {
  const text = await readFile(path, 'utf8');
  await writeFile(path, `${text.split('\n').slice(0, lines).join('\n')}\n`);
}

async function newestRun(cwd: string): Promise<string> {
  const runs = await readdir(join(cwd, '.signalbox/runs'));
  return (
    runs
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted()
      .at(-1) ?? ''
  );
}

test('replay shows the moves of a recording, and where other machines would leave it', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', '--record', 'r.jsonl', ...PRACTICE], here);
  const played = await runCli(['replay', 'r.jsonl'], here);
  expect(played).toMatchObject({ code: 0, stderr: '' });
  expect(played.stdout).toMatch(/^Run {4}\S+\nAsked {2}Which file is the largest\?\n\n/);
  expect(played.stdout).toMatch(/agent {2}model\.replied: PLANNING\.DECIDING → DIRECT_EXECUTION\.RUNNING_CALLS/);
  expect(played.stdout).toMatch(/\d+ transitions, as recorded\. The run ended: answered \(answer\)\./);
  const moves = (await runCli(['replay', 'r.jsonl', '--json'], here)).stdout.trim().split('\n');
  expect(moves.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ actor: 'agent', to: 'COMPLETION' });

  await cutFile(join(folder.path, 'r.jsonl'), 6);
  expect((await runCli(['replay', 'r.jsonl'], here)).stdout).toMatch(/stops at line 6: its run has not ended/);
  const text = await readFile(join(folder.path, 'r.jsonl'), 'utf8');
  await writeFile(join(folder.path, 'other.jsonl'), withoutSums(text).replace('"name":"callTool"', '"name":"another"'));
  const other = await runCli(['replay', 'other.jsonl'], here);
  expect(other.code).toBe(1);
  expect(other.stderr).toMatch(/left the recording at entry 4, in state DIRECT_EXECUTION/);
  const forked = await runCli(['fork', 'other.jsonl', '--at', '5', ...PRACTICE], here);
  expect(forked.stderr).toMatch(/left the recording at entry 4, in state DIRECT_EXECUTION/);
  expect(forked.stderr).not.toContain('forked in code');
});

test('what is read in a recording cannot move the cursor, however the command ends', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', '--record', 'r.jsonl', ...PRACTICE], here);
  const text = withoutSums(await readFile(join(folder.path, 'r.jsonl'), 'utf8'));
  await writeFile(join(folder.path, 'evil.jsonl'), text.replace('"name":"callTool"', '"name":"\\u001b[2Jgone"'));
  for (const args of [
    ['replay', 'evil.jsonl'],
    ['fork', 'evil.jsonl', '--at', '5', ...PRACTICE],
  ]) {
    const { code, stderr } = await runCli(args, here);
    expect([code, stderr]).toEqual([1, expect.stringContaining('(␛[2Jgone ')]);
    expect(stderr).not.toContain('\u001b');
  }
});

test('fork goes on from a line with another outcome', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', '--record', 'r.jsonl', ...PRACTICE], here);
  expect((await runCli(['fork', 'r.jsonl', '--at', '3', ...PRACTICE], here)).stdout).toMatch(/The largest file is/);
  const outcome = JSON.stringify({ ok: false, error: { code: 'execution', message: 'the disk is gone' } });
  const failing = await runCli(['fork', 'r.jsonl', '--at', '5', '--outcome', outcome, '--json', ...PRACTICE], here);
  expect(JSON.parse(failing.stdout).errorHistory[0]).toMatchObject({
    message: expect.stringContaining('the disk is gone'),
  });
  const forked = await readFile(join(folder.path, '.signalbox/runs', await newestRun(folder.path)), 'utf8');
  expect(JSON.parse(forked.split('\n')[0] ?? '').parent).toMatchObject({ entry: 4 });
  const runs = await readdir(join(folder.path, '.signalbox/runs'));
  const outcomes = ['{', '{"ok": false}', '{"ok": false, "error": {"code": "execution"}}'];
  const unusable = outcomes.map((text) => ['--at', '5', '--outcome', text]);
  const blank = ['--at', '1', '--input', ' '];
  for (const wrong of [[], ['--at', 'x'], ['--at', '999'], blank, ...unusable])
    expect((await runCli(['fork', 'r.jsonl', ...wrong, ...PRACTICE], here)).code).toBe(2);
  expect(await readdir(join(folder.path, '.signalbox/runs'))).toEqual(runs);
});

test('fork --input shows its question and all its steps, as a new run does, and a later fork only what is new', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', '--record', 'r.jsonl', ...PRACTICE], here);
  const asked = await runCli(
    ['fork', 'r.jsonl', '--input', 'Which file is the smallest?', '--model', 'practice'],
    here,
  );
  expect(asked.stderr).toMatch(/^› Which file is the smallest\?\n.*, up to 20 steps\n\n● Step 1 of 20\n/m);
  const later = await runCli(['fork', 'r.jsonl', '--at', '3', '--model', 'practice'], here);
  expect(later.stderr).not.toMatch(/^›|Step 1 of/m);
  expect(later.stderr).toContain('● Step 2 of 20');
});

test('fork refuses an outcome from which the run cannot continue, and writes nothing', async () => {
  await using folder = await temporaryFolder();
  const run = createAgent({ instructions: () => 'Be kind.', model: scriptedModel(['Hello.']), silent: true }).run('Hi');
  await run;
  await writeFile(join(folder.path, 'r.jsonl'), run.recording());
  const forked = await runCli(['fork', 'r.jsonl', '--at', '3', '--outcome', 'null', ...PRACTICE], { cwd: folder.path });
  expect(forked).toMatchObject({ code: 2, stdout: '' });
  expect(forked.stderr).toMatch(
    /^signalbox fork: The run cannot continue with this outcome of agent\/composePrompt#1: /,
  );
  expect(await newestRun(folder.path)).toBe('');
});

test('runs resume finishes what was interrupted, and tells what a run came to that had ended', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', ...PRACTICE], here);
  const run = await newestRun(folder.path);
  await cutFile(join(folder.path, '.signalbox/runs', run), 7);
  const id = run.replace('.jsonl', '');
  const resumed = await runCli(['runs', 'resume', id.slice(0, 8), ...PRACTICE], here);
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(ANSWER) });
  const again = await runCli(['runs', 'resume', id, ...PRACTICE], here);
  expect(again).toMatchObject({ code: 0, stdout: resumed.stdout, stderr: `Run ${id} has ended already.\n` });
  expect((await runCli(['runs', 'resume', 'nothing', ...PRACTICE], here)).code).toBe(1);
});

test('runs recover finishes all that was interrupted, and nothing else', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  for (const asked of ['Which file is the largest?', 'Which file is the smallest?']) {
    await runCli(['run', asked, ...PRACTICE], here);
    await cutFile(join(folder.path, '.signalbox/runs', await newestRun(folder.path)), 7);
  }
  const young = await runCli(['runs', 'recover', '--older-than', '3600', ...PRACTICE], here);
  expect(young).toMatchObject({ code: 0, stdout: expect.stringContaining('No run') });
  const one = await runCli(['runs', 'recover', '--limit', '1', '--json', ...PRACTICE], here);
  expect(JSON.parse(one.stdout)).toEqual([{ runId: expect.any(String), status: 'answered' }]);
  const rest = await runCli(['runs', 'recover', ...PRACTICE], here);
  expect(rest).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+: answered\n$/) });
  const listed = await runCli(['runs', 'list', '--json'], here);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ state: 'ended' }, { state: 'ended' }]);
});

test('runs recover says whose runs it finishes: those of agents in a program are left to that', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  const journal = fileJournal(join(folder.path, 'runs'));
  const agent = createAgent({ name: 'support', model: scriptedModel(['Done.']), silent: true, journal });
  await agent.run('Go', { runId: 'theirs' });
  await cutFile(join(folder.path, 'runs/theirs.jsonl'), 2);
  expect(await journal.list?.()).toMatchObject([{ state: 'interrupted' }]);
  const { code, stdout } = await runCli(['runs', 'recover', '--in', 'runs', ...PRACTICE], here);
  expect(code).toBe(0);
  expect(stdout).toBe("No run of the agent 'signalbox' in runs needs to be recovered.\n");
});

test('runs recover ends at a run that cannot be written, and names those that it was refused', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  const ids: string[] = [];
  for (const asked of ['Which file is the largest?', 'Which file is the smallest?']) {
    await runCli(['run', asked, ...PRACTICE], here);
    const run = await newestRun(folder.path);
    await cutFile(join(folder.path, '.signalbox/runs', run), 7);
    ids.push(run.replace('.jsonl', ''));
  }
  const [older = '', newer = ''] = ids;
  const file = join(folder.path, '.signalbox/runs', `${older}.jsonl`);
  const text = await readFile(file, 'utf8');
  await writeFile(file, withoutSums(text).replace('"name":"callTool"', '"name":"another"'));
  const limited = ['-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath, ...BUNDLED, MAIN];
  const full = await promisify(execFile)('bash', [...limited, 'runs', 'recover', ...PRACTICE], {
    cwd: folder.path,
    timeout: 60_000,
  }).catch((error: { readonly code: number; readonly stdout: string }) => error);
  expect(full).toMatchObject({ code: 1, stdout: expect.stringMatching(`^${newer}: failed: .*\n${older}: refused: `) });

  const recovered = await runCli(['runs', 'recover', '--limit', '1', ...PRACTICE], here);
  expect(recovered).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(`^${newer}: answered\n${older}: refused: `),
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'runs recover: %s gives the run back that is being finished, exit code 130, and a later recover finishes it',
  async (signal) => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer(() => ({ hang: true }));
    const here = { cwd: folder.path };
    for (const asked of ['Which file is the largest?', 'Which file is the smallest?']) {
      await runCli(['run', asked, ...PRACTICE], here);
      await cutFile(join(folder.path, '.signalbox/runs', await newestRun(folder.path)), 5);
    }
    const recovering = startCli(['runs', 'recover', '--base-url', server.baseURL], here);
    onTestFinished(() => void recovering.child.kill('SIGKILL'));
    await server.received(1);
    recovering.child.kill(signal);
    expect(await recovering.ended).toMatchObject({ code: 130, stdout: expect.stringMatching(/^\S+: released\n$/) });
    expect(server.requests).toHaveLength(1);
    const listed = await runCli(['runs', 'list', '--json'], here);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ state: 'interrupted' }, { state: 'interrupted' }]);
    const later = await runCli(['runs', 'recover', ...PRACTICE], here);
    expect(later).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(\S+: answered\n){2}$/) });
  },
);

test('fork says how a run ends that asks for nothing more: no step of it was shown', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  await runCli(['run', 'Which file is the largest?', '--record', 'r.jsonl', ...PRACTICE], here);
  const fork = (reply: object) =>
    ['fork', 'r.jsonl', '--at', '3', '--outcome', JSON.stringify(reply), '--model', 'practice'] as const;
  const refused = await runCli(fork({ content: 'No.', finishReason: 'content_filter' }), here);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/filter.*\nNo\.\nRecorded in /) });
  if (!hasTerminal) return;
  const { stdout } = await startInTerminal(fork({ content: 'None of them.' }), here).ended;
  expect(stdout).toMatch(/None of them\.\r\nRecorded in /);
});

test.skipIf(!hasTerminal)(
  'the answer of a run that is taken up stays on the screen, and no spinner with it',
  async () => {
    await using folder = await temporaryFolder();
    await using server = await startModelServer([ANSWER_TEXT, { content: ANSWER_TEXT, paceMs: 100 }]);
    const args = ['--base-url', server.baseURL, '--model', 'scripted'];
    const here = { cwd: folder.path, env: { NO_COLOR: '1' } };
    await startInTerminal(['run', 'How many files?', ...args], here).ended;
    const run = await newestRun(folder.path);
    await cutFile(join(folder.path, '.signalbox/runs', run), 2);
    const command = ['runs', 'resume', run.replace('.jsonl', ''), ...args];
    const { code, stdout } = await startInTerminal(command, here).ended;
    expect(code).toBe(0);
    expect(stdout).toContain('Starting');
    const screen = openScreen({ columns: 90, rows: 24 });
    screen.write(stdout);
    const lines = screen.written().filter((line) => line !== '');
    expect(lines.filter((line) => line === ANSWER_TEXT)).toHaveLength(1);
    expect(lines.join('\n')).not.toMatch(/Starting|Thinking/);
  },
);

test('chat --session goes on in another process, and finishes what was interrupted first', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  const chat = (...args: readonly string[]) =>
    runCli(['chat', '--session', 'trip', '--model', 'practice', ...args], here);
  expect((await chat('Which file is the largest?')).stderr).toContain("Conversation 'trip': new.");
  expect((await chat('And which is the smallest?')).stderr).toContain("Conversation 'trip': 4 messages so far.");
  await cutFile(join(folder.path, '.signalbox/runs', await newestRun(folder.path)), 2);
  const third = await chat();
  expect(third.stderr).toMatch(/first the interrupted answer to: And which is the smallest\?/);
  expect(third.code).toBe(0);
  expect((await chat('And now?')).stderr).toContain("Conversation 'trip': 6 messages so far.");
  const other = await runCli(['chat', '--session', 'other', 'Hello', '--model', 'practice'], here);
  expect(other.stderr).toContain("Conversation 'other': new.");
  expect((await runCli(['chat', 'Hi', '--session', 'x', '--record', 'r.jsonl', ...PRACTICE], here)).code).toBe(2);
});
