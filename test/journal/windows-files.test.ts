import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { type Recording, readRecording } from '../../src/journal/format/recording.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { permissionStore } from '../../src/security/permissions-store.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { temporaryFolder } from './temporary-folder.ts';

const refused = (): Error => Object.assign(new Error('operation not permitted'), { code: 'EPERM' });

/** Node's file functions with two rules of Windows, until the test ends. `open`: what other programs have open, by path. */
function onWindows({ open = new Map<string, number>(), platform = 'win32' } = {}): {
  readonly open: Map<string, number>;
} {
  const { openSync, closeSync, ftruncateSync, renameSync } = fs;
  const own = new Map<number, { readonly path: string; readonly flags: unknown }>();
  fs.openSync = (path, flags, mode) => {
    const file = openSync(path, flags, mode);
    own.set(file, { path: resolve(String(path)), flags });
    return file;
  };
  fs.closeSync = (file) => {
    own.delete(file);
    closeSync(file);
  };
  fs.ftruncateSync = (file, length) => {
    if (own.get(file)?.flags === 'a') throw refused();
    ftruncateSync(file, length);
  };
  fs.renameSync = (from, to) => {
    const path = resolve(String(to));
    const tries = open.get(path) ?? 0;
    open.set(path, tries - 1);
    if (tries > 0 || [...own.values()].some((one) => one.path === path)) throw refused();
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  const real = process.platform;
  Object.defineProperty(process, 'platform', { value: platform });
  onTestFinished(() => {
    Object.assign(fs, { openSync, closeSync, ftruncateSync, renameSync });
    syncBuiltinESMExports();
    Object.defineProperty(process, 'platform', { value: real });
  });
  return { open };
}

function payer(folder: string, replies: Parameters<typeof scriptedModel>[0]) {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const journal = fileJournal(folder);
  return { pay, agent: createAgent({ model: scriptedModel(replies), tools: [pay], silent: true, journal }) };
}

const pay = calls(['pay', { to: 'Ann' }]);

test('a run whose last line was torn is resumed where Windows cuts off no file that is open for appending', async () => {
  await using folder = await temporaryFolder();
  onWindows();
  expect(await payer(folder.path, [pay]).agent.run('Pay.', { runId: 'one', park: true })).toMatchObject({
    reason: 'parked',
  });
  const path = join(folder.path, 'one.jsonl');
  const whole = fs.readFileSync(path, 'utf8');
  fs.appendFileSync(path, '{"t":"entry","k":');
  const { agent, pay: tool } = payer(folder.path, ['Done.']);
  expect(await agent.approve('one', 'c1')).toBe(true);
  expect(await agent.resume('one')).toMatchObject({ result: 'Done.' });
  expect(tool.calls).toHaveLength(1);
  expect(fs.readFileSync(path, 'utf8').startsWith(whole)).toBe(true);
});

/** The disk is full within the line that a file of this name gets `times` writes later. */
function fullAfter(times: number, path: string, meanwhile: () => void): void {
  const { writeSync } = fs;
  let left = times;
  const half = (file: number, bytes: Buffer, offset = 0, length = bytes.length - offset): number => {
    const isIt = fs.existsSync(path) && fs.fstatSync(file).ino === fs.statSync(path).ino;
    if (!isIt || left-- > 0) return writeSync(file, bytes, offset, length);
    if (left < -1) {
      meanwhile();
      throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
    }
    return writeSync(file, bytes, offset, Math.floor(length / 2));
  };
  Reflect.set(fs, 'writeSync', half);
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  });
}

test('a line that a full disk has cut off is taken back on Windows, but not out of another file', async () => {
  await using folder = await temporaryFolder();
  onWindows();
  const path = (name: string) => join(folder.path, `${name}.jsonl`);
  const other = `${'x'.repeat(10_000)}\n`;
  const full = { status: 'failed', error: { code: 'ENOSPC' } };
  fullAfter(2, path('one'), () => undefined);
  expect(await payer(folder.path, [pay]).agent.run('Pay.', { runId: 'one' })).toMatchObject(full);
  expect(fs.readFileSync(path('one'), 'utf8')).toMatch(/\n$/);
  fullAfter(2, path('two'), () => {
    fs.rmSync(path('two'));
    fs.writeFileSync(path('two'), other);
  });
  expect(await payer(folder.path, [pay]).agent.run('Pay.', { runId: 'two' })).toMatchObject(full);
  expect(fs.readFileSync(path('two'), 'utf8')).toBe(other);
  // Another writer has added to it meanwhile.
  fullAfter(2, path('three'), () => fs.appendFileSync(path('three'), other));
  expect(await payer(folder.path, [pay]).agent.run('Pay.', { runId: 'three' })).toMatchObject(full);
  expect(fs.readFileSync(path('three'), 'utf8').endsWith(other)).toBe(true);
});

test('what is left of a run that had not begun is overwritten where Windows cuts off no open file', async () => {
  await using folder = await temporaryFolder();
  onWindows();
  fs.writeFileSync(join(folder.path, 'one.jsonl'), '{"t":"run","v":');
  const run = payer(folder.path, ['Done.']).agent.run('Pay.', { runId: 'one' });
  expect(await run).toMatchObject({ result: 'Done.' });
  const kept = readRecording(fs.readFileSync(join(folder.path, 'one.jsonl'), 'utf8'));
  expect(kept.lines.at(-1)).toMatchObject({ t: 'end' });
});

test('a torn line that another process completes meanwhile is not cut off', async () => {
  await using folder = await temporaryFolder();
  expect(await payer(folder.path, [pay]).agent.run('Pay.', { runId: 'one', park: true })).toMatchObject({
    reason: 'parked',
  });
  const path = join(folder.path, 'one.jsonl');
  fs.appendFileSync(path, '{"t":"note",');
  const { readFileSync } = fs;
  Reflect.set(fs, 'readFileSync', (file: string, how?: undefined) => {
    const text = readFileSync(file, how);
    if (file === path) fs.appendFileSync(path, 'x');
    return text;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.readFileSync = readFileSync;
    syncBuiltinESMExports();
  });
  await expect(payer(folder.path, []).agent.resume('one')).rejects.toMatchObject({ code: 'run-locked' });
  expect(readFileSync(path, 'utf8')).toMatch(/{"t":"note",x+$/);
});

test('a run is migrated where Windows moves no file over one that is open, and given back when that fails', async () => {
  await using folder = await temporaryFolder();
  const there = payer(folder.path, [pay]).agent;
  await there.run('Pay.', { runId: 'two', park: true });
  const text = ((await there.recording('two')) ?? '').replace(/"hash":"[^"]+"/, '"hash":"another"');
  const { head, lines } = readRecording(text.replace('"runId":"two"', '"runId":"one"'));
  const carried = { at: 0, records: [head, ...lines], write: () => null, open: [], overdue: [] };
  const run = fileJournal(folder.path).open({ head, accepts: () => false, carried });
  run.release?.();
  await run.abandon?.();
  const path = join(folder.path, 'one.jsonl');
  const before = fs.readFileSync(path, 'utf8');
  // A reader that never closes it.
  const { open } = onWindows({ open: new Map([[resolve(path), Infinity]]) });
  const migrate = { park: true, migrate: (past: Recording): Recording => past };
  await expect(payer(folder.path, []).agent.resume('one', migrate)).resolves.toMatchObject({
    status: 'failed',
    error: { message: 'operation not permitted' },
  });
  expect(fs.readFileSync(path, 'utf8')).toBe(before);
  expect(fs.readdirSync(folder.path).filter((name) => name.startsWith('one'))).toEqual(['one.jsonl']);
  open.clear();
  expect(await payer(folder.path, []).agent.resume('one', migrate)).toMatchObject({ reason: 'parked' });
  expect(fs.readFileSync(path, 'utf8')).not.toContain('"hash":"another"');
});

test('a file that another program reads is replaced on Windows as soon as that has closed it, and elsewhere at once', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'allowed.json');
  const read = new Map([[resolve(path), 3]]);
  onWindows({ open: read });
  const store = permissionStore({ path, agent: 'a' });
  store.add('pay');
  expect(store.isAlwaysAllowed('pay')).toBe(true);
  expect(read.get(resolve(path))).toBe(-1);
  expect(fs.readdirSync(folder.path)).toEqual(['allowed.json']);
});

test('what is refused on another system is not tried again', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'allowed.json');
  const read = new Map([[resolve(path), 3]]);
  onWindows({ open: read, platform: 'linux' });
  expect(() => permissionStore({ path, agent: 'a' }).add('pay')).toThrow('cannot be written');
  expect(read.get(resolve(path))).toBe(2);
});
