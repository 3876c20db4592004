import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';

test('however an agent is misused: no unhandled rejection, nothing on stderr, and the process ends by itself', async () => {
  const script = fileURLToPath(new URL('children/misuse.ts', import.meta.url));
  // Far below every default time limit: a timer that is left over keeps the process alive and fails the test.
  const options = { timeout: 25_000 };
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--unhandled-rejections=strict', ...BUNDLED, script],
    options,
  );
  const lines = stdout.trim().split('\n');
  expect(lines.length).toBeGreaterThan(15);
  expect(lines.at(-1)).toBe('done');
  expect(stderr).toBe('');
});
