import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/start.ts';
import { textWidth } from '../../src/terminal/text-width.ts';
import { BUNDLED } from '../support/bundled.ts';
import { MAIN, runCli, runCliProcess, temporaryFolder } from './spawn-cli.ts';

/** To open a pipe that no one reads, or writes, would block the process: not even Ctrl-C would end it. */
const PIPES: readonly (readonly [title: string, args: readonly string[], says: string])[] =
  process.platform === 'win32'
    ? []
    : [
        ['a pipe as recording', ['run', 'Hello?', '--record', 'pipe'], "--record: 'pipe' is a pipe that no one reads."],
        ['a pipe of runs', ['runs', 'list', '--in', 'pipe'], "--in: 'pipe' is neither a folder nor a file."],
      ];

test.each<readonly [title: string, args: readonly string[], says: string]>([
  ['an unknown command', ['rnu', 'Hello?'], "there is no command 'rnu'. Did you mean 'run'?"],
  ['a misspelt help', ['hlep'], "there is no command 'hlep'. Did you mean 'help'?"],
  ['an unknown option', ['run', 'Hello?', '--jsno'], "There is no option '--jsno'. Did you mean '--json'?"],
  ['an unknown letter', ['run', 'Hello?', '-z'], "There is no option '-z'."],
  ['no question', ['run'], 'the question is missing.'],
  ['a blank question', ['run', '  '], 'the question is missing.'],
  ['an option without its value', ['run', 'Hello?', '--model'], '--model needs a value: --model <name>.'],
  ['an option in the place of a value', ['run', 'Hello?', '--model', '--json'], "'--json' looks like an option"],
  ['a value for a flag', ['run', 'Hello?', '--json=yes'], '--json takes no value.'],
  [
    'no number of steps',
    ['run', 'Hello?', '--max-steps', 'many'],
    "--max-steps must be a whole number from 1 on, and is 'many'.",
  ],
  ['too few steps', ['run', 'Hello?', '--max-steps', '0'], '--max-steps must be'],
  ['a fraction of a step', ['run', 'Hello?', '--max-steps', '1.5'], '--max-steps must be'],
  ['no address', ['run', 'Hello?', '--base-url', 'localhost'], "baseURL: 'localhost' is not a server address."],
  ['no model', ['run', 'Hello?', '--model', 'ollama:'], "model: 'ollama:' names no model."],
  [
    'a key that is not there',
    ['run', 'Hello?', '--api-key-env', 'NO_KEY'],
    'the environment variable NO_KEY is not set',
  ],
  ['a configuration that is not there', ['run', 'Hello?', '--mcp', 'none.json'], '--mcp: none.json:'],
  ['a configuration that is no JSON', ['run', 'Hello?', '--mcp', 'broken.json'], 'broken.json:1:'],
  [
    'a configuration without servers',
    ['run', 'Hello?', '--mcp', 'empty.json'],
    "there is no 'mcpServers' object in it",
  ],
  ['a server without a command', ['run', 'Hello?', '--mcp', 'server.json'], "MCP server 'files' needs 'command'"],
  [
    'a recording in no folder',
    ['run', 'Hello?', '--record', 'no/run.jsonl'],
    "--record: 'no/run.jsonl' cannot be written",
  ],
  ['a folder as recording', ['run', 'Hello?', '--record', 'folder'], "--record: 'folder' is a folder"],
  ['no recording to replay', ['replay'], 'the recording is missing.'],
  ['two recordings to replay', ['replay', 'a', 'b'], "'b' is one argument too many."],
  ['no recording to fork', ['fork', '--at', '1'], 'the recording is missing.'],
  ['two recordings to fork', ['fork', 'a', 'b', '--at', '1'], "'b' is one argument too many."],
  ['one recording to bisect', ['bisect', 'a'], 'two recordings are compared, or one recording on two versions'],
  ['four files to bisect', ['bisect', 'a', 'b', 'c', 'd'], 'two recordings are compared'],
  ['no module to verify', ['verify'], 'the module to verify is missing.'],
  ['two modules to verify', ['verify', 'a.ts', 'b.ts'], 'one module is verified, and there are 2.'],
  [
    'two modules to check',
    ['upgrade', '--check', 'a.ts', 'b.ts', '--journal', '.'],
    'one module is checked, and there are 2.',
  ],
  ...PIPES,
])('%s is wrong usage: said on standard error with a hint, exit code 2', async (_title, args, said) => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'folder'));
  if (PIPES.length > 0) execFileSync('mkfifo', [join(folder.path, 'pipe')]);
  await writeFile(join(folder.path, 'broken.json'), '{ "mcpServers": ');
  await writeFile(join(folder.path, 'empty.json'), '{}');
  await writeFile(join(folder.path, 'server.json'), '{ "mcpServers": { "files": {} } }');
  const ended = await runCli(args, { cwd: folder.path });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain(said);
  expect(ended.stderr).toContain('Usage: signalbox');
  expect(ended.stderr).not.toMatch(/^\s+at /m);
});

test.each([
  ['the program', ['--help'], ['Usage: signalbox [command]', '  chat ', '  run ']],
  ['the program, in short', ['-h'], ['Usage: signalbox [command]']],
  ['run', ['run', '--help'], ['Usage: signalbox run', '--max-steps <n>', '--json', 'Exit codes:']],
  ['chat', ['chat', '-h'], ['Usage: signalbox chat', '--model <name>']],
  ['chat, asked for by name', ['help', 'chat'], ['Usage: signalbox chat']],
])('the help of %s goes to standard output, exit code 0', async (_title, args, parts) => {
  await using folder = await temporaryFolder();
  const ended = await runCli(args, { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  for (const part of parts) expect(ended.stdout).toContain(part);
  for (const line of ended.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

test.each(['', ...Object.keys(COMMANDS)])(
  'the help of %j fits the terminal, and says the same at every width',
  async (name) => {
    await using folder = await temporaryFolder();
    const help = async (columns?: number) => {
      const how = columns === undefined ? { cwd: folder.path } : { cwd: folder.path, columns };
      return (await runCli(name === '' ? ['--help'] : [name, '--help'], how)).stdout;
    };
    const wide = await help();
    for (const columns of [40, 80]) {
      const shown = await help(columns);
      for (const line of shown.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      // At 40 columns a path may be broken.
      expect(shown.replaceAll(/\s/g, '')).toBe(wide.replaceAll(/\s/g, ''));
    }
    expect(wide).toMatch(/^ {2}-h, --help {2,}Show this help\.$|^ {2}diagram {2,}Draw/m);
    for (const line of wide.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(100);
  },
);

test.skipIf(process.platform !== 'linux')('no other folder is used for one whose path Node cannot tell', async () => {
  await using folder = await temporaryFolder();
  const script = 'mkdir "$(printf "bad\\377")" && cd "$(printf "bad\\377")" && exec "$@"';
  const command = [process.execPath, ...BUNDLED, MAIN, 'run', 'Hello?', '--model', 'practice'];
  const ended = spawnSync('sh', ['-c', script, 'sh', ...command], {
    cwd: folder.path,
    env: { ...process.env, HOME: folder.path },
    encoding: 'utf8',
  });
  expect(ended).toMatchObject({ status: 1, stdout: '' });
  expect(ended.stderr).toContain('The path of this folder is not UTF-8');
  expect(readdirSync(folder.path).filter((name) => name.startsWith('bad'))).toHaveLength(1);
});

test('--version prints the version of the package', async () => {
  await using folder = await temporaryFolder();
  const { version } = createRequire(import.meta.url)('../../package.json');
  expect(await runCliProcess(['--version'], { cwd: folder.path })).toEqual({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  });
});
