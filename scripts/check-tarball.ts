import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What a stranger does: install the tarball in an empty folder, run the README's first example there, ask the command for
// its version, and load the package by require().
const folder = mkdtempSync(join(tmpdir(), 'signalbox-stranger-'));
const npm = (args: readonly string[], cwd: string) =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
const expectText = (what: string, text: string, part: string) => {
  if (!text.includes(part)) throw new Error(`${what} did not print ${JSON.stringify(part)}, but:\n${text}`);
  console.log(`${what}: ${text.trim().split('\n').at(-1)}`);
};

try {
  const packed = npm(['pack', '--silent', '--pack-destination', folder], '.').trim();
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }\n');
  npm(['install', '--silent', '--no-audit', '--no-fund', packed], folder);
  copyFileSync('examples/01-hello.ts', join(folder, 'hello.ts'));
  const node = (args: readonly string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  expectText('hello.ts', node(['hello.ts']), 'It is half past twelve.');
  expectText('signalbox --version', node(['node_modules/signalbox/dist/cli/main.js', '--version']), '0.1.0');
  expectText('require', node(['-e', 'console.log(Object.keys(require("signalbox")).join(" "))']), 'createAgent');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
