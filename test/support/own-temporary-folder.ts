import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What Chromium and its driver make is theirs to remove, which they do when the worker has ended. */
const OF_CHROMIUM = /^playwright|^\.?org\.chromium\./;

/**
 * Gives a run of the tests a temporary folder of its own, and fails the run where a test has left something in it: a
 * folder that is made with `testFolder` is removed with its test.
 */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-tests-'));
  // The server of Postgres runs as another user.
  chmodSync(folder, 0o755);
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  return () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    const left = readdirSync(folder).filter((name) => !OF_CHROMIUM.test(name));
    rmSync(folder, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`Tests have left this in the temporary folder: ${left.toSorted().join(', ')}`);
  };
}
