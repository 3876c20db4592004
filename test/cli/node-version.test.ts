import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { buildLibrary } from '../../scripts/build-library.ts';
import { nodeVersionProblem } from '../../src/node-version.ts';
import { exportedSources } from '../package/export-table.ts';
import { runCliProcess, startCli, temporaryFolder } from './spawn-cli.ts';

test.each(['v22.18.0', 'v22.20.1', 'v23.0.0', 'v24.11.0', 'v100.0.0'])('Node %s will do', (version) => {
  expect(nodeVersionProblem(version)).toBeNull();
});

test.each(['v0.10.48', 'v12.22.0', 'v20.20.2', 'v22.17.1'])('Node %s is told in one line what is needed', (version) => {
  const problem = nodeVersionProblem(version) ?? '';
  expect(problem).toContain(`needs Node 22.18 or newer, and this is Node ${version.slice(1)}.`);
  expect(problem).not.toContain('\n');
});

test('what Node has compiled is kept at home, and nothing in the temporary folder that others share', async () => {
  await using folder = await temporaryFolder();
  const [home, temporary] = [join(folder.path, 'home'), join(folder.path, 'tmp')];
  for (const path of [home, temporary]) mkdirSync(path);
  const env = { HOME: home, TMPDIR: temporary, TEMP: temporary, NODE_COMPILE_CACHE: '' };
  expect((await runCliProcess(['--version'], { cwd: folder.path, env })).code).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
  expect(readdirSync(join(home, '.cache/signalbox'))).toHaveLength(1);
});

test.skipIf(process.platform === 'win32')(
  'no one else may put code where what Node has compiled is kept, whatever the umask',
  async () => {
    await using folder = await temporaryFolder();
    const umask = process.umask(0);
    const cli = startCli(['--version'], { cwd: folder.path, env: { NODE_COMPILE_CACHE: '' } });
    process.umask(umask);
    cli.child.stdin.end();
    expect((await cli.ended).code).toBe(0);
    for (const made of ['.cache', '.cache/signalbox']) expect(statSync(join(folder.path, made)).mode & 0o077).toBe(0);
  },
);

test('nothing is kept at home where the one who starts the command has said where to keep it, or not to', async () => {
  await using folder = await temporaryFolder();
  for (const said of [
    { NODE_COMPILE_CACHE: join(folder.path, 'other') },
    { NODE_COMPILE_CACHE: '', NODE_DISABLE_COMPILE_CACHE: '1' },
  ])
    expect((await runCliProcess(['--version'], { cwd: folder.path, env: said })).code).toBe(0);
  expect(existsSync(join(folder.path, '.cache'))).toBe(false);
});

test('a home in which nothing can be made, or that is not there, does not stop the command', async () => {
  await using folder = await temporaryFolder();
  const missing = join(folder.path, 'missing');
  for (const HOME of process.platform === 'linux' ? ['/proc', missing] : [missing]) {
    const ran = await runCliProcess(['--version'], { cwd: folder.path, env: { HOME, NODE_COMPILE_CACHE: '' } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  }
  expect(existsSync(missing)).toBe(false);
});

/** A Node on this machine that is too old for us, if there is one. */
function findOldNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
    .find((path) => nodeVersionProblem(execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()) !== null);
}

/** The built library in a folder of its own, which goes when the test ends; gives the path of one of its files. */
async function built(file: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-old-node-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await buildLibrary(join(folder, 'dist'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'), 'junction');
  return join(folder, 'dist', file);
}

test.skipIf(findOldNode() === undefined)('the built command says so when an old Node runs it', async () => {
  const ran = spawnSync(findOldNode() ?? '', [await built('cli/main.js'), '--help'], { encoding: 'utf8' });
  expect(ran).toMatchObject({ status: 1, stdout: '' });
  expect(ran.stderr).toMatch(/^signalbox needs Node 22\.18 or newer, and this is Node \d+\.\d+\.\d+\. .*\n$/);
});

test.skipIf(findOldNode() === undefined)('a script that imports the library on an old Node ends with 1', async () => {
  const entry = pathToFileURL(await built('index.js')).href;
  const uncaught = spawnSync(findOldNode() ?? '', ['--input-type=module', '-e', `import '${entry}'`], {
    encoding: 'utf8',
  });
  expect(uncaught.status).toBe(1);
  expect(uncaught.stderr).toContain("code: 'node-too-old'");
  const caught = `await import('${entry}').catch(({ code, needed }) => console.log(code, needed)); console.log('goes on')`;
  const went = spawnSync(findOldNode() ?? '', ['--input-type=module', '-e', caught], { encoding: 'utf8' });
  expect(went).toMatchObject({ status: 0, stdout: 'node-too-old 22.18.0\ngoes on\n' });
});

/** What pages take runs in browsers. */
const FOR_PAGES: readonly string[] = ['./store', './react'];

test.each([...exportedSources()].filter(([subpath]) => !FOR_PAGES.includes(subpath)))(
  '%s looks at the version of Node before it does anything else',
  (_, source) => {
    const [first] = /^import .*$/m.exec(readFileSync(source, 'utf8')) ?? [];
    expect(first).toMatch(/^import '(\.\.?\/)+platform\.ts';$/);
  },
);
