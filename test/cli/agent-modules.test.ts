import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { runCli, runCliProcess, temporaryFolder } from './spawn-cli.ts';

const signalbox = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

/** A folder with a module that exports this, and runs this command on it in a process of its own. */
async function onModule(code: string, command: string) {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'agent.ts'), `import { createAgent } from '${signalbox}';\n${code}\n`);
  await copyFile(RECORDING, join(folder.path, 'run.jsonl'));
  return await runCliProcess(command.split(' '), { cwd: folder.path });
}

const RECORDING = join(import.meta.dirname, '../recordings/approval.jsonl');
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

const MAKE = ['simulate agent.ts --seeds 1', 'test 3 --agent agent.ts', 'bisect run.jsonl agent.ts agent.ts'];
const MUST = "'default' of 'agent.ts' must return what createAgent() gives, and returned";

test.each([
  ['async (options) => createAgent({ ...options })', 2, `${MUST} a promise: it cannot be async here.`],
  ["async () => { throw new Error('broken'); }", 2, `${MUST} a promise: it cannot be async here.`],
  ['() => 5', 2, `${MUST} a number.`],
  ['() => null', 2, `${MUST} null.`],
  ["() => { throw new Error('broken'); }", 1, "'default' of 'agent.ts' made no agent: broken"],
])('a function that makes no agent is named: %s', async (made, exit, says) => {
  await using folder = await temporaryFolder();
  await writeFile(
    join(folder.path, 'agent.ts'),
    `import { createAgent } from '${signalbox}';\nexport default ${made};\n`,
  );
  await writeFile(join(folder.path, 'run.jsonl'), await recorded());
  for (const command of MAKE) {
    const { code, stdout, stderr } = await runCli(command.split(' '), { cwd: folder.path });
    expect([code, stdout, stderr]).toEqual([exit, '', expect.stringContaining(says)]);
  }
});

test('a module that throws is named by every command', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'agent.ts'), "throw new Error('broken');\n");
  await writeFile(join(folder.path, 'run.jsonl'), await recorded());
  for (const command of COMMANDS) {
    const { code, stderr } = await runCli(command.split(' '), { cwd: folder.path });
    const says = "signalbox: 'agent.ts' could not be loaded: broken\nThis shows where: node agent.ts\n";
    expect([code, stderr]).toEqual([1, says]);
  }
});

test('where a module throws is shown by a command that a shell takes', async () => {
  await using folder = await temporaryFolder();
  for (const [file, word] of [
    ["bob's $HOME.ts", String.raw`'bob'\''s $HOME.ts'`],
    ['-v.ts', './-v.ts'],
  ] as const) {
    await writeFile(join(folder.path, file), "throw new Error('broken');\n");
    const { stderr } = await runCli(['diagram', '--', file], { cwd: folder.path });
    expect(stderr).toContain(`broken\nThis shows where: node ${word}\n`);
  }
});

test('what a module prints is no part of its diagram', async () => {
  await using folder = await temporaryFolder();
  const xstate = import.meta.resolve('xstate');
  const code = `import { createMachine } from '${xstate}';\nconsole.log('loaded');\nexport default createMachine({ id: 'lamp' });\n`;
  await writeFile(join(folder.path, 'lamp.mjs'), code);
  const { stdout, stderr } = await runCli(['diagram', 'lamp.mjs', '--format', 'json'], { cwd: folder.path });
  expect([JSON.parse(stdout), stderr]).toEqual([expect.objectContaining({ id: 'lamp' }), 'loaded\n']);
});

test.each([
  ['its only agent', `export default { colour: 'red' };\nexport const one = createAgent({ silent: true });`, ''],
  ['the default one of two', 'export const one = createAgent({ name: "one" });\nexport default createAgent({});', ''],
  ['none of two', 'export const one = createAgent({});\nexport const two = createAgent({});', 'several agents'],
])('bisect plays the agent of a module with more exports: %s', async (_which, code, says) => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'agent.ts'), `import { createAgent } from '${signalbox}';\n${code}\n`);
  await writeFile(join(folder.path, 'run.jsonl'), await recorded());
  const { stdout, stderr } = await runCli(['bisect', 'run.jsonl', 'agent.ts', 'agent.ts'], { cwd: folder.path });
  expect([stdout.split('\n')[0], stderr]).toEqual([says === '' ? 'same' : '', expect.stringContaining(says)]);
});

async function recorded(): Promise<string> {
  const run = createAgent({ model: scriptedModel(['Hello.']), silent: true }).run('Hi');
  await run;
  return run.recording();
}

test.each([
  'verify agent.ts --max-steps 1 --json',
  'simulate agent.ts --seeds 4 --json',
  'simulate agent.ts --seeds 4 --jobs 2 --json',
  'upgrade --check agent.ts --journal . --json',
  'bisect recorded.jsonl agent.ts agent.ts --json',
])('what a module prints goes to standard error, and standard output is one JSON object: %s', async (command) => {
  await using folder = await temporaryFolder();
  const run = createAgent({ model: scriptedModel(['Yes.']), silent: true }).run('Ready?');
  await run;
  await writeFile(join(folder.path, 'recorded.jsonl'), run.recording());
  const look = "tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => console.log('looking') })";
  const code = `console.log('loaded');\nexport default (options) => createAgent({ silent: true, tools: [${look}], ...options });`;
  await writeFile(join(folder.path, 'agent.ts'), `import { createAgent, tool } from '${signalbox}';\n${code}\n`);
  // A simulation looks at all that is left in its process.
  const begin = command.startsWith('simulate') ? runCliProcess : runCli;
  const { stdout, stderr } = await begin(command.split(' '), { cwd: folder.path });
  expect(JSON.parse(stdout)).toEqual(expect.any(Object));
  expect(stderr).toContain('loaded');
  if (command.startsWith('simulate')) expect(stderr).toContain('looking');
});
