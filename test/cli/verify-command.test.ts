import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCli, startInTerminal, temporaryFolder } from './spawn-cli.ts';

const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script');

const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)));

/** Lets the clock of this process run so many times as fast until the test ends. */
function hurryClock(times: number): void {
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() * times);
  onTestFinished(() => clock.mockRestore());
}

/** A folder with a module that exports agents. */
async function agentFolder(exported: string) {
  const folder = await temporaryFolder();
  await mkdir(join(folder.path, 'agents'));
  const code = [
    `import { createAgent } from ${source('agent/create-agent.ts')};`,
    `import { tool } from ${source('tools/tool.ts')};`,
    `const model = { complete: () => Promise.reject(new Error('nobody asks me')) };`,
    `const look = tool({ name: 'look', description: 'Looks.', execute: () => 1 });`,
    `const wipe = tool({ name: 'wipe', description: 'Wipes.', policy: 'deny', execute: () => 1 });`,
    `const make = (name) => createAgent({ name, model, tools: [look, wipe], silent: true });`,
    exported,
  ];
  await writeFile(join(folder.path, 'agents', 'agent.ts'), code.join('\n'));
  return folder;
}

test('tells law by law what is proven of an agent, and which tools can run', async () => {
  await using folder = await agentFolder(`export default make('shop');`);
  const { code, stdout } = await runCli(['verify', 'agents/agent.ts', '--max-steps', '1'], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stdout).toContain('shop  at most 1 step');
  expect(stdout).toMatch(/wipe {2}deny, never runs/);
  expect(stdout).toMatch(/proven {2}permission/);
  expect(stdout).toContain('Everything that can happen was explored');
});

test('a folder for counterexamples that cannot be written is refused before the agent is explored', async () => {
  await using folder = await agentFolder(`throw new Error('this module runs');\nexport default make('shop');`);
  const { code, stderr } = await runCli(['verify', 'agents/agent.ts', '--out', 'agents/agent.ts'], {
    cwd: folder.path,
  });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/--out: '.*agent\.ts' is not a folder\./),
  });
});

test('--json gives every agent of the module, and exit code 3 says that it was bounded', async () => {
  await using folder = await agentFolder(`export const one = make('one');\nexport const two = make('two');`);
  const args = ['verify', 'agents/agent.ts', '--max-paths', '20', '--json'];
  const { code, stdout } = await runCli(args, { cwd: folder.path });
  expect(code).toBe(3);
  const { agents } = JSON.parse(stdout);
  expect(agents).toMatchObject([
    { agent: 'one (one)', ok: true, exhaustive: false, maxSteps: 20 },
    { agent: 'two (two)', ok: true, exhaustive: false },
  ]);
});

test('a function that gives an agent will do, by default or by its name', async () => {
  await using folder = await agentFolder(
    `export default async () => make('made');\nexport const other = () => [make('one'), make('two')];\nexport const broken = () => { throw new Error('no key'); };`,
  );
  const names = async (...args: readonly string[]) => {
    const { stdout } = await runCli(['verify', 'agents/agent.ts', '--max-steps', '1', '--json', ...args], {
      cwd: folder.path,
    });
    const { agents }: { agents: readonly { readonly agent: string }[] } = JSON.parse(stdout);
    return agents.map(({ agent }) => agent);
  };
  expect(await names()).toEqual(['made']);
  expect(await names('--export', 'other')).toEqual(['one (other)', 'two (other)']);
  const broken = await runCli(['verify', 'agents/agent.ts', '--export', 'broken'], { cwd: folder.path });
  expect(broken).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("'broken' of 'agents/agent.ts' made no agent: no key"),
  });
  const nothing = await runCli(['verify', 'agents/agent.ts', '--export', 'nothing'], { cwd: folder.path });
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining("no export 'nothing', but") });
});

test('time is a bound too, and whoever waits sees how far it is', async () => {
  await using folder = await agentFolder(`export default make('shop');`);
  const args = ['verify', 'agents/agent.ts', '--max-steps', '9', '--max-seconds'];
  hurryClock(5);
  const bounded = await runCli([...args, '8'], { cwd: folder.path });
  expect(bounded.code).toBe(3);
  expect(bounded.stdout).toContain('maxSeconds (8) was reached: everything within');
  expect(bounded.stderr).toMatch(/^Exploring shop: \d+ states, \d+ paths, [5-7] s$/m);
  if (!hasTerminal) return;
  const { stdout } = await startInTerminal([...args, '1'], { cwd: folder.path }).ended;
  expect(stdout).toMatch(/Exploring shop: \d+ states, \d+ paths…/);
});

test('a module without an agent is wrong usage, and says what it exports', async () => {
  await using folder = await agentFolder(`export const look2 = look;`);
  const { code, stderr } = await runCli(['verify', 'agents/agent.ts'], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toContain("'agents/agent.ts' exports no agent (it exports: look2)");
});
