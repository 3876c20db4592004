import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { changePermissions, replaceFile } from '../../../src/security/permissions-file.ts';
import { takeLock } from '../../../src/security/lock-file.ts';
import { kept, ownFolder, permissionFolder } from './permission-folder.ts';

const SCRIPT = join(import.meta.dirname, 'children', 'add-permissions.ts');

async function startAdding(
  path: string,
  job: { readonly agent: string; readonly prefix: string; readonly count: number },
) {
  const args = [SCRIPT, path, job.agent, job.prefix, String(job.count)];
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

/** No file becomes older until the test ends. */
function stopDate(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${String(n)}`);

test('two processes that add at once lose nothing', async () => {
  const { path, open } = permissionFolder();
  const jobs = [
    { agent: 'shared', prefix: 'left_', count: 40 },
    { agent: 'shared', prefix: 'right_', count: 40 },
  ];
  const children = await Promise.all(jobs.map((job) => startAdding(path, job)));
  for (const child of children) child.stdin.write('go\n');
  const exits = await Promise.all(children.map((child) => once(child, 'exit')));
  expect(exits.map(([code]) => code)).toEqual([0, 0]);
  expect(open({ agent: 'shared' }).list()).toEqual([...names('left_', 40), ...names('right_', 40)].toSorted());
  expect(readdirSync(dirname(path))).toEqual(['allowed-tools.json']);
});

test('a process that is killed while it adds leaves a whole file, and nobody waits for its lock', async () => {
  const { path, open, warnings } = permissionFolder();
  const child = await startAdding(path, { agent: 'a', prefix: 'tool_', count: 100_000 });
  child.stdin.write('go\n');
  await expect.poll(() => open({ agent: 'a' }).list().length, { interval: 5 }).toBeGreaterThan(20);
  child.kill('SIGKILL');
  await once(child, 'exit');
  writeFileSync(`${path}.lock`, `${String(child.pid)} ${hostname()} left-behind`);
  // It becomes stale after all that anybody waits: only its process, which is dead, makes it free.
  stopDate();
  utimesSync(`${path}.lock`, new Date(), new Date());
  open({ agent: 'a' }).add('after');
  expect(open({ agent: 'a' }).isAlwaysAllowed('after')).toBe(true);
  expect(warnings).toEqual([]);
});

test('one that waits gets the lock as soon as it is free', () => {
  const path = join(ownFolder(), 'lock');
  const first = takeLock(path);
  expect(takeLock(path, 0)).toBeNull();
  first?.release();
  expect(takeLock(path, 0)?.isHeld()).toBe(true);
});

test('a lock of an unknown machine is taken over when it is old, not before', () => {
  const path = join(ownFolder(), 'lock');
  const over = spawnSync(process.execPath, ['--version']).pid;
  for (const ageMs of [60_000, -60_000]) {
    writeFileSync(path, `${String(over)} another-machine token`);
    expect(takeLock(path, 0)).toBeNull();
    // Its clock may be ahead of ours.
    const changed = new Date(Date.now() - ageMs);
    utimesSync(path, changed, changed);
    expect(takeLock(path, 0)?.isHeld()).toBe(true);
  }
});

test('a file that cannot be replaced stays, and nothing is left beside it', () => {
  const folder = ownFolder();
  mkdirSync(join(folder, 'taken', 'by'), { recursive: true });
  expect(() => replaceFile(join(folder, 'taken'), 'text')).toThrow(/taken/);
  expect(readdirSync(folder)).toEqual(['taken']);
});

test('whoever lost its lock knows, and does not release that of the next', () => {
  const path = join(ownFolder(), 'lock');
  const slow = takeLock(path);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(path, longAgo, longAgo);
  const next = takeLock(path, 0);
  expect([slow?.isHeld(), next?.isHeld()]).toEqual([false, true]);
  slow?.release();
  expect(readFileSync(path, 'utf8')).not.toBe('');
  expect(next?.isHeld()).toBe(true);
});

test('a lock that never becomes free is an error with a stable code, and the file stays as it was', () => {
  const { path, open, content } = permissionFolder();
  open({ agent: 'a' }).add('t');
  writeFileSync(`${path}.lock`, `${String(process.ppid)} ${hostname()} busy`);
  stopDate();
  utimesSync(`${path}.lock`, new Date(), new Date());
  expect(() => open({ agent: 'a' }).add('x')).toThrow(expect.objectContaining({ code: 'permissions-locked' }));
  expect(content()).toEqual(kept({ a: ['t'] }));
});

test('a change whose lock was taken away is made again on what the other one wrote', () => {
  const { path, open, content } = permissionFolder();
  open({ agent: 'a' }).add('mine');
  let calls = 0;
  changePermissions(
    path,
    () => undefined,
    (all) => {
      calls += 1;
      if (calls === 2) {
        writeFileSync(path, JSON.stringify({ version: 1, agents: { other: ['theirs'] } }));
        writeFileSync(`${path}.lock`, `${String(spawnSync(process.execPath, ['--version']).pid)} ${hostname()} thief`);
      }
      return new Map(all).set('a', { tools: new Set(['new']), serverTools: [] });
    },
  );
  expect(content()).toEqual(kept({ a: ['new'], other: ['theirs'] }));
});
