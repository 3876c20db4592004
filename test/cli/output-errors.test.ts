import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { MAIN, temporaryFolder } from './spawn-cli.ts';

/** Runs a line of the shell in which `signalbox` is the command. */
async function inShell(line: string) {
  await using folder = await temporaryFolder();
  const program = [process.execPath, ...BUNDLED, MAIN].map((word) => `'${word}'`).join(' ');
  const whole = `signalbox() { ${program} "$@"; }; ${line}`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { stdout, stderr } = spawnSync('sh', ['-c', whole], {
    cwd: folder.path,
    encoding: 'utf8',
    env: { PATH, NODE_COMPILE_CACHE, HOME: folder.path },
  });
  return { stdout, stderr };
}

test.skipIf(!existsSync('/dev/full')).each(['--version', 'diagram --format json', 'runs list --json'])(
  'output that cannot be written is an error, with its reason: %s',
  async (command) => {
    expect(await inShell(`signalbox ${command} > /dev/full; echo $?>&2`)).toEqual({
      stdout: '',
      stderr: 'signalbox: standard output could not be written: ENOSPC: no space left on device, write\n1\n',
    });
  },
);

test.skipIf(!existsSync('/bin/sh'))('a reader that has gone is none', async () => {
  const { stdout, stderr } = await inShell('{ sleep 0.1; signalbox diagram --format json; echo $?>&2; } | true');
  expect([stdout, stderr]).toEqual(['', '0\n']);
});
