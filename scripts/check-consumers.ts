import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { checkChat } from './chat-client.ts';
import { checkOwnAgent, checkReact } from './react-page.ts';

// Other people's projects around the packed tarball: vitest 3 to 5, package managers, TypeScript, bundlers and Next. Takes
// minutes and a registry; `npm run check:consumers -- next` runs those whose names hold a word, `-- --quick` a choice of them.
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

/** A project that several cases share: made by the first of them. */
function shared(name: string, packages: string): () => string {
  let folder: string | undefined;
  return () => (folder ??= project(name, packages.split(' ')));
}

const web = shared(
  'web',
  'esbuild rolldown webpack webpack-cli vite xstate react react-dom @xstate/react typescript @types/react @types/react-dom',
);
const typed = shared('types', 'typescript');
const heavy = shared('heavy', 'bun next react react-dom');
const served = shared('served', 'bun deno express @hono/node-server');

/** Serves the chat of scripts/consumers/chat, and talks to it. */
async function chatOn(command: readonly string[]): Promise<void> {
  const port = await freePort();
  const [file = '', ...args] = command;
  const server = spawn(file, args, { cwd: served(), env: { ...env, PORT: `${port}` }, stdio: 'inherit' });
  try {
    await checkChat(`http://127.0.0.1:${port}`);
  } finally {
    server.kill();
    await once(server, 'exit');
  }
}

async function nextApp(flag: readonly string[]): Promise<void> {
  const folder = heavy();
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
      said = await fetch(`http://127.0.0.1:${port}/agent`)
        .then((answer) => answer.text())
        .catch(() => wait(500, ''));
    }
    expectApp(said);
    await checkChat(`http://127.0.0.1:${port}`);
    const edge = await fetch(`http://127.0.0.1:${port}/edge`);
    expectText(await edge.text(), '["From the edge.","model-error"');
    await checkOwnAgent(`http://127.0.0.1:${port}/`, 'Answered on the page. The chat has 2 messages.');
  } finally {
    server.kill();
    await once(server, 'exit');
    rmSync(join(folder, '.next'), { recursive: true, force: true });
  }
}

function types(lib: string, files = 'entries.ts web-entries.ts'): void {
  for (const module of ['nodenext', 'preserve'])
    npx(`tsc --noEmit --strict --skipLibCheck false --target es2022 --lib ${lib} --module ${module} ${files}`, typed());
}

const CASES: Readonly<Record<string, () => void | Promise<void>>> = {
  ...Object.fromEntries(
    ['3', '4', '5'].map((version) => [
      `vitest ${version}`,
      () => expectText(npx('vitest run', project(`vitest-${version}`, [`vitest@${version}`])), 'loopDetection'),
    ]),
  ),
  'npm: one xstate': () => {
    const copies = copiesOfXState(web());
    if (copies.length !== 1) throw new Error(`copies: ${copies.join(', ')}`);
  },
  'npm: an older xstate is refused': () => {
    try {
      project('npm-old', ['xstate@5.20.0'], 'npm install --loglevel=error --no-audit --no-fund');
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
  'types without @types/node or DOM': () => types('es2022', 'entries.ts'),
  'types with DOM': () => types('es2023,dom'),
  'types that are inferred, in declarations': () => {
    for (const file of ['inferred.ts', 'inferred-machines.ts']) types('es2022 --declaration', file);
  },
  'types with @types/node': () => {
    sh('npm', ['install', '--silent', '--no-audit', '--no-fund', '@types/node@24'], typed());
    types('es2023 --types node');
  },
  esbuild: () => {
    npx('esbuild main.js --bundle --platform=node --format=esm --outfile=out/esbuild.mjs', web());
    expectApp(node(['out/esbuild.mjs'], web()));
    npx('esbuild main.js --bundle --platform=node --format=cjs --outfile=out/esbuild.cjs', web());
    expectApp(node(['out/esbuild.cjs'], web()));
    // Far from node_modules there is no page, and a clear word about it.
    const alone = join(root, 'alone');
    cpSync(join(web(), 'out/esbuild.mjs'), join(alone, 'main.mjs'));
    expectText(node(['main.mjs'], alone), 'Half past twelve. page-missing');
  },
  rolldown: () => {
    npx('rolldown main.js --platform node --format esm -d out/rolldown', web());
    expectApp(node(['out/rolldown/main.js'], web()));
  },
  webpack: () => {
    npx('webpack', web());
    expectApp(node(['out/webpack/main.mjs'], web()));
  },
  'Vite SSR': () => {
    npx('vite build', web());
    expectApp(node(['out/vite/main.js'], web()));
  },
  'React, its types': () => {
    const flags = '--strict --skipLibCheck false --target es2023 --lib es2023,dom --jsx react-jsx --module preserve';
    npx(`tsc --noEmit ${flags} react/app.tsx`, web());
  },
  'React in Chromium': () => {
    npx('vite build react --config react/vite.config.js', web());
    return checkReact(web(), env);
  },
  bun: () => {
    npx('bun build main.js --target=bun --outfile out/bun.js', heavy());
    expectApp(npx('bun out/bun.js', heavy()));
  },
  'a chat on Bun': () => chatOn(['node_modules/.bin/bun', 'chat/bun.js']),
  'a chat on Deno': () => chatOn(['node_modules/.bin/deno', 'run', '--allow-all', 'chat/deno.js']),
  'a chat on Express': () => chatOn([process.execPath, 'chat/express.js']),
  'Next, Turbopack': () => nextApp([]),
  'Next, webpack': () => nextApp(['--webpack']),
};

/** What a change breaks most easily, and takes little time. */
const QUICK = /^types|^React|xstate|esbuild|Vite/;

const [wanted = ''] = process.argv.slice(2);
const isWanted = (name: string): boolean =>
  wanted === '--quick' ? QUICK.test(name) : name.toLowerCase().includes(wanted.toLowerCase());
for (const [name, check] of Object.entries(CASES).filter(([each]) => isWanted(each))) {
  const began = Date.now();
  const took = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
  try {
    await check();
    console.log(`ok    ${name.padEnd(34)} ${took()}`);
  } catch (error) {
    console.log(`FAIL  ${name.padEnd(34)} ${took()}\n${error instanceof Error ? error.message : String(error)}`);
    for (const stream of ['stdout', 'stderr'])
      console.log(String(Reflect.get(Object(error), stream) ?? '').slice(-3000));
    process.exitCode = 1;
  }
}
rmSync(root, { recursive: true, force: true });
