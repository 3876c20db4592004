import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { runCliProcess, temporaryFolder } from './spawn-cli.ts';

const signalbox = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

/** A folder with a module that exports this, and runs this command on it in a process of its own. */
async function onModule(code: string, command: string) {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'agent.ts'), `import { createAgent } from '${signalbox}';\n${code}\n`);
  await writeFile(join(folder.path, 'run.jsonl'), RECORDING);
  return await runCliProcess(command.split(' '), { cwd: folder.path });
}

const RECORDING = '{"t":"run","format":1}\n';
const NEVER = 'new Promise(() => {})';
const WAITS = 'it waits for a promise that never settles.\n';

const COMMANDS = [
  'verify agent.ts',
  'simulate agent.ts --seeds 1',
  'test 3 --agent agent.ts',
  'upgrade --check agent.ts --journal .',
  'bisect run.jsonl agent.ts agent.ts',
  'diagram agent.ts',
];

test.each(COMMANDS)('a module that never finishes loading fails the command, which says so: %s', async (command) => {
  expect(await onModule(`export default createAgent({ silent: true });\nawait ${NEVER};`, command)).toEqual({
    code: 1,
    stdout: '',
    stderr: `signalbox: 'agent.ts' could not be loaded: ${WAITS}`,
  });
});

test('so does a default export that never becomes an agent', async () => {
  for (const exported of [`() => ${NEVER}`, NEVER]) {
    // oxlint-disable-next-line no-await-in-loop -- two processes at once are no faster
    const { code, stdout, stderr } = await onModule(`export default ${exported};`, 'verify agent.ts');
    expect([code, stdout, stderr]).toEqual([1, '', `signalbox: 'default' of 'agent.ts' made no agent: ${WAITS}`]);
  }
});

test('a module that takes its time to load is waited for', async () => {
  const code = `await new Promise((go) => setTimeout(go, 50));\nexport default async () => createAgent({ silent: true });`;
  const { code: exit, stdout, stderr } = await onModule(code, 'verify agent.ts --max-steps 1');
  expect([exit, stderr]).toEqual([0, '']);
  expect(stdout).toContain('proven  alive');
});
