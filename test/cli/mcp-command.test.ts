import { describe, expect, test } from 'vitest';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { httpToolServer } from '../support/mcp/tool-server.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { withFile } from './mcp-folder.ts';
import { processesNaming } from './processes.ts';
import { startCli, startInTerminal } from './spawn-cli.ts';

describe('signalbox mcp list', () => {
  test('shows each server with its state, those that cannot be used included', async () => {
    const { folder, mcp } = await withFile((path) => ({
      every: realServer('everything', ['stdio', path]),
      dead: hostileEntry('dies-at-start'),
      off: { command: 'no-such-program', disabled: true },
      typo: { command: 'cat', polcy: 'allow' },
    }));
    const ended = await mcp('list');
    expect(ended.code).toBe(0);
    expect(ended.stdout).toMatch(/^every +READY +13 tools over stdio; mcp-servers\/everything/m);
    expect(ended.stdout).toMatch(/^dead +FAILED +.*ended with code 3/m);
    expect(ended.stdout).toMatch(/^off +DISABLED$/m);
    expect(ended.stdout).toMatch(/^typo +MISCONFIGURED +.*'polcy' is not a known key/m);
    expect(ended.stderr).toContain('signalbox mcp doctor');
    expect(processesNaming(folder)).toEqual([]);
  });

  test('gives programs the same as JSON', async () => {
    const { mcp } = await withFile({ every: realServer('everything'), lost: { command: 'no-such-program' } });
    const ended = await mcp('list', '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject([
      { name: 'every', state: 'READY', transport: 'stdio', tools: 13, error: null },
      { name: 'lost', state: 'FAILED', transport: null, tools: 0, error: { code: 'spawn-failed' } },
    ]);
    expect(ended.stderr).toBe('');
  });

  test('takes .mcp.json where there is no mcp.json, and says so where there is neither', async () => {
    const { mcp } = await withFile({ off: { command: 'x', disabled: true } }, '.mcp.json');
    expect(await mcp('list')).toMatchObject({ code: 0, stdout: 'off  DISABLED\n' });
    const none = await withFile({}, 'other.json');
    expect(await none.mcp('list')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('neither mcp.json nor .mcp.json'),
    });
  });
});

describe('signalbox mcp tools', () => {
  test('a line break in the name of a tool begins no row', async () => {
    const name = 'look\nfiles  write_file  deny  none';
    const server = await httpToolServer([{ name, description: 'Looks.', inputSchema: { type: 'object' } }]);
    const { mcp } = await withFile({ web: server.entry() });
    const { stdout } = await mcp('tools');
    expect(stdout).toMatch(/^web {2}look␊files {2}write_file {2}deny {2}none {2}confirm {2}once {2}Looks\.\n$/);
    expect((await mcp('call', 'web', 'x')).stderr).toContain(`It has: look␊files`);
  });

  test('shows policy and effects as an agent of the command line would have them', async () => {
    const { mcp } = await withFile({
      files: {
        ...realServer('filesystem', ['.']),
        exclude: ['read_file'],
        overrides: { edit_file: { policy: 'deny' } },
      },
    });
    const { code, stdout } = await mcp('tools', 'files');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^files +read_text_file +allow +none +Read Text File: Read the/m);
    expect(stdout).toMatch(/^files +write_file +confirm +idempotent/m);
    expect(stdout).toMatch(/^files +edit_file +deny +once/m);
    expect(stdout).not.toContain('read_file ');
    const listed: readonly object[] = JSON.parse((await mcp('tools', '--json')).stdout);
    expect(listed).toHaveLength(13);
    expect(listed[0]).toMatchObject({
      tool: 'read_text_file',
      name: 'files_read_text_file',
      title: 'Read Text File',
      inputSchema: {},
    });
  });

  test('tells which list is missing, exit code 1', async () => {
    const { mcp } = await withFile({ files: realServer('filesystem', ['.']), dead: hostileEntry('dies-at-start') });
    const ended = await mcp('tools');
    expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining('read_text_file') });
    expect(ended.stderr).toContain('cannot open database');
  });
});

describe('signalbox mcp call', () => {
  const files = { files: realServer('filesystem', ['.']) };

  test('prints what the tool gave, exit code 0', async () => {
    const { mcp } = await withFile({ ...files, every: realServer('everything') });
    expect(await mcp('call', 'every', 'echo', '{"message": "hello"}')).toEqual({
      code: 0,
      stdout: 'Echo: hello\n',
      stderr: '',
    });
    const ended = await mcp('call', 'files', 'files_read_text_file', '{"path": "small.txt"}', '--json');
    expect(JSON.parse(ended.stdout)).toEqual({ status: 'success', data: { content: 'small' } });
  });

  test("a tool's error is exit code 1, with its words on standard error", async () => {
    const { mcp } = await withFile(files);
    const ended = await mcp('call', 'files', 'read_text_file', '{"path": "/etc/hostname"}');
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Access denied') });
  });

  test('a call is made although the policy of its tool would ask or deny', async () => {
    const { mcp } = await withFile({ files: { ...files.files, policy: 'deny' } });
    expect(await mcp('call', 'files', 'write_file', '{"path": "new.txt", "content": "x"}')).toMatchObject({ code: 0 });
  });

  test('a server that is not there is exit code 1', async () => {
    const { mcp } = await withFile({ dead: hostileEntry('dies-at-start') });
    const ended = await mcp('call', 'dead', 'echo');
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain("'signalbox mcp doctor dead' says more");
  });

  test.each([
    ['nothing to do', [], 'say what to do: list, tools, call, doctor, login, logout, status.'],
    [
      'an unknown word',
      ['doktor'],
      "there is no 'doktor', but list, tools, call, doctor, login, logout, status. Did you mean 'doctor'?",
    ],
    [
      'an unknown server',
      ['call', 'flies', 'read_text_file'],
      "no server 'flies'; configured are: files, off. Did you mean",
    ],
    ['an unknown tool', ['call', 'files', 'read_txt_file', '{}'], "Did you mean 'read_text_file'?"],
    ['no tool', ['call', 'files'], "'call' needs <server> <tool> [json]."],
    ['broken arguments', ['call', 'files', 'read_text_file', '{"path": }'], 'not valid JSON, line 1, column 10'],
    ['arguments that are no object', ['call', 'files', 'read_text_file', '[1]'], 'must be a JSON object'],
    ['arguments in pieces', ['call', 'files', 'read_text_file', '{"path":', '"x"}'], 'too many. Put the JSON into'],
    ['a time to list logins', ['status', '--timeout', '5'], "--timeout does not go with 'status'."],
    ['a browser that no one needs', ['list', '--no-browser'], "--no-browser does not go with 'list'."],
    ['no time', ['list', '--timeout', '0'], '--timeout must be a number of seconds above 0'],
    ['a server that is switched off', ['call', 'off', 'x'], "'off' is switched off"],
  ])('%s is wrong usage, exit code 2', async (_title, args, said) => {
    const { mcp } = await withFile({ ...files, off: { command: 'x', disabled: true } });
    const ended = await mcp(...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(said);
    expect(ended.stderr).toContain('Usage: signalbox mcp');
  });
});

test('names of a file that is anybody’s move no cursor', async () => {
  const { mcp } = await withFile({
    'a\u001b[2Jb': { command: 'no-such-command' },
    off: { command: 'x', disabled: true },
  });
  for (const args of [['list'], ['status'], ['tools', 'none']]) {
    const { stdout, stderr } = await mcp(...args);
    expect(stdout + stderr).toContain('a␛[2Jb');
    expect(stdout + stderr).not.toContain('\u001b');
  }
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends the command and its servers at once, with no finding about them',
  async (signal) => {
    const silent = hostileEntry('silent');
    const { folder } = await withFile((path) => ({ it: { ...silent, args: [...(silent.args ?? []), path] } }));
    const cli = startCli(['mcp', 'doctor'], { cwd: folder });
    await expect.poll(() => processesNaming(folder)).toHaveLength(1);
    cli.child.kill(signal);
    expect(await cli.ended).toEqual({ code: 130, stdout: '', stderr: '' });
    await expect.poll(() => processesNaming(folder)).toEqual([]);
  },
);

describe('in a terminal of 40 columns', () => {
  test.skipIf(process.platform === 'win32')('no line is longer, and none breaks within a word', async () => {
    const { folder } = await withFile(
      {
        files: realServer('filesystem', ['.']),
        dead: { command: 'no-such-program' },
        typo: { command: 'cat', polcy: 1 },
      },
      'other.json',
    );
    const printed = async (...args: readonly string[]): Promise<string> => {
      const options = { cwd: folder, fileServer: true };
      const shown = startInTerminal(['mcp', ...args, '--mcp', 'other.json'], options, 40);
      await shown.ended;
      const lines = shown.printed().split(/\r?\n/);
      expect(lines.filter((line) => line.length > 40)).toEqual([]);
      return lines.join('\n');
    };
    const list = await printed('list');
    expect(list).toMatch(/^files {2}READY {2}\d+ tools over stdio;\n {2}secure-filesystem-server/m);
    expect(list.replaceAll('\n', ' ')).toContain("'signalbox mcp doctor --mcp other.json' explains");
    const tools = await printed('tools');
    expect(tools).toMatch(/^files {2}read_text_file {2}allow {2}none\n {2}Read Text File: Read the complete\n {2}\S/m);
    expect(tools.replaceAll('\n', ' ')).toContain("'signalbox mcp doctor dead --mcp other.json' says");
    expect(await printed('doctor', 'dead')).toMatch(
      /^ {2}The command 'no-such-program' was\n {4}not found in PATH\.$/m,
    );
    expect((await printed('status')).replaceAll('\n', ' ')).toContain("'polcy' is not a known key. Known are: type,");
  });
});
