import { describe, expect, test } from 'vitest';
import { defaultEnvironment } from '../../src/mcp/config/environment-variables.ts';
import { taskkillArgs } from '../../src/mcp/stdio/end-server.ts';
import { planWindowsCommand } from '../../src/mcp/stdio/server-process.ts';

const env = { PATH: 'C:\\node;C:\\tools\\', PATHEXT: '.COM;.EXE;.BAT;.CMD', COMSPEC: 'C:\\Windows\\cmd.exe' };

function plan(command: string, args: readonly string[], files: readonly string[]) {
  return planWindowsCommand(command, args, { env, isFile: (path) => files.includes(path) });
}

describe('on Windows', () => {
  test('npx, which is a batch file there, is run by the command interpreter', () => {
    expect(plan('npx', ['-y', 'pkg'], ['C:\\node\\npx.cmd'])).toEqual({
      command: 'C:\\Windows\\cmd.exe',
      args: ['/d', '/s', '/c', '"C:\\node\\npx.cmd ^^^"-y^^^" ^^^"pkg^^^""'],
      verbatim: true,
    });
  });

  test('no argument can break out of its quotes', () => {
    const { args } = plan('npx', ['a" & calc & "', '%PATH%', 'C:\\dir\\'], ['C:\\node\\npx.cmd']);
    expect(args[3]).not.toMatch(/(?<!\^)[&%]/);
    expect(args[3]).toContain('\\\\^^^"');
  });

  test('a program is started directly, with its arguments as they are', () => {
    expect(plan('node', ['a b'], ['C:\\node\\node.exe'])).toEqual({
      command: 'C:\\node\\node.exe',
      args: ['a b'],
      verbatim: false,
    });
    expect(plan('C:\\x\\uvx.exe', [], ['C:\\x\\uvx.exe'])).toMatchObject({
      command: 'C:\\x\\uvx.exe',
      verbatim: false,
    });
  });

  test('of a program and a batch file of one name in a folder the program is taken', () => {
    expect(plan('tool', [], ['C:\\tools\\tool.cmd', 'C:\\tools\\tool.exe'])).toMatchObject({
      command: 'C:\\tools\\tool.exe',
    });
  });

  test('what is not found is left for the system to refuse', () => {
    expect(plan('nope', ['x'], [])).toEqual({ command: 'nope', args: ['x'], verbatim: false });
  });

  test('a server is ended with all that it started, unless told otherwise', () => {
    expect(taskkillArgs(7, true)).toEqual(['taskkill', '/pid', '7', '/T', '/F']);
    expect(taskkillArgs(7, false)).toEqual(['taskkill', '/pid', '7', '/F']);
  });
});

test('a server gets a small safe part of the environment, on each system its own', () => {
  const ours = { PATH: '/bin', HOME: '/root', SHELL: '() { evil; }', API_KEY: 'secret', SYSTEMROOT: 'C:\\Windows' };
  expect(defaultEnvironment(ours, 'linux')).toEqual({ PATH: '/bin', HOME: '/root' });
  expect(defaultEnvironment(ours, 'win32')).toEqual({ PATH: '/bin', SYSTEMROOT: 'C:\\Windows' });
});
