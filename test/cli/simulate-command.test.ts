import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { Simulation } from '../../src/testing/index.ts';
import { runCli, runCliProcess, startCli } from './spawn-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'simulate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const signalbox = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;
const out = join(folder, 'out');

/** An agent whose tool forgets a promise that fails, and holds its thread meanwhile: a million seeds take no CPU. */
const forgetful = (ms = 0): string =>
  `() => (Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms}), void Promise.reject(new Error('forgotten')), 1)`;

function module(name: string, execute: string): string {
  const file = join(folder, `${name}.ts`);
  writeFileSync(
    file,
    `import { createAgent, tool } from '${signalbox}';
const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: ${execute} });
export default (options) => createAgent({ maxSteps: 3, tools: [look], ...options });`,
  );
  return file;
}

test('says that nothing failed, and what was met', async () => {
  const { code, stdout } = await runCli(['simulate', module('sound', '() => 1'), '--seeds', '20', '--out', out], {
    cwd: folder,
  });
  expect(stdout).toMatch(/^20 runs, \d+ effects, \d+ faults\.\n[^]*agent: \d+ of \d+ states[^]*Nothing failed\.$/m);
  expect(code).toBe(0);
});

test('simulates the seeds that the module names, unless the command names others', async () => {
  const file = module('seeded', '() => 1');
  const seeds = (list: unknown) =>
    `\nexport const simulation = { seeds: ${JSON.stringify(list)}, firstSeed: 70, model };`;
  const model = `\nconst model = (seed) => (console.error('seed', seed), { complete: async () => ({ content: 'Done.' }) });`;
  const text = readFileSync(file, 'utf8') + model;
  const ran = async (list: unknown, ...args: readonly string[]): Promise<readonly number[]> => {
    const own = file.replace(/\.ts$/, `-${JSON.stringify(list).length}.ts`);
    writeFileSync(own, text + seeds(list));
    const given = ['simulate', own, '--faults', 'none', '--out', out, '--json', ...args];
    const { stdout, stderr } = await runCliProcess(given, { cwd: folder });
    const all = [...new Set([...stderr.matchAll(/^seed (\d+)$/gm)].map(([, seed]) => Number(seed)))];
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, runs: all.length });
    return all.filter((seed) => seed < 2 ** 24);
  };
  expect(await ran(1)).toEqual([70]);
  expect(await ran([81, 85])).toEqual([81, 85]);
  expect(await ran(1, '--seed', '9')).toEqual([9]);
  expect(await ran(1, '--seeds', '3', '--first-seed', '5')).toEqual([5, 6]);
  expect((await ran(12, '--jobs', '2')).toSorted((a, b) => a - b)).toEqual(expect.arrayContaining([70, 76]));
});

test('prints what failed with the command that repeats it, and writes its recording', async () => {
  const file = module('loose', forgetful());
  const { code, stdout } = await runCli(['simulate', file, '--seeds', '10', '--faults', 'none', '--out', out], {
    cwd: folder,
  });
  expect(code).toBe(1);
  expect(stdout).toContain('FAILED unhandled rejection: forgotten');
  const [, seed = ''] = /--faults none --out \S+ --seed (\d+)/.exec(stdout) ?? [];
  const [written = ''] = readdirSync(out);
  expect(written).toBe(`seed-${seed}.unhandled-rejection.jsonl`);
  expect(readFileSync(join(out, written), 'utf8')).toContain('"t":"end"');
  const again = await runCli(['simulate', file, '--faults', 'none', '--out', out, '--seed', seed], { cwd: folder });
  expect(again.stdout).toContain('1 run,');
  expect(again.code).toBe(1);
});

test('the command that repeats a failure is what a shell takes, whatever is in the task and the name of the file', async () => {
  const file = module("bob's loose", forgetful());
  const task = 'Pay $HOME, `id` and "Bob\'s" bill!';
  const { stdout } = await runCli(
    ['simulate', file, '--seeds', '10', '--faults', 'none', '--task', task, '--out', out],
    {
      cwd: folder,
    },
  );
  const [, repeat = ''] = /To repeat it: signalbox (.*)/.exec(stdout) ?? [];
  const words = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${repeat}`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  const given = ['simulate', file, '--faults', 'none', '--task', task, '--out', out];
  expect(words).toEqual([...given, '--seed', expect.stringMatching(/^\d+$/)]);
});

test('threads, and the command that repeats a failure, take a file and a value that begin with a dash', async () => {
  const here = mkdtempSync(join(folder, 'dash-'));
  module(`${here.slice(folder.length + 1)}/-loose`, forgetful());
  const given = ['--seeds', '10', '--jobs', '2', '--faults', 'none', '--task=-pay'];
  const { code, stdout } = await runCliProcess(['simulate', ...given, '--', '-loose.ts'], { cwd: here });
  expect(code).toBe(1);
  const repeat = /To repeat it: signalbox (simulate \.\/-loose\.ts --faults none --task=-pay --seed \d+)$/m.exec(
    stdout,
  )?.[1];
  const again = await runCli(repeat?.split(' ') ?? [], { cwd: here });
  expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('FAILED unhandled rejection: forgotten') });
});

test('prints what was found even where it cannot be written, and says so', async () => {
  const here = mkdtempSync(join(folder, 'full-'));
  writeFileSync(join(here, '.signalbox'), '');
  const file = module('loose', forgetful());
  const args = ['simulate', file, '--seeds', '5', '--faults', 'none'];
  const { code, stdout, stderr } = await runCli(args, { cwd: here });
  expect(stdout).toContain('FAILED unhandled rejection: forgotten');
  expect(stdout).not.toContain('The recording:');
  expect(stderr).toMatch(/'\.signalbox\/simulate\/seed-\d+\.unhandled-rejection\.jsonl' could not be written: ENOTDIR/);
  expect(code).toBe(1);
  const json = await runCli([...args, '--json'], { cwd: here });
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, files: [null], failures: [{ seed: expect.any(Number) }] });
});

test.each([
  [['--seeds', '1000000', '--out', 'sound.ts/below'], /--out: '.*sound\.ts' is not a folder\./],
  [['--seeds', 'many'], /--seeds must be a whole number from 1 on, and is 'many'\./],
  [['--jobs', '0'], /--jobs must be a whole number from 1 on, and is '0'\./],
  [['--faults', 'model.bussy'], /there is no fault 'model\.bussy'\./],
  [['--export', 'other'], /has no export 'other', but default\./],
])('refuses %j', async (given, says) => {
  const { code, stderr } = await runCli(['simulate', module('sound', '() => 1'), ...given], { cwd: folder });
  expect(stderr).toMatch(says);
  expect(code).toBe(2);
});

test('Ctrl-C ends it with what was found until then', async () => {
  const file = module('long', forgetful(20));
  const args = ['simulate', file, '--seeds', '1000000', '--faults', 'none', '--max-seconds', '100', '--out', out];
  const cli = startCli(args, { cwd: folder });
  await cli.until(' of 1000000 runs, 1 failure, ');
  cli.child.kill('SIGINT');
  const { code, stdout } = await cli.ended;
  expect(stdout).toMatch(/^\d{2,} runs, [^]*FAILED unhandled rejection: forgotten[^]*The recording: /);
  expect(code).toBe(130);
});

test('threads share the seeds, and what they have met and found is put together', async () => {
  const file = module('twice', '() => 1');
  const simulate = async (...args: readonly string[]): Promise<Simulation> => {
    const { code, stdout } = await runCliProcess(['simulate', file, '--json', '--out', out, ...args], { cwd: folder });
    expect(code, stdout).toBe(0);
    return JSON.parse(stdout);
  };
  const [first, second, both] = [
    await simulate('--seeds', '8'),
    await simulate('--seeds', '9', '--first-seed', '9'),
    await simulate('--seeds', '17', '--jobs', '2'),
  ];
  expect(second.effects).not.toBe(first.effects);
  expect([both.runs, both.effects]).toEqual([17, first.effects + second.effects]);
  const parts = [first.coverage, second.coverage];
  const sumOf = (count: (coverage: Simulation['coverage']) => number | undefined): number =>
    parts.reduce((sum, coverage) => sum + (count(coverage) ?? 0), 0);
  for (const [fault, count] of Object.entries(both.coverage.faults))
    expect([fault, count]).toEqual([
      fault,
      sumOf(({ faults }) => Object.entries(faults).find(([name]) => name === fault)?.[1]),
    ]);
  for (const [reason, count] of Object.entries(both.coverage.endings))
    expect([reason, count]).toEqual([reason, sumOf(({ endings }) => endings[reason])]);
  for (const [index, { states, edges }] of both.coverage.machines.entries()) {
    const missed = parts.flatMap(({ machines }) => machines[index] ?? []);
    const [one, other] = missed.map(({ edges: own }) => own.missed.map(({ key }) => key));
    expect(states.missed).toEqual(missed[0]?.states.missed.filter((state) => missed[1]?.states.missed.includes(state)));
    expect(edges.missed.map(({ key }) => key)).toEqual(one?.filter((key) => other?.includes(key)));
    expect([states.covered, edges.covered]).toEqual([
      states.total - states.missed.length,
      edges.total - edges.missed.length,
    ]);
  }
});

test('what several threads have found is one failure, which its seed alone repeats', async () => {
  const file = module('loose', forgetful());
  const args = ['simulate', file, '--faults', 'none', '--out', out];
  const { code, stdout } = await runCliProcess([...args, '--seeds', '30', '--jobs', '2'], { cwd: folder });
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^30 runs, [^]*FAILED unhandled rejection: forgotten/)]);
  expect(stdout.match(/FAILED/g)).toHaveLength(1);
  const [, count = '', seed = ''] = /^ {2}(\d+) seeds, the first (\d+);/m.exec(stdout) ?? [];
  expect(Number(count)).toBeGreaterThan(10);
  expect(stdout).toMatch(new RegExp(`To repeat it: .* --faults none --out \\S+ --seed ${seed}$`, 'm'));
  const again = await runCli([...args, '--seed', seed, '--jobs', '2'], { cwd: folder });
  expect(again.stdout).toMatch(/^1 run, [^]*FAILED unhandled rejection: forgotten/);
});

test('a thread that ends before it has said what it found is told, and the others are not lost', async () => {
  const file = join(folder, 'leaves.ts');
  writeFileSync(
    file,
    `import { createAgent } from '${signalbox}';
let runs = 0;
export const simulation = { model: (seed) => {
  if (seed > 10 && seed < 1000 && ++runs === 3) process.exit(7);
  return { id: 'm', complete: async () => ({ content: 'Done.' }) };
} };
export default (options) => createAgent({ maxSteps: 2, ...options });`,
  );
  const args = ['simulate', file, '--seeds', '20', '--jobs', '2', '--faults', 'none', '--out', out];
  const { code, stdout, stderr } = await runCliProcess(args, { cwd: folder });
  expect(stderr).toMatch(
    /^signalbox simulate: the thread of 10 seeds from 11 on ended with exit code 7 after \d runs; what it had found is lost\.$/m,
  );
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^10 runs, [^]*Nothing failed\.$/m)]);
});

test('Ctrl-C ends all threads with what they found until then', async () => {
  const file = module('long', forgetful(20));
  const args = ['simulate', file, '--seeds', '1000000', '--jobs', '2', '--faults', 'none', '--out', out];
  const cli = startCli(args, { cwd: folder });
  await cli.until(' of 1000000 runs, ');
  cli.child.kill('SIGINT');
  const { code, stdout } = await cli.ended;
  expect(stdout).toMatch(/^\d+ runs, [^]*FAILED unhandled rejection: forgotten[^]*The recording: /);
  expect(code).toBe(130);
});

test('once a thread has found enough, all end', async () => {
  const file = join(folder, 'half.ts');
  writeFileSync(
    file,
    `import { createAgent } from '${signalbox}';
let seed = 0;
export const simulation = {
  maxFailures: 1,
  model: (one) => ((seed = one), { id: 'm', complete: async () => ({ content: 'Done.' }) }),
  check: () => seed > 400_000 || 'it is of the first half',
};
export default (options) => createAgent({ maxSteps: 2, ...options });`,
  );
  const args = ['simulate', file, '--seeds', '1000000', '--jobs', '2', '--faults', 'none', '--out', out, '--json'];
  const { code, stdout } = await runCliProcess(args, { cwd: folder });
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, stopped: false, failures: [{ count: 1, seed: 1 }] });
  expect(code).toBe(1);
});
