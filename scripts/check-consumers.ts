import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

// Other people's projects around the packed tarball: vitest 3 to 5, package managers, TypeScript, bundlers and Next. Takes
// minutes and a registry; `npm run check:consumers -- next` runs those whose names hold a word.
const EXTERNALS = new URL('consumers/', import.meta.url);
const root = mkdtempSync(join(tmpdir(), 'signalbox-consumers-'));
const env = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
  NEXT_TELEMETRY_DISABLED: '1',
};
const shell = process.platform === 'win32';
const sh = (file: string, args: readonly string[], cwd: string): string =>
  execFileSync(file, args, { cwd, env, shell, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const node = (args: readonly string[], cwd: string) => sh(process.execPath, args, cwd);
const npx = (line: string, cwd: string) => sh('npx', ['--no-install', ...line.split(' ')], cwd);
const tarball = join(root, sh('npm', ['pack', '--silent', '--pack-destination', root], '.').trim());

/** A folder of its own with the tarball, these packages, and the files of scripts/consumers. */
function project(
  name: string,
  packages: readonly string[],
  install = 'npm install --silent --no-audit --no-fund',
): string {
  const folder = join(root, name);
  mkdirSync(folder);
  cpSync(EXTERNALS, folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  const [command = '', ...args] = install.split(' ');
  sh(command, [...args, tarball, ...packages], folder);
  return folder;
}

function expectText(said: string, part: string): void {
  if (!said.includes(part)) throw new Error(`expected ${JSON.stringify(part)}, but got:\n${said}`);
}

/** What the application prints when the agent answers and the inspector's page is served. */
const expectApp = (said: string) => expectText(said, 'Half past twelve. 200 <!doctype html>');

const copiesOfXState = (folder: string): readonly string[] =>
  readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith(join('node_modules', 'xstate', 'package.json')) || path === join('xstate', 'package.json'),
  );

let bundled: string | undefined;
const bundlers = () =>
  (bundled ??= project('bundlers', [
    'esbuild',
    'rolldown',
    'webpack',
    'webpack-cli',
    'vite',
    'bun',
    'next',
    'react',
    'react-dom',
  ]));

async function nextApp(flag: readonly string[]): Promise<void> {
  const folder = bundlers();
  npx(['next', 'build', ...flag].join(' '), folder);
  const port = '45671';
  const server = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-p', port], {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  try {
    let said = '';
    for (let attempt = 0; attempt < 60 && said === ''; attempt++) {
      // oxlint-disable-next-line no-await-in-loop -- the server needs a moment
      said = await fetch(`http://127.0.0.1:${port}/agent`)
        .then((answer) => answer.text())
        .catch(() => wait(500, ''));
    }
    expectApp(said);
  } finally {
    server.kill();
    await once(server, 'exit');
    rmSync(join(folder, '.next'), { recursive: true, force: true });
  }
}

function types(packages: readonly string[], lib: string): void {
  const folder = project(`types-${readdirSync(root).length}`, ['typescript', ...packages]);
  for (const module of ['nodenext', 'preserve'])
    npx(
      `tsc --noEmit --strict --skipLibCheck false --target es2022 --lib ${lib} --module ${module} entries.ts`,
      folder,
    );
}

const CASES: Readonly<Record<string, () => void | Promise<void>>> = {
  ...Object.fromEntries(
    ['3', '4', '5'].map((version) => [
      `vitest ${version}`,
      () => expectText(npx('vitest run', project(`vitest-${version}`, [`vitest@${version}`])), 'loopDetection'),
    ]),
  ),
  'npm: one xstate': () => {
    const copies = copiesOfXState(project('npm', ['zod', 'xstate']));
    if (copies.length !== 1) throw new Error(`copies: ${copies.join(', ')}`);
  },
  'npm: an older xstate is refused': () => {
    try {
      project('npm-old', ['xstate@5.20.0'], 'npm install --no-audit --no-fund');
    } catch (error) {
      return expectText(String(Reflect.get(Object(error), 'stderr')), 'ERESOLVE');
    }
    throw new Error('it was installed');
  },
  pnpm: () => {
    const pnpm = join(project('pnpm-itself', ['pnpm']), 'node_modules/.bin/pnpm');
    const folder = project('pnpm', ['zod', 'xstate'], `${pnpm} add`);
    expectApp(node(['main.js'], folder));
    const copies = readdirSync(join(folder, 'node_modules/.pnpm')).filter((name) => name.startsWith('xstate@'));
    if (copies.length !== 1) throw new Error(`copies: ${copies.join(', ')}`);
  },
  'types without @types/node or DOM': () => types([], 'es2022'),
  'types with DOM': () => types([], 'es2023,dom'),
  'types with @types/node': () => types(['@types/node@24'], 'es2023'),
  esbuild: () => {
    npx('esbuild main.js --bundle --platform=node --format=esm --outfile=out/esbuild.mjs', bundlers());
    expectApp(node(['out/esbuild.mjs'], bundlers()));
    npx('esbuild main.js --bundle --platform=node --format=cjs --outfile=out/esbuild.cjs', bundlers());
    expectApp(node(['out/esbuild.cjs'], bundlers()));
    // Far from node_modules there is no page, and a clear word about it.
    const alone = join(root, 'alone');
    cpSync(join(bundlers(), 'out/esbuild.mjs'), join(alone, 'main.mjs'));
    expectText(node(['main.mjs'], alone), 'Half past twelve. page-missing');
  },
  rolldown: () => {
    npx('rolldown main.js --platform node --format esm -d out/rolldown', bundlers());
    expectApp(node(['out/rolldown/main.js'], bundlers()));
  },
  webpack: () => {
    npx('webpack', bundlers());
    expectApp(node(['out/webpack/main.mjs'], bundlers()));
  },
  'Vite SSR': () => {
    npx('vite build', bundlers());
    expectApp(node(['out/vite/main.js'], bundlers()));
  },
  bun: () => {
    npx('bun build main.js --target=bun --outfile out/bun.js', bundlers());
    expectApp(npx('bun out/bun.js', bundlers()));
  },
  'Next, Turbopack': () => nextApp([]),
  'Next, webpack': () => nextApp(['--webpack']),
};

const [wanted = ''] = process.argv.slice(2);
for (const [name, check] of Object.entries(CASES).filter(([each]) =>
  each.toLowerCase().includes(wanted.toLowerCase()),
)) {
  try {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: they are heavy
    await check();
    console.log(`ok    ${name}`);
  } catch (error) {
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.message : String(error)}`);
    for (const stream of ['stdout', 'stderr'])
      console.log(String(Reflect.get(Object(error), stream) ?? '').slice(-3000));
    process.exitCode = 1;
  }
}
rmSync(root, { recursive: true, force: true });
