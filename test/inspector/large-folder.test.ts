import { promises, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { watchFolder } from '../../src/inspector/sessions/file-session.ts';
import type { Session } from '../../src/inspector/sessions/session-list.ts';
import { SessionList } from '../../src/inspector/sessions/session-list.ts';
import { testFolder } from '../support/test-folder.ts';
import { startScene } from './scenes.ts';

const { readdir } = promises;

afterEach(() => {
  promises.readdir = readdir;
  syncBuiltinESMExports();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** As many as are shown. */
const MOST = 500;

/** A folder in which recordings are written, each a second later than the one before it. */
async function recordings() {
  const run = startScene('plain');
  await run;
  const text = run.recording();
  const folder = testFolder();
  const write = (from: number, to: number): void => {
    for (let n = from; n < to; n += 1) {
      const path = join(folder, `run-${n}.jsonl`);
      writeFileSync(path, text.replaceAll(run.runId, `run-${n}`));
      utimesSync(path, n + 1, n + 1);
    }
  };
  return { folder, write };
}

test('the newest recordings of a folder are shown: older ones make room for those that come, and nothing else does', async () => {
  const { folder, write } = await recordings();
  write(0, MOST + 1);
  const sessions = new SessionList(20);
  const watch = await watchFolder(folder, sessions);
  onTestFinished(() => watch.close());
  const isThere = (n: number): boolean => sessions.find(`run-${n}`) !== undefined;
  const count = (): number => sessions.all().length;
  expect([isThere(0), isThere(1), count()]).toEqual([false, true, MOST]);
  // A run that is resumed and shown itself is none of the folder's.
  const resumed = sessions.find('run-1') as Session;
  sessions.add({ ...resumed, id: 'run-1', info: () => ({ ...resumed.info(), kind: 'run' }), close: () => undefined });
  // One that was written again is new, though it was found first.
  const now = new Date();
  utimesSync(join(folder, 'run-2.jsonl'), now, now);
  write(MOST + 1, MOST + 3);
  await expect.poll(() => isThere(MOST + 2)).toBe(true);
  await expect.poll(() => isThere(3)).toBe(false);
  expect([0, 1, 2, 3, 4].map(isThere)).toEqual([false, true, true, false, true]);
  expect(count()).toBe(MOST + 1);
  utimesSync(join(folder, 'run-0.jsonl'), now, now);
  await expect.poll(() => isThere(0)).toBe(true);
  await expect.poll(() => isThere(4)).toBe(false);
  expect(isThere(5)).toBe(true);
});

test('a recording that is deleted is shown all the same, where there is room', async () => {
  const { folder, write } = await recordings();
  write(0, 2);
  const sessions = new SessionList(20);
  const watch = await watchFolder(folder, sessions);
  onTestFinished(() => watch.close());
  rmSync(join(folder, 'run-0.jsonl'));
  for (const n of [2, 3]) {
    write(n, n + 1);
    await expect.poll(() => sessions.find(`run-${n}`)).toBeDefined();
  }
  expect(sessions.find('run-0')).toBeDefined();
});

test.each([
  { took: 0, rests: 500 },
  { took: 50, rests: 500 },
  { took: 1000, rests: 9000 },
])('a folder whose files take $took ms to be looked at is looked at again after $rests ms', async ({ took, rests }) => {
  const { folder, write } = await recordings();
  write(0, 1);
  let looks = 0;
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  Object.assign(promises, {
    readdir: (path: string) => {
      looks += 1;
      now += took;
      return readdir(path);
    },
  });
  syncBuiltinESMExports();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const watch = await watchFolder(folder, new SessionList(20));
  vi.advanceTimersByTime(rests - 1);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(1);
  expect(looks).toBe(2);
  watch.close();
});
