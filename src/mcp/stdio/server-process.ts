/**
 * Owns: one server process: its start, its three streams, the news of its end. Does not own: what the lines mean.
 *
 * I1 `onExit` is called once, and soon after the program itself has ended, even when something that it started still
 *    holds its output open.
 * I2 Its stderr is never ours: the last 64 KB are kept, the rest is dropped.
 * I3 It is guarded against outliving the host from the moment it runs until it and its tree have ended.
 */
import type { Writable } from 'node:stream';
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { type InputLine, createLineReader } from '../wire/lines.ts';
import { LinkFault } from '../wire/faults.ts';
import type { McpTarget } from '../config/config.ts';
import { type ServerEnding, endServer, guardProcess, isRunning, killNow, signalProcess } from './end-server.ts';
import { DEFAULT_MCP_LIMITS } from '../config/server-limits.ts';
import { defaultEnvironment } from '../config/environment-variables.ts';
import { isError } from '../../json/to-json.ts';

/** A running server. */
export interface ServerProcess {
  /** Hands a line to the program. Rejects with an undelivered {@link LinkFault} when it does not read any more. */
  write(line: string): Promise<void>;
  /** The end of what it wrote to stderr, at most 64 KB. */
  stderr(): string;
  end(how: 'gently' | 'at-once'): Promise<void>;
}

interface Listeners {
  /** Bytes of a line that is kept; a larger one is skipped. Default: that of the limits. */
  readonly lineBytes?: number;
  readonly onLine: (line: InputLine) => void;
  /** Called for a larger line, with each piece of it. */
  readonly onTooLong?: (line: InputLine & { readonly ok: false }) => void;
  readonly onExit: (fault: LinkFault) => void;
}

/** Behind a chunk of this size there is more, which the system would hand over before anybody else has their turn. */
const FULL = 65_536;
const STDERR_BYTES = 64 * 1024;
/** How long the last lines of a program that has ended may take to arrive. */
const DRAIN_MS = 100;

/** Starts a server's program. Rejects with a {@link LinkFault} `not-found` when it cannot be started. */
export async function startServer(
  target: McpTarget & { readonly kind: 'stdio' },
  listeners: Listeners,
): Promise<ServerProcess> {
  const { child, pid } = await launch(target);
  const ending: ServerEnding = { child, pid, tree: target.killTree, platform: process.platform };
  const release = guardProcess({
    terminate: () => signalProcess(ending, 'SIGTERM'),
    kill: () => killNow(ending),
    isRunning: () => isRunning(ending),
  });
  const errors = createTailBuffer(STDERR_BYTES);
  let exited = false;
  const ended = Promise.withResolvers<LinkFault>();
  child.stderr?.on('data', (chunk: Uint8Array) => errors.push(chunk)).on('error', ignore);
  const { lineBytes = DEFAULT_MCP_LIMITS.messageBytes, onLine, onTooLong } = listeners;
  const read = createLineReader(lineBytes, onLine, onTooLong === undefined ? {} : { onTooLong });
  const { stdout } = child;
  stdout
    ?.on('data', (chunk: Uint8Array) => {
      read(chunk);
      if (chunk.length < FULL) return;
      stdout.pause();
      setImmediate(() => stdout.resume());
    })
    .on('error', ignore);
  child.stdin?.on('error', ignore);
  child.once('exit', () => {
    exited = true;
    const tell = (): void => {
      clearTimeout(timer);
      child.off('close', tell);
      const fault = exitFault(target.command, child, errors.text());
      listeners.onExit(fault);
      ended.resolve(fault);
    };
    const timer = setTimeout(tell, DRAIN_MS);
    child.once('close', tell);
  });

  return {
    stderr: () => errors.text(),
    async write(line) {
      const { stdin } = child;
      const failure = exited || stdin === null ? 'closed' : await writeTo(stdin, line);
      if (failure !== null) throw await unread(target.command, child, { ended: ended.promise, cause: failure });
    },
    async end(how) {
      await endServer(ending, how);
      // A surviving process that inherited these streams (tree: false) would otherwise keep our event loop alive.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      release();
    },
  };
}

function writeTo(stdin: Writable, line: string): Promise<Error | null> {
  return new Promise((resolve) => stdin.write(line, (error) => resolve(error ?? null)));
}

/**
 * A program that does not read has usually ended: its exit code and last words say more, and are waited for. That may take long
 * on a busy machine, so what counts is whether its output is still open; only of one that lives it is, a moment later.
 */
async function unread(
  command: string,
  { stdout }: ChildProcess,
  { ended, cause }: { readonly ended: Promise<LinkFault>; readonly cause: unknown },
): Promise<LinkFault> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  // Timers are told before what has come in meanwhile.
  const look = (): unknown => setImmediate(() => setImmediate(() => stdout?.readable === true && resolve(null)));
  const timer = setTimeout(look, 3 * DRAIN_MS);
  const exit = await Promise.race([ended, late]);
  clearTimeout(timer);
  const message = exit?.message ?? `'${command}' does not read its input any more`;
  return new LinkFault('exited', message, { delivered: false, ...(exit === null ? {} : { data: exit.data }), cause });
}

async function launch(
  target: McpTarget & { readonly kind: 'stdio' },
): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  const windows = process.platform === 'win32';
  const env = { ...defaultEnvironment(process.env, process.platform), ...target.env };
  const plan: SpawnPlan = windows
    ? planWindowsCommand(target.command, target.args, { env: { ...process.env, ...env }, isFile: isPlainFile })
    : { command: target.command, args: target.args, verbatim: false };
  try {
    const child = spawn(plan.command, plan.args, {
      env,
      ...(target.cwd === undefined ? {} : { cwd: target.cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own group, so that what the server starts can be ended with it.
      detached: target.killTree && !windows,
      windowsHide: true,
      windowsVerbatimArguments: plan.verbatim,
    });
    await new Promise((resolve, reject) => child.once('spawn', () => resolve(null)).once('error', reject));
    child.on('error', ignore);
    if (child.pid === undefined) throw new Error('it has no process id');
    return { child, pid: child.pid };
  } catch (cause) {
    throw startFault(target, cause);
  }
}

function startFault(target: McpTarget & { readonly kind: 'stdio' }, cause: unknown): LinkFault {
  const code = isError(cause) && 'code' in cause ? String(cause.code) : 'unknown';
  const where = target.cwd !== undefined && !isFolder(target.cwd);
  const what = where
    ? `its folder '${target.cwd}' does not exist`
    : code === 'ENOENT'
      ? `the command '${target.command}' was not found; install it or give its full path`
      : `the command '${target.command}' could not be started (${code})${code === 'ERR_ACCESS_DENIED' ? '; start Node with --allow-child-process' : ''}`;
  return new LinkFault('not-found', what, { delivered: false, data: { errno: code }, cause });
}

function exitFault(command: string, child: ChildProcess, stderr: string): LinkFault {
  const how = child.signalCode === null ? `with code ${child.exitCode}` : `by ${child.signalCode}`;
  return new LinkFault('exited', `the process '${command}' ended ${how}`, {
    delivered: true,
    data: { exitCode: child.exitCode, signal: child.signalCode, stderr },
  });
}

function isPlainFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** True for a folder that is there. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function ignore(): void {
  // The exit of the process explains an error of its streams.
}

/** Makes a buffer that keeps the last `limit` bytes of what is pushed, whatever the amount. */
export function createTailBuffer(limit: number): { push(chunk: Uint8Array): void; text(): string } {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    push(chunk) {
      chunks.push(chunk.subarray(Math.max(0, chunk.length - limit)));
      size += chunks.at(-1)?.length ?? 0;
      for (let first = chunks[0]; first !== undefined && size - first.length >= limit; first = chunks[0]) {
        chunks.shift();
        size -= first.length;
      }
      // Many small writes would otherwise keep a list of tens of thousands of chunks.
      if (chunks.length > 256) chunks = [Buffer.concat(chunks)];
    },
    text() {
      const all = Buffer.concat(chunks);
      return all.subarray(Math.max(0, all.length - limit)).toString('utf8');
    },
  };
}

/** How a program is started: what `spawn` gets. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already; Windows must hand them on as they are. */
  readonly verbatim: boolean;
}

/** What the plan depends on. */
interface WindowsLookup {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isFile: (path: string) => boolean;
}

const META = /[()\][%!^"`<>&|;, *?]/g;

/**
 * Finds out how Windows can start a command as other systems do: `npx` is the batch file `npx.cmd` there, which only
 * `cmd.exe` runs, with arguments quoted twice (once for the program, once for the shell and the script that passes them
 * on). Programs that are not batch files are started directly.
 */
export function planWindowsCommand(command: string, args: readonly string[], lookup: WindowsLookup): SpawnPlan {
  const found = find(command, lookup);
  if (found === null || !/\.(?:cmd|bat)$/i.test(found)) return { command: found ?? command, args, verbatim: false };
  const line = [escapeMeta(found), ...args.map((arg) => escapeMeta(escapeMeta(quote(arg))))].join(' ');
  return {
    command: lookup.env.COMSPEC ?? lookup.env.ComSpec ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  };
}

function find(command: string, { env, isFile }: WindowsLookup): string | null {
  const extensions = (env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((extension) => extension !== '');
  const hasExtension = extensions.some((extension) => command.toLowerCase().endsWith(extension.toLowerCase()));
  const folders = /[\\/]/.test(command)
    ? ['']
    : (env.PATH ?? env.Path ?? '').split(';').filter((folder) => folder !== '');
  for (const folder of folders) {
    const base = folder === '' ? command : `${folder.replace(/[\\/]$/, '')}\\${command}`;
    const candidates = hasExtension ? [base] : extensions.map((extension) => base + extension.toLowerCase());
    const match = candidates.find(isFile);
    if (match !== undefined) return match;
  }
  return null;
}

/** Quotes one argument as the C runtime of Windows reads it: backslashes count only before a double quote. */
function quote(arg: string): string {
  return `"${arg.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}

function escapeMeta(text: string): string {
  return text.replaceAll(META, '^$&');
}
