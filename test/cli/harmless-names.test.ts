import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { withFile } from './mcp-folder.ts';
import { NO_SERVERS, runCli, runCliProcess, temporaryFolder } from './spawn-cli.ts';

const EVIL = 'x\u001b[2J\u202e';
const SHOWN = 'x␛[2J<202e>';
const source = (path: string): string => pathToFileURL(join(import.meta.dirname, '../../src', path)).href;

/** What ends a module that imports, for the commands that load one. */
const MODULE = `import { createAgent } from '${source('index.ts')}';
export const simulation = { check: () => { throw new Error('wrong'); } };
export default (options) => createAgent({ maxSteps: 1, ...options });\n`;

test('a folder, a recording and a model of a server move no cursor, whatever their names are', async () => {
  await using folder = await temporaryFolder();
  await using server = await startModelServer(() => 'Hello.');
  const cwd = join(folder.path, EVIL);
  await mkdir(cwd);
  for (const command of ['chat', 'run']) {
    const asked = [command, 'Hello?', '--base-url', server.baseURL, '--model', EVIL, '--record', join(cwd, EVIL)];
    const { code, stdout, stderr } = await runCli([...asked, ...(command === 'run' ? NO_SERVERS : [])], { cwd });
    expect(code).toBe(0);
    expect(stdout + stderr).toContain(`Model: ${SHOWN} from`);
    expect(stdout + stderr).toContain(`Recorded in ${folder.path}/${SHOWN}/${SHOWN}\n`);
    if (command === 'chat') expect(stderr).toContain(`Tools: the files below ${folder.path}/${SHOWN}.`);
    for (const sign of ['\u001b', '\u202e']) expect(stdout + stderr).not.toContain(sign);
  }
});

test('nor do modules, and folders for what is found, of any name', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const file = `${EVIL}.ts`;
  await writeFile(join(cwd, file), MODULE);
  const simulated = await runCli(['simulate', file, '--seeds', '1', '--out', EVIL], { cwd });
  expect(simulated.stdout).toContain(`  The recording: ${SHOWN}/seed-1.check.jsonl\n`);
  expect(simulated.stdout).toContain(`  To repeat it: signalbox simulate '${SHOWN}.ts' --out '${SHOWN}' --seed 1\n`);
  const unwritten = join(EVIL, 'seed-1.check.jsonl.new');
  await mkdir(join(cwd, unwritten));
  const failed = await runCli(['simulate', file, '--seeds', '1', '--out', EVIL], { cwd });
  expect(failed.stderr).toContain(`signalbox: '${SHOWN}/seed-1.check.jsonl' could not be written: `);
  await writeFile(join(cwd, file), 'await new Promise(() => {});\n');
  const endless = await runCliProcess(['verify', file], { cwd });
  expect(endless.stderr).toBe(
    `signalbox: '${SHOWN}.ts' could not be loaded: it waits for a promise that never settles.\n`,
  );
  const unknown = await runCli([EVIL], { cwd });
  expect(unknown.stderr).toContain(`there is no command '${SHOWN}'`);
  const all = [simulated, failed, endless, unknown].map(({ stdout, stderr }) => stdout + stderr).join('');
  for (const sign of ['\u001b', '\u202e']) expect(all).not.toContain(sign);
});

test('nor do permission files and agents in them, of any name', async () => {
  await using folder = await temporaryFolder();
  const permissions = (...args: readonly string[]) =>
    runCli(['permissions', ...args, '--path', EVIL], { cwd: folder.path });
  const keep = (agents: object | string) => writeFile(join(folder.path, EVIL), JSON.stringify(agents), { mode: 0o600 });
  await keep({ version: 1, agents: { [EVIL]: ['look'], other: ['look'] } });
  const several = await permissions('clear');
  expect(several.stderr).toContain(`several agents have permissions: other, ${SHOWN}.`);
  const listed = await permissions('list');
  expect(listed.stdout).toContain(`as kept in ${folder.path}/${SHOWN}:`);
  const nothing = await permissions('list', '--agent', `${EVIL}!`);
  expect(nothing.stdout).toBe(`Nothing is always allowed to agent '${SHOWN}!' (${folder.path}/${SHOWN}).\n`);
  await keep({ version: 99 });
  const newer = await permissions('list');
  await writeFile(join(folder.path, EVIL), '{');
  const corrupt = await permissions('list');
  expect(corrupt.stderr).toContain(`signalbox permissions: `);
  const all = [several, listed, nothing, newer, corrupt].map(({ stdout, stderr }) => stdout + stderr).join('');
  for (const sign of ['\u001b', '\u202e']) expect(all).not.toContain(sign);
});

test('nor do names of servers at a logout', async () => {
  const { mcp } = await withFile({ [EVIL]: { url: 'http://127.0.0.1:9/mcp', auth: 'oauth' } });
  expect(await mcp('logout', EVIL)).toEqual({ code: 0, stdout: `Nobody was signed in at '${SHOWN}'.\n`, stderr: '' });
});

test('JSON of every command has an escape where a terminal would obey a character, and says the same', async () => {
  await using folder = await temporaryFolder();
  const says = 'Warm.\u009b2J\u202e';
  await using server = await startModelServer(() => says);
  const cwd = folder.path;
  const model = ['--base-url', server.baseURL, '--model', 'm'];
  const { stdout: first } = await runCli(['run', says, ...model, ...NO_SERVERS, '--json'], { cwd });
  const { runId } = JSON.parse(first) as { readonly runId: string };
  await runCli(['run', 'Other?', ...model, ...NO_SERVERS], { cwd });
  const [other = ''] = JSON.parse((await runCli(['runs', 'list', '--json'], { cwd })).stdout).map(
    (run: { readonly runId: string }) => run.runId,
  );
  await writeFile(join(cwd, 'agent.ts'), MODULE.replace('maxSteps: 1', `name: ${JSON.stringify(says)}, maxSteps: 1`));
  await writeFile(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: { [says]: { command: 'no-such-program' } } }));
  const permissions = JSON.stringify({ version: 1, agents: { [says]: ['look'] } });
  await writeFile(join(cwd, 'allowed.json'), permissions, { mode: 0o600 });
  for (const command of [
    ['runs', 'list'],
    ['runs', 'resume', runId, ...model, ...NO_SERVERS],
    ['fork', runId, '--at', '1', ...model, ...NO_SERVERS],
    ['recording', 'diff', runId, other],
    ['bisect', runId, other],
    ['verify', 'agent.ts'],
    ['mcp', 'list'],
    ['mcp', 'doctor'],
    ['permissions', 'list', '--path', 'allowed.json'],
  ]) {
    const { stdout } = await runCli([...command, '--json'], { cwd });
    const values = stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect([command, JSON.stringify(values)]).toEqual([command, expect.stringContaining('\u009b2J\u202e')]);
    for (const sign of ['\u009b', '\u202e']) expect(stdout).not.toContain(sign);
  }
});
