import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('children/misuse.ts', import.meta.url));
const args = ['--unhandled-rejections=strict', script];
const ways: readonly string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));

test('there are ways to misuse an agent', () => expect(ways.length).toBeGreaterThan(15));

test.each(ways)('%s: no unhandled rejection, nothing on stderr, and the process ends by itself', async (way) => {
  // Far below every default time limit: a timer that is left over keeps the process alive and fails the test.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, way], { timeout: 8000 });
  expect(stdout).toBe('done\n');
  expect(stderr).toBe('');
});
