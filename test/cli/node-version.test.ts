import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { nodeVersionProblem } from '../../src/cli/node-version.ts';

test.each(['v22.18.0', 'v22.20.1', 'v23.0.0', 'v24.11.0', 'v100.0.0'])('Node %s will do', (version) => {
  expect(nodeVersionProblem(version)).toBeNull();
});

test.each(['v0.10.48', 'v12.22.0', 'v20.20.2', 'v22.17.1'])('Node %s is told in one line what is needed', (version) => {
  const problem = nodeVersionProblem(version) ?? '';
  expect(problem).toContain(`needs Node 22.18 or newer, and this is Node ${version.slice(1)}.`);
  expect(problem).not.toContain('\n');
});

/** A Node on this machine that is too old for us, if there is one. */
function findOldNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
    .find((path) => nodeVersionProblem(execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()) !== null);
}

test.skipIf(findOldNode() === undefined)('the built command says so when an old Node runs it', async () => {
  const root = join(import.meta.dirname, '../..');
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-old-node-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { noEmit: false, outDir: join(folder, 'dist'), rootDir: join(root, 'src') },
    files: [join(root, 'src/cli/main.ts')],
    include: [],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]);
  const ran = spawnSync(findOldNode() ?? '', [join(folder, 'dist/cli/main.js'), '--help'], { encoding: 'utf8' });
  expect(ran).toMatchObject({ status: 1, stdout: '' });
  expect(ran.stderr).toMatch(/^signalbox needs Node 22\.18 or newer, and this is Node \d+\.\d+\.\d+\. .*\n$/);
});
