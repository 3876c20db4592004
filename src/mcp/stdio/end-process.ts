import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { isGroupAlive } from './process-group.ts';

/** A started program, and whether what it started itself is ended with it. */
export interface Ending {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly tree: boolean;
  readonly platform: NodeJS.Platform;
}

const GENTLE_MS = 1500;
const TERM_MS = 1500;
const KILL_MS = 1000;
const POLL_MS = 25;

/**
 * Ends a program within 5 s. Gently: its input is closed, then it is asked to end, then it is killed; each step gets a
 * moment. At once: it is killed. With `tree`, what it started ends too, even when the program itself has gone already.
 */
export async function endProcess(ending: Ending, how: 'gently' | 'at-once'): Promise<void> {
  if (how === 'gently') {
    ending.child.stdin?.end();
    if (await hasEnded(ending, GENTLE_MS, () => isLeaderRunning(ending.child))) {
      if (!isRunning(ending)) return;
    }
    signalProcess(ending, 'SIGTERM');
    if (await hasEnded(ending, TERM_MS, () => isRunning(ending))) return;
  }
  signalProcess(ending, 'SIGKILL');
  await hasEnded(ending, KILL_MS, () => isRunning(ending));
}

/** True while the program, or with `tree` anything of its process group, is alive. */
export function isRunning({ child, pid, tree, platform }: Ending): boolean {
  if (platform === 'win32' || !tree) return isLeaderRunning(child);
  return isLeaderRunning(child) || isGroupAlive(pid, platform);
}

/** Sends a signal to the program and, with `tree`, to its group. What has ended already is no error. */
export function signalProcess({ child, pid, tree, platform }: Ending, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (platform === 'win32') {
    const [command, ...args] = taskkillArgs(pid, tree);
    if (isLeaderRunning(child))
      spawn(command, args, { stdio: 'ignore', windowsHide: true }).on('error', () => child.kill());
    return;
  }
  if (!tree) {
    child.kill(signal);
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has gone, or was never made: the program alone is left to try.
    child.kill(signal);
  }
}

/** Kills without waiting for anything, for the moment in which the host ends. */
export function killNow(ending: Ending): void {
  if (ending.platform !== 'win32') return signalProcess(ending, 'SIGKILL');
  const [command, ...args] = taskkillArgs(ending.pid, ending.tree);
  if (isLeaderRunning(ending.child)) spawnSync(command, args, { stdio: 'ignore', windowsHide: true });
}

/** The command line that ends a program on Windows, where there are no process groups; `/T` is its tree. */
export function taskkillArgs(pid: number, tree: boolean): readonly [string, ...string[]] {
  return ['taskkill', '/pid', String(pid), ...(tree ? ['/T'] : []), '/F'];
}

function isLeaderRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function hasEnded(ending: Ending, ms: number, isAlive: () => boolean): Promise<boolean> {
  const waiting = new AbortController();
  const wake = (): void => waiting.abort();
  ending.child.once('exit', wake);
  try {
    for (let left = ms; left > 0 && isAlive(); left -= POLL_MS) {
      await wait(POLL_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
    }
  } finally {
    ending.child.off('exit', wake);
  }
  return !isAlive();
}
