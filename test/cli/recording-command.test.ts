import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { transitions } from '../../src/journal/replay/replay.ts';
import { createAgent, tool } from '../../src/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { startModelServer } from '../support/model-server.ts';
import { withoutSums } from '../support/without-sums.ts';
import { calls } from '../support/replies.ts';
import { keptRuns, weatherRun } from './kept-runs.ts';
import { NO_SERVERS, runCli, runCliProcess, startCli, temporaryFolder } from './spawn-cli.ts';

/** The kept runs, with one of their files changed. */
async function changed(runId: string, change: (text: string) => string) {
  const user = await keptRuns();
  const path = join(user.path, user.file(runId));
  await writeFile(path, change(await readFile(path, 'utf8')));
  return user;
}

test('show tells a recording step by step, also from standard input', async () => {
  await using user = await keptRuns();
  const { code, stdout } = await user.signalbox('recording', 'show', user.file('b-bad'));
  expect(code).toBe(0);
  expect(stdout).toContain('Agent       other');
  expect(stdout).toMatch(/model failed +model-error: no$/m);
  expect(stdout).toMatch(/timer set +\d+ ms$/m);
  expect(stdout).toMatch(/ends +failed \(llm-error\): Unable to complete task/);
  const piped = startCli(['recording', 'show', '-'], { cwd: user.path });
  piped.child.stdin.end(await readFile(join(user.path, user.file('b-bad'))));
  expect(await piped.ended).toEqual({ code: 0, stdout, stderr: '' });
});

test('show says what a person decided, what failed, which agent did it, and what happened from outside', async () => {
  await using user = await keptRuns();
  const reader = createAgent({
    name: 'reader',
    silent: true,
    tools: [fakeTool('read', [new Error('the disk is gone')])],
    model: scriptedModel([calls(['read']), 'It cannot be read.']),
  });
  const mail = calls(['send_mail', { to: 'Ada' }]);
  const options = {
    silent: true,
    journal: user.journal,
    tools: [fakeTool('send_mail', ['sent', 'sent'], { policy: 'confirm' })],
  } as const;
  const decisions = ['allow-once', 'deny'] as const;
  let asked = 0;
  const confirm = () => decisions[asked++] ?? 'deny';
  await createAgent({
    ...options,
    children: [reader],
    confirm,
    model: scriptedModel([mail, mail, calls(['reader', { task: 'Read it' }]), 'Done.']),
  }).run('Mail Ada', { runId: 'decided' });
  const shown = async (runId: string) => {
    const { stdout } = await user.signalbox('recording', 'show', runId);
    return stdout
      .split('\n')
      .filter((line) => !/asks model|model says|^ {20}/.test(line))
      .flatMap((line) => /^ +\d+ +[\d.]+ m?s +(.*?) {2,}(.*)$/.exec(line)?.slice(1).join(': ') ?? []);
  };
  expect(await shown('decided')).toEqual([
    'asks you: May send_mail({"to":"Ada"}) run? (c1)',
    'you say: allow-once',
    'calls tool: send_mail({"to":"Ada"}) · once',
    'tool returns: success: sent',
    'asks you: May send_mail({"to":"Ada"}) run? (c2)',
    'you say: deny',
    'calls tool: [c3/childAgent] read() · once',
    'tool failed: execution: the disk is gone',
    'ends: answered (answer): Done.',
  ]);
  // Parked, taken up again, and then answered from outside: yes, no, and an end.
  const waiting = createAgent({ ...options, confirm: 'wait', model: scriptedModel([mail, mail, mail]) });
  expect(await waiting.run('Mail Ada', { runId: 'waited', park: true })).toMatchObject({ reason: 'parked' });
  const resumed = waiting.resume('waited');
  let answered = 0;
  for await (const { type, ...event } of resumed) {
    if (type !== 'approval.requested' || !('callId' in event)) continue;
    answered += 1;
    if (answered === 1) void resumed.approve(event.callId);
    else if (answered === 2) void resumed.reject(event.callId, 'Not now.');
    else void resumed.cancel('enough');
  }
  expect(await shown('waited')).toEqual([
    'asks you: May send_mail({"to":"Ada"}) run? (c1)',
    'resumed: it was waiting, or its process had ended',
    'approved: c1',
    'calls tool: send_mail({"to":"Ada"}) · once',
    'tool returns: success: sent',
    'asks you: May send_mail({"to":"Ada"}) run? (c2)',
    'refused: c2 {"reason":"Not now."}',
    'asks you: May send_mail({"to":"Ada"}) run? (c3)',
    'cancelled: {"reason":"enough"}',
    'ends: cancelled (cancelled): [Cancelled after 3 step(s)]',
  ]);
});

test('show says in days how long a run waited, and its columns stand', async () => {
  await using user = await changed('a-good', (text) => {
    const [head, ...lines] = withoutSums(text).split('\n');
    return [head, ...lines.map((line) => line.replace(/"at":\d+/, '"at":6696000000'))].join('\n');
  });
  const { stdout } = await user.signalbox('recording', 'show', user.file('a-good'));
  expect(stdout).toMatch(/^ {3}3 {3}77\.5 d {2}model says /m);
});

test('show cuts long texts, and shows all with --full', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'long', { tools: [fakeTool('get_weather', ['long '.repeat(1000)])] });
  const cut = await user.signalbox('recording', 'show', user.file('long'));
  expect(cut.stdout).toMatch(/success: (long )+.*… \d+ more characters/);
  const full = await user.signalbox('recording', 'show', '--full', user.file('long'));
  expect(full.stdout.length).toBeGreaterThan(cut.stdout.length + 4000);
});

test('a text that is hardly too long is shown whole', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'fair', { tools: [fakeTool('get_weather', ['x'.repeat(320)])] });
  const { stdout } = await user.signalbox('recording', 'show', user.file('fair'));
  expect(stdout).toMatch(/success: "?x{320}/);
});

test('what a tool gave cannot move the cursor', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'evil', { tools: [fakeTool('get_weather', ['\u001b[2Jgone'])] });
  const { stdout } = await user.signalbox('recording', 'show', user.file('evil'));
  expect(stdout).toContain('␛[2Jgone');
  expect(stdout).not.toContain('\u001b');
});

test('validate takes whole recordings and unfinished ones', async () => {
  await using user = await keptRuns();
  const { code, stdout } = await user.signalbox('recording', 'validate', user.file('a-good'), user.file('c-cut'));
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /a-good\.jsonl: valid, 8 records, \d\d transitions\n.*c-cut\.jsonl: valid, 4 records, it has not ended\n/,
  );
});

test.each<[string, (text: string) => string, RegExp]>([
  [
    'a member of the wrong type',
    (text) => withoutSums(text).replace('"seed":', '"seed":"x","was":'),
    /line 1\/seed: expected a number/,
  ],
  [
    'an edited line',
    (text) => text.replace('{"city":"Austin"}', '{"city":"Oslo"}'),
    /line 3: does not fit its checksum/,
  ],
  ['a damaged line', (text) => text.replace('{"t":"outcome"', '{"t":"out'), /line 3: is not JSON/],
  [
    'a newer format',
    (text) => withoutSums(text).replace('"format":1', '"format":2'),
    /line 1: has format 2, and this version of Signalbox reads up to 1\. Update signalbox/,
  ],
  [
    'an outcome that leads elsewhere',
    (text) => withoutSums(text).replace('{"city":"Austin"}', '{"city":"Oslo"}'),
    /line 4: The replay left the recording at entry 4/,
  ],
])('validate finds %s, exit code 1', async (_what, change, message) => {
  await using user = await changed('a-good', change);
  const { code, stdout } = await user.signalbox('recording', 'validate', user.file('a-good'));
  expect(code).toBe(1);
  expect(stdout).toMatch(/a-good\.jsonl: not valid/);
  expect(stdout).toMatch(message);
  const json = await user.signalbox('recording', 'validate', '--json', user.file('a-good'));
  expect(JSON.parse(json.stdout)).toMatchObject({ valid: false, problems: [{ line: expect.any(Number) }] });
});

test('two runs that went the same way have the same normal form, and no difference', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'a-again', { seed: 7 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await weatherRun(user.journal, 'a-seeded', { seed: 7 });
  const normal = async (runId: string) => (await user.signalbox('recording', 'normalize', user.file(runId))).stdout;
  expect((await normal('a-again')).replace('a-again', 'a-seeded')).toBe(await normal('a-seeded'));
  const diff = await user.signalbox('recording', 'diff', user.file('a-good'), user.file('a-again'));
  expect(diff).toEqual({
    code: 0,
    stdout: 'same\nThey are the same, except for times, run ids and seeds.\n',
    stderr: '',
  });
});

test('a normal form plays as the recording did, is its own normal form, and can be written back', async () => {
  await using user = await keptRuns();
  const before = await readFile(join(user.path, user.file('a-good')), 'utf8');
  const written = await user.signalbox('recording', 'normalize', '--write', user.file('a-good'));
  expect(written.stdout).toBe('normalized .signalbox/runs/a-good.jsonl\n');
  const after = await readFile(join(user.path, user.file('a-good')), 'utf8');
  expect(transitions(after)).toEqual(transitions(before));
  expect(after).not.toMatch(/"at":[1-9]/);
  const again = await user.signalbox('recording', 'normalize', '--write', user.file('a-good'));
  expect(again).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('normalize --write leaves a run alone that a process is writing: the run would be lost', async () => {
  await using user = await keptRuns();
  const agent = createAgent({
    journal: user.journal,
    silent: true,
    model: scriptedModel([{ content: '', toolCalls: [{ name: 'normalize' }] }, 'Done.']),
    tools: [
      tool({
        name: 'normalize',
        description: 'Normalizes the run that calls it.',
        execute: () => user.signalbox('recording', 'normalize', '--write', 'a-live'),
      }),
    ],
  });
  const { status, messages } = await agent.run('Normalize yourself.', { runId: 'a-live' });
  expect(status).toBe('answered');
  const said = messages.find(({ role }) => role === 'tool')?.content;
  expect(said).toContain('Run a-live in .signalbox/runs is being written by another process.');
  expect(await user.signalbox('recording', 'normalize', '--write', 'a-live')).toMatchObject({ code: 0 });
});

test('normalize --write and another run leave the file of --record alone while a run is written to it', async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path };
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  await using server = await startModelServer(() => (asked.resolve(), answer.promise));
  const run = ['run', 'Hello?', '--record', 'r.jsonl', '--base-url', server.baseURL, ...NO_SERVERS];
  const live = runCliProcess(run, here);
  await asked.promise;
  const locked = 'Run r in . is being written by another process.';
  const normalized = await runCli(['recording', 'normalize', '--write', 'r.jsonl'], here);
  expect(normalized).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(locked) });
  const second = await runCli(run, here);
  expect(second).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(locked) });
  answer.resolve('Hello.');
  expect(await live).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  const text = await readFile(join(folder.path, 'r.jsonl'), 'utf8');
  expect(transitions(text).at(-1)).toMatchObject({ to: 'COMPLETION' });
  expect(await readdir(folder.path)).not.toContain('r.lock');
  expect(await runCli(['recording', 'normalize', '--write', 'r.jsonl'], here)).toMatchObject({ code: 0 });
});

test('the lock of a recording is not one of another program, nor in the way of a file that cannot have one', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => 'Hello.');
  await writeFile(join(folder.path, 'yarn.lock'), '# yarn lockfile v1\n');
  await utimes(join(folder.path, 'yarn.lock'), 1, 1);
  for (const file of ['yarn.jsonl', '/dev/null']) {
    const run = ['run', 'Hello?', '--record', file, '--base-url', server.baseURL, ...NO_SERVERS];
    // Commands run one after the other anyway.
    expect(await runCli(run, { cwd: folder.path })).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  }
  expect(await readFile(join(folder.path, 'yarn.lock'), 'utf8')).toBe('# yarn lockfile v1\n');
  expect(existsSync('/dev/null.lock')).toBe(false);
});

test('normalize --keep-times changes nothing but the checksums in a recording that is as it was written', async () => {
  await using user = await keptRuns();
  const { stdout } = await user.signalbox('recording', 'normalize', '--keep-times', user.file('a-good'));
  expect(stdout).toBe(withoutSums(await readFile(join(user.path, user.file('a-good')), 'utf8')));
});

test('diff says what two runs were given differently, where they part, and what became of them', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'a-cold', { tools: [fakeTool('get_weather', [{ celsius: -3 }])], maxSteps: 7 });
  const { code, stdout } = await user.signalbox('recording', 'diff', user.file('a-good'), user.file('a-cold'));
  expect(code).toBe(1);
  expect(stdout).toContain('\nTheir input differs:\n  /options/maxSteps: 20 → 7\n\nThe first difference:\n');
  expect(stdout).toContain('a-cold.jsonl, line 5: tool returns: success: {"celsius":-3}');
  expect(stdout).toContain('/value/data/celsius: 21 → -3');
  expect(stdout).toMatch(/^ {2}agent +weather +weather$/m);
  expect(stdout).toMatch(/^ {2}steps +2 +2$/m);
  const json = await user.signalbox('recording', 'diff', '--json', user.file('a-good'), user.file('a-cold'));
  expect(JSON.parse(json.stdout)).toMatchObject({
    same: false,
    verdict: 'changed',
    differences: [{ lines: [1, 1] }, { lines: [5, 5] }],
  });
});

test('a recording that ends earlier differs where it ends', async () => {
  await using user = await keptRuns();
  const lines = (await readFile(join(user.path, user.file('a-good')), 'utf8')).split('\n');
  await writeFile(join(user.path, 'short.jsonl'), lines.slice(0, 5).join('\n'));
  const { stdout } = await user.signalbox('recording', 'diff', user.file('a-good'), 'short.jsonl');
  expect(stdout).toContain('short.jsonl has ended before.');
  expect(stdout).toMatch(/^\* ended +answered \(answer\) +not yet$/m);
});

test.each([
  [['show'], 2, /'show' needs <file\|run id>/],
  [['diff', 'a'], 2, /'diff' needs <file\|run id> <file\|run id>/],
  [['show', 'a', 'b'], 2, /'b' is one argument too many/],
  [['show', 'a', '--write'], 2, /--write does not go with 'show'/],
  [['shw', 'a'], 2, /there is no 'shw'.*Did you mean 'show'\?/],
  [['show', 'none.jsonl'], 2, /there is no file 'none\.jsonl'/],
  [['show', '.'], 2, /'\.' is a folder\. Name a file in it, or see 'signalbox runs list'/],
  [['show', 'small.txt'], 1, /^signalbox: small\.txt: Line 1 of the recording/],
  [['normalize', 'small.txt'], 1, /^signalbox: small\.txt: Line 1 of the recording/],
  [['diff', 'small.txt', 'large.log'], 1, /^signalbox: small\.txt: Line 1 of the recording/],
])('what cannot be done is told: %j, exit code %i', async (args, code, message) => {
  await using folder = await temporaryFolder();
  const ended = await runCli(['recording', ...args], { cwd: folder.path });
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(message);
});

test('bisect says in a word what two runs are to each other, and where they part', async () => {
  await using user = await keptRuns();
  await weatherRun(user.journal, 'a-cold', { tools: [fakeTool('get_weather', [{ celsius: -3 }])] });
  const [good, cold, bad] = [user.file('a-good'), user.file('a-cold'), user.file('b-bad')];
  const same = await user.signalbox('bisect', good, good);
  expect([same.code, same.stdout.split('\n')[0]]).toEqual([0, 'same']);
  const other = await user.signalbox('bisect', good, cold);
  expect([other.code, other.stdout.split('\n')[0]]).toEqual([1, 'changed']);
  expect(other.stdout).toContain('a-cold.jsonl, line 5: tool returns');
  const failed = await user.signalbox('bisect', good, bad);
  expect([failed.code, failed.stdout.split('\n')[0]]).toEqual([1, 'failed']);
  const better = await user.signalbox('bisect', bad, good, '--json');
  expect(JSON.parse(better.stdout)).toMatchObject({ verdict: 'changed' });
});

test('every command that reads a recording names it where it cannot be read, and shows nothing of it before', async () => {
  await using user = await changed('a-good', (text) => withoutSums(text).replace(/"machine":\{[^}]*\},/, ''));
  const [good, damaged] = [user.file('a-good'), join('runs', 'damaged.jsonl')];
  const [head, ...lines] = (await readFile(join(user.path, user.file('b-bad')), 'utf8')).split('\n');
  await mkdir(join(user.path, 'runs'), { recursive: true });
  await writeFile(join(user.path, damaged), [head, 'garbage', ...lines].join('\n'));
  await writeFile(
    join(user.path, 'agent.ts'),
    `import { createAgent } from '${pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href}';
export default (options) => createAgent(options);`,
  );
  for (const [name, what] of [
    [good, 'Line 1 of the recording is nothing that Signalbox writes at /machine: is required.'],
    [damaged, 'Line 2 of the recording is not JSON.'],
  ] as const)
    for (const args of [
      ['replay', name],
      ['replay', name, '--json'],
      ['recording', 'show', name],
      ['recording', 'diff', user.file('b-bad'), name],
      ['fork', name, '--at', '2', '--model', 'practice', ...NO_SERVERS],
      ['bisect', name, 'agent.ts', 'agent.ts'],
      ['test', name, '--agent', 'agent.ts'],
    ]) {
      const { code, stdout, stderr } = await user.signalbox(...args);
      expect([code, stdout, stderr], args.join(' ')).toEqual([1, '', expect.stringContaining(`${name}: ${what}`)]);
    }
});

test('bisect plays a recording on two versions of its agent, and says where each leaves it', async () => {
  await using user = await keptRuns();
  const source = await readFile(join(user.path, user.file('a-good')), 'utf8');
  const { toolset, instructions, agent } = JSON.parse(source.split('\n')[0] ?? '');
  const [{ description, inputSchema }] = toolset.tools;
  const version = async (name: string, text: string): Promise<string> => {
    const tools = `[{ name: 'get_weather', description: ${JSON.stringify(description)}, effects: 'none', inputSchema: ${JSON.stringify(inputSchema)}, execute: () => ({}) }]`;
    await writeFile(
      join(user.path, name),
      `import { createAgent, tool } from '${pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href}';
export default (options) => createAgent({ name: '${agent}', instructions: ${JSON.stringify(text)}, tools: ${tools}.map(tool), ...options });`,
    );
    return name;
  };
  const was = await version('was.ts', instructions);
  const now = await version('now.ts', 'You lie.');
  const alike = await user.signalbox('bisect', user.file('a-good'), was, was);
  expect(alike).toMatchObject({ code: 0, stdout: expect.stringMatching(/^same\n.*was\.ts plays all of it: answered/) });
  const worse = await user.signalbox('bisect', user.file('a-good'), was, now);
  expect(worse).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^failed\n[^]*now\.ts leaves it at record 2: in/),
  });
  expect((await user.signalbox('bisect', user.file('a-good'), now, was)).stdout).toMatch(/^changed\n/);
  // Prompts whose difference from the recorded one begins alike, and goes on beyond what is shown.
  const long = `You lie${' now and then'.repeat(20)}`;
  const [once, twice] = [await version('once.ts', `${long}.`), await version('twice.ts', `${long}!`)];
  expect((await user.signalbox('bisect', user.file('a-good'), once, once)).stdout).toMatch(/^same\n/);
  const apart = await user.signalbox('bisect', user.file('a-good'), once, twice);
  expect(apart).toMatchObject({ code: 1, stdout: expect.stringMatching(/^changed\n/) });
  // A run that waits, or was cut off: all that there is was played.
  await writeFile(join(user.path, 'open.jsonl'), source.split('\n').slice(0, 3).join('\n'));
  expect((await user.signalbox('bisect', 'open.jsonl', was, was)).stdout).toBe(
    'same\n  was.ts plays all of it: its run had not ended\n  was.ts plays all of it: its run had not ended\n',
  );
  const open = await user.signalbox('bisect', 'open.jsonl', was, now, '--json');
  expect(JSON.parse(open.stdout)).toMatchObject({ verdict: 'failed', versions: [{ entry: null }, { entry: 2 }] });
});
