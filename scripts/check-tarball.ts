import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What a stranger does: install the tarball in an empty folder, run the README's first example there, ask the command for
// its version and what is in the folder, and load the package by require(). And what it costs: room, and other people's packages.
const MOST = { unpackedMB: 4, installedMB: 60, packages: 80 };
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

function expectAtMost(what: string, is: number, most: number): void {
  console.log(`${what}: ${String(Math.round(is * 100) / 100)} of at most ${String(most)}`);
  if (is > most) throw new Error(`${what}: ${String(is)}, and not at most ${String(most)}`);
}

/** What an install holds beside this package and the client of `openai`. */
function weigh(installed: string): { readonly packages: number; readonly mb: number } {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => !path.startsWith(join(installed, 'openai/')));
  const packages = files.filter((path) =>
    /[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/@]+[\\/]package\.json$/.test(path),
  );
  return { packages: packages.length, mb: files.reduce((sum, path) => sum + statSync(path).size, 0) / 1e6 };
}

try {
  const packed = npm(['pack', '--silent', '--pack-destination', folder], '.').trim();
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }\n');
  npm(['install', '--silent', '--no-audit', '--no-fund', packed], folder);
  const unpacked = readdirSync(join(folder, 'node_modules/signalbox'), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => statSync(join(one.parentPath, one.name)).size);
  console.log(`files of the package: ${String(unpacked.length)}`);
  expectAtMost('unpacked, MB', unpacked.reduce((sum, size) => sum + size, 0) / 1e6, MOST.unpackedMB);
  const { packages, mb } = weigh(join(folder, 'node_modules'));
  expectAtMost('installed packages beside openai', packages, MOST.packages);
  expectAtMost('installed MB beside openai', mb, MOST.installedMB);
  copyFileSync('examples/01-hello.ts', join(folder, 'hello.ts'));
  const node = (args: readonly string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  expectText('hello.ts', node(['hello.ts']), 'It is half past twelve.');
  expectText('signalbox --version', node(['node_modules/signalbox/dist/cli/main.js', '--version']), '0.1.0');
  const chat = ['node_modules/signalbox/dist/cli/main.js', 'chat', '--model', 'practice'];
  expectText('signalbox chat, without the file server', node(chat), 'The largest file is ');
  expectText('require', node(['-e', 'console.log(Object.keys(require("signalbox")).join(" "))']), 'createAgent');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
