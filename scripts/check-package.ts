import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Checks the package as npm would publish it: publint on the folder, attw on the tarball.
const run = (file: string, args: readonly string[]) =>
  execFileSync(process.execPath, [file, ...args], { stdio: 'inherit' });
const out = mkdtempSync(join(tmpdir(), 'signalbox-pack-'));
try {
  run('node_modules/publint/src/cli.js', ['--strict']);
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', out], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  run('node_modules/@arethetypeswrong/cli/dist/index.js', [
    join(out, packed.trim()),
    '--profile',
    'node16',
    '--ignore-rules',
    'cjs-resolves-to-esm',
  ]);
} finally {
  rmSync(out, { recursive: true, force: true });
}
