import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { testFolder } from '../support/test-folder.ts';

const CHILD = fileURLToPath(new URL('children/on-read-only-disk.ts', import.meta.url));
const UNSHARE = ['--user', '--map-root-user', '--mount'];

/** Linux lets a process have a disk of its own, unless it is told not to. */
const isPossible = spawnSync('unshare', [...UNSHARE, 'sh', '-c', 'mount -t tmpfs -o ro none /tmp']).status === 0;

test.skipIf(!isPossible)(
  'a folder that cannot be made on a read-only disk is said to be that, not to be missing',
  () => {
    const folder = testFolder();
    const onReadOnly = 'mount -t tmpfs -o ro none "$0" && cd "$0" && exec "$@"';
    const node = [process.execPath, ...BUNDLED, CHILD];
    const { stdout, stderr } = spawnSync('unshare', [...UNSHARE, 'sh', '-c', onReadOnly, folder, ...node], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    });
    const lines = stdout.trim().split('\n');
    expect(lines, stderr).toHaveLength(4);
    for (const line of lines.slice(0, 2))
      expect(line).toMatch(
        /^failed store-unwritable state\/runs(\.db)? cannot be written \(EROFS: read-only file system, mkdir/,
      );
    expect(lines[2]).toContain(`${folder}/.signalbox/mcp/tokens.json cannot be written (EROFS)`);
    expect(lines[3]).toContain(`${folder}/.signalbox/security/allowed-tools.json cannot be written (EROFS)`);
  },
);

test.skipIf(process.platform !== 'linux')(
  'a folder that cannot be made is said to be that at once, where the folder above it is there, and where it is gone',
  () => {
    const inFolder = (which: string) =>
      spawnSync('sh', ['-c', which, testFolder(), process.execPath, ...BUNDLED, CHILD], {
        encoding: 'utf8',
        timeout: 20_000,
        env: { ...process.env, HOME: '/proc/nobody' },
      });
    for (const ended of [inFolder('cd /proc && exec "$@"'), inFolder('cd "$0" && rmdir "$0" && exec "$@"')]) {
      const lines = ended.stdout.trim().split('\n');
      expect(lines, ended.stderr).toHaveLength(4);
      for (const line of lines.slice(0, 2))
        expect(line).toMatch(/^failed store-unwritable .* cannot be written \(ENOENT: .*no such file or directory/);
      for (const line of lines.slice(2)) expect(line).toMatch(/\/proc\/nobody\/\S+ cannot be written \(ENOENT\)/);
    }
  },
);

test("without Node's permission to write, the error names the option of Node that gives it", () => {
  const folder = realpathSync(testFolder());
  const run = (...allowed: readonly string[]) => {
    const flags = ['--permission', '--allow-fs-read=*', ...allowed];
    const env = { ...process.env, HOME: folder };
    const ended = spawnSync(process.execPath, [...flags, ...BUNDLED, CHILD], { cwd: folder, encoding: 'utf8', env });
    expect(ended.stderr).not.toContain('Error');
    return ended.stdout.trim().split('\n').slice(0, 2);
  };
  const refused = run();
  expect(refused).toEqual([
    expect.stringMatching(/^failed store-unwritable state\/runs cannot be written .*--allow-fs-write=state\/runs\*/),
    expect.stringMatching(/^failed store-unwritable state\/runs\.db cannot be .*--allow-fs-write=state\/runs\.db\*/),
  ]);
  mkdirSync(join(folder, 'state'));
  expect(run('--allow-fs-write=state/runs*')).toEqual(['answered undefined undefined', 'answered undefined undefined']);
});
