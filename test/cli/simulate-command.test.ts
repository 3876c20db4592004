import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { runCli, startCli } from './spawn-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'simulate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const signalbox = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;
const out = join(folder, 'out');

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

test('prints what failed with the command that repeats it, and writes its recording', async () => {
  const file = module('loose', "() => (void Promise.reject(new Error('forgotten')), 1)");
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

test('prints what was found even where it cannot be written, and says so', async () => {
  const here = mkdtempSync(join(folder, 'full-'));
  writeFileSync(join(here, '.signalbox'), '');
  const file = module('loose', "() => (void Promise.reject(new Error('forgotten')), 1)");
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
  [['--faults', 'model.bussy'], /there is no fault 'model\.bussy'\./],
  [['--export', 'other'], /has no export 'other', but default\./],
])('refuses %j', async (given, says) => {
  const { code, stderr } = await runCli(['simulate', module('sound', '() => 1'), ...given], { cwd: folder });
  expect(stderr).toMatch(says);
  expect(code).toBe(2);
});

test('Ctrl-C ends it with what was found until then', async () => {
  const file = module('long', "() => (void Promise.reject(new Error('forgotten')), 1)");
  const args = ['simulate', file, '--seeds', '1000000', '--faults', 'none', '--max-seconds', '100', '--out', out];
  const cli = startCli(args, { cwd: folder });
  await cli.until(' of 1000000 runs, 1 failure, ');
  cli.child.kill('SIGINT');
  const { code, stdout } = await cli.ended;
  expect(stdout).toMatch(/^\d{2,} runs, [^]*FAILED unhandled rejection: forgotten[^]*The recording: /);
  expect(code).toBe(130);
});
