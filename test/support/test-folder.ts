import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from './beside.ts';

/** A folder of its own for the test that runs, removed when that has ended. */
export function testFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-test-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
