import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Checks the package as npm would publish it: publint on the folder, attw on the tarball, and that the folder of
// the inspector's page holds the built page and nothing of the compiler's.
const run = (file: string, args: readonly string[]) =>
  execFileSync(process.execPath, [file, ...args], { stdio: 'inherit' });
const PAGE: ReadonlySet<string> = new Set(['index.html', 'LICENSES.txt']);
const out = mkdtempSync(join(tmpdir(), 'signalbox-pack-'));
try {
  run('node_modules/publint/src/cli.js', ['--strict']);
  const strange = readdirSync('dist/inspector/page', { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !(one.parentPath.endsWith('assets') || PAGE.has(one.name)))
    .map(({ name }) => name);
  if (strange.length > 0)
    throw new Error(`dist/inspector/page holds what is no part of the page: ${strange.join(', ')}`);
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
