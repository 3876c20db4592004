import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { permissionStore } from '../../src/security/index.ts';
import { kept } from '../tools/security/permission-folder.ts';
import { runCli, temporaryFolder } from './spawn-cli.ts';

const TWO = { signalbox: ['files_write_file', 'files_edit_file'], nightly: ['delete_note'] };
const ONE = { signalbox: ['files_write_file', 'files_edit_file'] };

/** A folder that is the user's home too, with what was always allowed so far. */
async function home(agents: Readonly<Record<string, readonly string[]>> | string) {
  const folder = await temporaryFolder();
  const file = join(folder.path, '.signalbox/security/allowed-tools.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof agents === 'string' ? agents : JSON.stringify({ version: 1, agents }));
  return {
    file,
    permissions: (...args: readonly string[]) => runCli(['permissions', ...args], { cwd: folder.path }),
    kept: async (): Promise<unknown> => JSON.parse(await readFile(file, 'utf8')),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('list shows the tools of each agent, sorted, exit code 0', async () => {
  await using user = await home(TWO);
  expect(await user.permissions('list')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      `Always allowed, as kept in ${user.file}:`,
      '',
      'nightly',
      '  delete_note',
      '',
      'signalbox',
      '  files_edit_file',
      '  files_write_file',
      '',
    ].join('\n'),
  });
});

test('list --agent shows one agent, and --json is for machines', async () => {
  await using user = await home(TWO);
  const one = await user.permissions('list', '--agent', 'nightly');
  expect(one.stdout).toContain('delete_note');
  expect(one.stdout).not.toContain('signalbox\n');
  const json = await user.permissions('list', '--json');
  expect(JSON.parse(json.stdout)).toEqual({
    path: user.file,
    agents: { nightly: ['delete_note'], signalbox: ['files_edit_file', 'files_write_file'] },
  });
  const none = await user.permissions('list', '--json', '--agent', 'other');
  expect(none).toMatchObject({ code: 0, stdout: `${JSON.stringify({ path: user.file, agents: {} })}\n` });
  expect((await user.permissions('list', '--agent', 'other')).stdout).toContain("to agent 'other'");
});

test('where nothing was ever allowed nothing is, and no file is made; a named file must be there', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, '.signalbox/security/allowed-tools.json');
  const list = await runCli(['permissions', 'list'], { cwd: folder.path });
  expect(list).toEqual({ code: 0, stdout: `Nothing is always allowed (${file}).\n`, stderr: '' });
  const clear = await runCli(['permissions', 'clear'], { cwd: folder.path });
  expect(clear).toMatchObject({ code: 0, stderr: '' });
  const remove = await runCli(['permissions', 'remove', 'a'], { cwd: folder.path });
  expect(remove).toMatchObject({ code: 1, stdout: '' });
  expect(existsSync(file)).toBe(false);
  const named = await runCli(['permissions', 'list', '--path', 'none.json'], { cwd: folder.path });
  expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no file 'none.json'") });
});

test('remove takes one tool back from the only agent there is; a second time there is nothing, exit code 1', async () => {
  await using user = await home(ONE);
  const first = await user.permissions('remove', 'files_write_file');
  expect(first).toEqual({
    code: 0,
    stdout: "Agent 'signalbox' asks again before it runs 'files_write_file'.\n",
    stderr: '',
  });
  expect(await user.kept()).toEqual(kept({ signalbox: ['files_edit_file'] }));
  expect(permissionStore({ path: user.file, agent: 'signalbox' }).isAlwaysAllowed('files_write_file')).toBe(false);
  const second = await user.permissions('remove', 'files_write_file');
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain("'files_write_file' is not always allowed to agent 'signalbox'.");
});

test('a slip in the name of a tool or an agent is pointed out, and nothing is taken back', async () => {
  await using user = await home(TWO);
  const tool = await user.permissions('remove', 'delete_notes', '--agent', 'nightly');
  expect(tool.stderr).toContain("Did you mean 'delete_note'?");
  const agent = await user.permissions('clear', '--agent', 'nigtly');
  expect(agent.stderr).toContain("Nothing is always allowed to agent 'nigtly'. Did you mean 'nightly'?");
  expect([tool.code, agent.code]).toEqual([1, 1]);
  expect(await user.kept()).toEqual({ version: 1, agents: TWO });
});

test('clear takes all of one agent back and leaves the others alone', async () => {
  await using user = await home(TWO);
  const ended = await user.permissions('clear', '--agent', 'signalbox');
  expect(ended).toMatchObject({
    code: 0,
    stdout: "Agent 'signalbox' asks again before it runs: files_edit_file, files_write_file.\n",
  });
  expect(await user.kept()).toEqual(kept({ nightly: ['delete_note'] }));
});

test.each([[['remove', 'delete_note']], [['clear']]])(
  '%j with several agents needs --agent: they are named, nothing is taken back, exit code 2',
  async (args) => {
    await using user = await home(TWO);
    const ended = await user.permissions(...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('several agents have permissions: nightly, signalbox. Say whose with --agent.');
    expect(await user.kept()).toEqual({ version: 1, agents: TWO });
  },
);

test.each([
  ['no action', [], 'say what to do: list, remove, clear.'],
  ['an unknown action', ['lst'], "there is no 'lst', but list, remove, clear. Did you mean 'list'?"],
  ['remove without a tool', ['remove'], "'remove' needs <tool>."],
  ['two tools', ['remove', 'a', 'b'], "'b' is one argument too many."],
  ['a tool for clear', ['clear', 'a'], "'a' is one argument too many."],
  ['--server with list', ['list', '--server', 'x'], "--server does not go with 'list'."],
  ['--json with clear', ['clear', '--json'], "--json does not go with 'clear'."],
])('%s is wrong usage, exit code 2', async (_title, args, said) => {
  await using user = await home(ONE);
  const ended = await user.permissions(...args);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain(said);
  expect(await user.kept()).toEqual({ version: 1, agents: ONE });
});

test('a corrupt file is set aside and reported, and allows nothing', async () => {
  await using user = await home('{ "version": 1, "agents": ');
  const ended = await user.permissions('list');
  expect(ended).toMatchObject({ code: 0, stdout: `Nothing is always allowed (${user.file}).\n` });
  expect(ended.stderr).toContain('is not a permission file of a known version. It was set aside as');
  expect((await readdir(dirname(user.file))).filter((name) => name.includes('.corrupt-'))).toHaveLength(1);
});

test.each([[['list']], [['remove', 'a']], [['clear']]])(
  '%j leaves the file of a newer version alone, says so without a stack, exit code 1',
  async (args) => {
    await using user = await home('{ "version": 3, "agents": {} }');
    const ended = await user.permissions(...args);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain('has version 3, and this Signalbox knows version 2');
    expect(ended.stderr).not.toMatch(/^\s+at /m);
    expect(await user.kept()).toEqual({ version: 3, agents: {} });
  },
);

test('a file that cannot be read is an error, exit code 1', async () => {
  await using folder = await temporaryFolder();
  const ended = await runCli(['permissions', 'list', '--path', '.'], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('cannot be read (EISDIR)');
});

test('names are shown, not obeyed, and may be any text', async () => {
  await using user = await home(`{"version": 1, "agents": {"__proto__": ["\\u001b[2J"]}}`);
  const list = await user.permissions('list');
  expect(list.stdout).toContain('__proto__\n  ␛[2J\n');
  expect((await user.permissions('list', '--json')).stdout).toContain('{"__proto__":["\\u001b[2J"]}');
  const removed = await user.permissions('remove', '\u001b[2J');
  expect(removed).toMatchObject({ code: 0 });
  expect(removed.stdout).not.toContain('\u001b');
  expect(await user.kept()).toEqual(kept({}));
});

const serverTool = (server: string, tool: string) => ({
  server,
  serverId: server,
  tool,
  name: `files_${tool}`,
  fingerprint: '1',
  shown: { title: '', description: '', inputSchema: '', annotations: '' },
});

test('tools of MCP servers are shown with their server, and taken back by either name, of one server or of all', async () => {
  const serverTools = [
    serverTool('https://a.example/mcp', 'write_file'),
    serverTool('npx b\n\u001b[2J', 'write_file'),
    serverTool('npx b', 'edit_file'),
  ];
  const file = { version: 2, agents: { signalbox: { tools: ['write_file'], serverTools } } };
  await using user = await home(JSON.stringify(file));
  const list = await user.permissions('list');
  expect(list.stdout).toContain(
    'files_write_file: write_file of https://a.example/mcp, as long as it does not change\n',
  );
  expect(list.stdout).not.toContain('\u001b');
  expect(JSON.parse((await user.permissions('list', '--json')).stdout)).toMatchObject({
    agents: { signalbox: ['write_file'] },
    serverTools: { signalbox: [{ server: 'https://a.example/mcp', tool: 'write_file' }, {}, {}] },
  });
  const leftOf = async () => {
    const { agents } = JSON.parse((await user.permissions('list', '--json')).stdout);
    const { serverTools: left } = JSON.parse((await user.permissions('list', '--json')).stdout);
    return [agents.signalbox, left?.signalbox.map((one: { readonly server: string }) => one.server).toSorted()];
  };
  expect(await user.permissions('remove', 'write_file', '--server', 'nobody')).toMatchObject({ code: 1 });
  await user.permissions('remove', 'files_write_file', '--server', 'https://a.example/mcp');
  expect(await leftOf()).toEqual([['write_file'], ['npx b', 'npx b\n\u001b[2J']]);
  await user.permissions('remove', 'write_file');
  expect(await leftOf()).toEqual([[], ['npx b']]);
});
