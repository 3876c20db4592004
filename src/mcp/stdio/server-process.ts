/**
 * Owns: one server process: its start, its three streams, the news of its end. Does not own: what the lines mean.
 *
 * I1 `onExit` is called once, and soon after the program itself has ended, even when something that it started still
 *    holds its output open.
 * I2 Its stderr is never ours: the last 64 KB are kept, the rest is dropped.
 * I3 It is guarded against outliving the host from the moment it runs until it and its tree have ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { McpTarget } from '../config/config.ts';
import { defaultEnvironment } from '../config/default-environment.ts';
import { type Ending, endProcess, isRunning, killNow, signalProcess } from './end-process.ts';
import { type Line, createLineReader } from './line-reader.ts';
import { LinkFault } from '../link/link.ts';
import { guardProcess } from './orphan-guard.ts';
import { DEFAULT_MCP_LIMITS } from '../config/server-limits.ts';
import { type SpawnPlan, planWindowsCommand } from './windows-command.ts';

/** A running server. */
export interface ServerProcess {
  readonly pid: number;
  /** Hands a line to the program. Rejects with an undelivered {@link LinkFault} when it does not read any more. */
  write(line: string): Promise<void>;
  /** The end of what it wrote to stderr, at most 64 KB. */
  stderr(): string;
  end(how: 'gently' | 'at-once'): Promise<void>;
}

interface Listeners {
  /** Bytes of a line that is kept; a larger one is skipped. Default: that of the limits. */
  readonly lineBytes?: number;
  readonly onLine: (line: Line) => void;
  /** Hears of a line that is larger, with each piece of it. */
  readonly onTooLong?: (line: Line & { readonly ok: false }) => void;
  readonly onExit: (fault: LinkFault) => void;
}

const STDERR_BYTES = 64 * 1024;
/** How long the last lines of a program that has ended may take to arrive. */
const DRAIN_MS = 100;

/** Starts a server's program. Rejects with a {@link LinkFault} `not-found` when it cannot be started. */
export async function startServer(
  target: McpTarget & { readonly kind: 'stdio' },
  listeners: Listeners,
): Promise<ServerProcess> {
  const { child, pid } = await launch(target);
  const ending: Ending = { child, pid, tree: target.killTree, platform: process.platform };
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
  child.stdout?.on('data', read).on('error', ignore);
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
    pid,
    stderr: () => errors.text(),
    async write(line) {
      const { stdin } = child;
      const failure = exited || stdin === null ? 'closed' : await writeTo(stdin, line);
      if (failure !== null) throw await unread(target.command, ended.promise, failure);
    },
    async end(how) {
      await endProcess(ending, how);
      // Whoever inherited these streams and lives on (tree: false) would otherwise keep our event loop alive.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      release();
    },
  };
}

function writeTo(stdin: Writable, line: string): Promise<Error | null> {
  return new Promise((resolve) => stdin.write(line, (error) => resolve(error ?? null)));
}

/** A program that does not read has usually ended: its exit code and last words say more, and are waited for a moment. */
async function unread(command: string, ended: Promise<LinkFault>, cause: unknown): Promise<LinkFault> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), 3 * DRAIN_MS);
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
    ? planWindowsCommand(target.command, target.args, { env: { ...process.env, ...env }, isFile })
    : { command: target.command, args: target.args, verbatim: false };
  try {
    const child = spawn(plan.command, plan.args, {
      env,
      ...(target.cwd === undefined ? {} : { cwd: target.cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, so that what the server starts can be ended with it.
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
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  const where = target.cwd !== undefined && !isFolder(target.cwd);
  const what = where
    ? `its folder '${target.cwd}' does not exist`
    : code === 'ENOENT'
      ? `the command '${target.command}' was not found; install it or give its full path`
      : `the command '${target.command}' could not be started (${code})`;
  return new LinkFault('not-found', what, { delivered: false, data: { errno: code }, cause });
}

function exitFault(command: string, child: ChildProcess, stderr: string): LinkFault {
  const how = child.signalCode === null ? `with code ${child.exitCode}` : `by ${child.signalCode}`;
  return new LinkFault('exited', `the process '${command}' ended ${how}`, {
    delivered: true,
    data: { exitCode: child.exitCode, signal: child.signalCode, stderr },
  });
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function ignore(): void {
  // The end of the process tells what an error of its streams means.
}

/** Keeps the end of a stream. */
interface TailBuffer {
  push(chunk: Uint8Array): void;
  text(): string;
}

/** Makes a buffer that keeps the last `limit` bytes of what is pushed, whatever the amount. */
export function createTailBuffer(limit: number): TailBuffer {
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
