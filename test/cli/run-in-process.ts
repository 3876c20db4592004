import { Console } from 'node:console';
import { PassThrough, Writable } from 'node:stream';
import { start } from '../../src/cli/start.ts';
import { withoutFileServer } from './without-file-server.ts';

/** How a command line is run. */
export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The program, where a process is started. Default: the command of this repository. */
  readonly main?: string;
  /** Whether the MCP file server is installed. Default: no, since its start takes most of a command. */
  readonly fileServer?: boolean;
  /** Standard output is a terminal as wide as this. */
  readonly columns?: number;
}

/** How a command line ended. */
export interface CliEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What `process.exit` throws while a command runs in the process of its test. */
class ProcessEnd extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the command ended with exit code ${code}`);
    this.code = code;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end in this process: what it prints, its exit code, and nothing of the user's environment. The
 * working folder, the environment and the streams belong to one command at a time, so that commands wait for each
 * other. For signals, terminals and whatever a process leaves behind, start a process.
 */
export function runInProcess(args: readonly string[], options: CliOptions, input: string | Buffer): Promise<CliEnd> {
  const ended = last.then(() => runAlone(args, options, input));
  last = ended.catch(() => undefined);
  return ended;
}

async function runAlone(
  args: readonly string[],
  { cwd, env = {}, fileServer = false, columns }: CliOptions,
  input: string | Buffer,
) {
  const [stdout, stderr] = [collected(), collected()];
  if (columns !== undefined) Object.assign(stdout.stream, { isTTY: true, columns });
  const stdin = new PassThrough();
  stdin.end(input);
  const undo = [
    replaced(process, 'stdout', stdout.stream),
    replaced(process, 'stderr', stderr.stream),
    replaced(process, 'stdin', stdin),
    replaced(globalThis, 'console', new Console(stdout.stream, stderr.stream)),
    replaced(process, 'exit', (code?: number): never => {
      throw new ProcessEnd(code ?? Number(process.exitCode ?? 0));
    }),
    environment(env),
    folder(cwd),
    signals(),
    ...(fileServer ? [] : [withoutFileServer()]),
  ];
  try {
    const code = await start(args).then(
      () => null,
      (error: unknown) => {
        if (error instanceof ProcessEnd) return error.code;
        throw error;
      },
    );
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    for (const restore of undo.toReversed()) restore();
    process.exitCode = undefined;
  }
}

/** A stream that keeps what is written. */
function collected() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Puts something else in the place of a global; the function that is given back undoes it. */
function replaced(owner: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { configurable: true, writable: true, value });
  return () =>
    void (before === undefined ? Reflect.deleteProperty(owner, name) : Object.defineProperty(owner, name, before));
}

/** The variables themselves, because the home folder is read from those of the process. */
function environment(env: Readonly<Record<string, string>>): () => void {
  const before = { ...process.env };
  const become = (variables: NodeJS.ProcessEnv): void => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, variables);
  };
  become(env);
  return () => become(before);
}

function folder(cwd: string): () => void {
  const before = process.cwd();
  process.chdir(cwd);
  return () => process.chdir(before);
}

/** A command keeps its signal handlers until its process ends; this one goes on. */
function signals(): () => void {
  const before = SIGNALS.map((name) => process.rawListeners(name));
  return () => {
    for (const [at, name] of SIGNALS.entries())
      for (const listener of process.rawListeners(name))
        if (before[at]?.includes(listener) !== true) process.removeListener(name, listener as NodeJS.SignalsListener);
  };
}
