import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { BUNDLED } from '../support/bundled.ts';
import { type CliEnd, type CliOptions, runInProcess } from './run-in-process.ts';
import { WITHOUT_FILE_SERVER } from './without-file-server.ts';

export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** For commands whose tools are not the point: most of what a short one costs is the start of the file server. */
export const NO_SERVERS = ['--mcp', join(import.meta.dirname, 'no-servers.json')];

/** A folder of its own for a test, with two files of different size; removed when the test ends. */
export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'signalbox-cli-')));
  await writeFile(join(path, 'small.txt'), 'small');
  await writeFile(join(path, 'large.log'), 'x'.repeat(2_000));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export type { CliEnd, CliOptions } from './run-in-process.ts';

/** A command line that runs. */
export interface RunningCli {
  readonly child: ChildProcessWithoutNullStreams;
  /** Everything that was printed so far, without styles. */
  readonly printed: () => string;
  /** Resolves once this has been printed, after whatever was printed when it was asked for. */
  until(text: string): Promise<void>;
  readonly ended: Promise<CliEnd>;
}

/** Starts the command in a child process, with an environment that names no model. */
export function startCli(args: readonly string[], options: CliOptions): RunningCli {
  const { cwd, env = {} } = options;
  return watch(spawn(process.execPath, [...program(options), ...args], { cwd, env: cleanEnvironment(cwd, env) }));
}

/** What Node is told to run: in half of the time where the file server, and with it the client of MCP, is not started. */
function program({ main = MAIN, fileServer = false }: CliOptions): readonly string[] {
  return [...BUNDLED, ...(fileServer ? [] : WITHOUT_FILE_SERVER), main];
}

/**
 * Runs the command to its end, in the process of the test, with no input unless it is given: most of what a process of
 * its own costs is its start.
 */
export function runCli(
  args: readonly string[],
  { cwd, env, ...rest }: CliOptions,
  input: string | Buffer = '',
): Promise<CliEnd> {
  return runInProcess(args, { ...rest, cwd, env: cleanEnvironment(cwd, env ?? {}) }, input);
}

/** Runs the command to its end in a process of its own, with no input. */
export async function runCliProcess(args: readonly string[], options: CliOptions): Promise<CliEnd> {
  const cli = startCli(args, options);
  cli.child.stdin.end();
  return cli.ended;
}

/** Starts the command in a terminal of its own. What is written to the child's input is typed there. */
export function startInTerminal(args: readonly string[], options: CliOptions, columns?: number): RunningCli {
  const { cwd, env = {} } = options;
  // Without exec the shell would get the Ctrl-C as well, and end by it.
  const sized = columns === undefined ? '' : `stty cols ${columns}; `;
  const line = `${sized}exec ${[process.execPath, ...program(options), ...args].map((word) => `'${word}'`).join(' ')}`;
  const terminal = { TERM: 'xterm-256color', COLUMNS: '90', ...env };
  return watch(spawn('script', ['-qfec', line, '/dev/null'], { cwd, env: cleanEnvironment(cwd, terminal) }));
}

/** A home of its own, so that nothing of the user's is read or written. */
function cleanEnvironment(home: string, env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE, HOME: home, SHELL: '/bin/sh', ...env };
}

function watch(child: ChildProcessWithoutNullStreams): RunningCli {
  const output = { stdout: '', stderr: '' };
  const news = new EventTarget();
  // Stripped as a whole: an escape sequence may come in two pieces.
  let raw = '';
  const all = (): string => stripVTControlCharacters(raw);
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      raw += text;
      news.dispatchEvent(new Event('text'));
    });
  }
  // A child that has ended takes no more input; that is no failure of the test.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]: readonly unknown[]) => {
    news.dispatchEvent(new Event('text'));
    return { code: typeof code === 'number' ? code : null, ...output };
  });
  return {
    child,
    printed: all,
    ended,
    async until(text) {
      const from = all().length;
      while (!all().slice(from).includes(text)) {
        if (child.exitCode !== null) throw new Error(`it ended before it printed '${text}':\n${all()}`);
        await once(news, 'text');
      }
    },
  };
}
