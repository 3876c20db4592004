import { memberOf } from '../../json/json.ts';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { readFileSync, readdirSync } from 'node:fs';
import { isError } from '../../json/to-json.ts';

/** A started program, and whether what it started itself is ended with it. */
export interface ServerEnding {
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
export async function endServer(ending: ServerEnding, how: 'gently' | 'at-once'): Promise<void> {
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
export function isRunning({ child, pid, tree, platform }: ServerEnding): boolean {
  if (platform === 'win32' || !tree) return isLeaderRunning(child);
  return isLeaderRunning(child) || isGroupAlive(pid, platform);
}

/** Sends a signal to the program and, with `tree`, to its group. What has ended already is not an error. */
export function signalProcess({ child, pid, tree, platform }: ServerEnding, signal: 'SIGTERM' | 'SIGKILL'): void {
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
  const apart = platform === 'linux' && isLeaderRunning(child) ? startedApart(pid) : [];
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has gone, or was never made: the program alone is left to try.
    child.kill(signal);
  }
  for (const one of apart) {
    try {
      process.kill(one, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Kills without waiting for anything, for when the host exits. */
export function killNow(ending: ServerEnding): void {
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

async function hasEnded(ending: ServerEnding, ms: number, isAlive: () => boolean): Promise<boolean> {
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

/**
 * True while a process of the group lives (POSIX). A process that has ended and waits to be collected does not count: in
 * a container whose first process does not reap orphans, such zombies stay forever.
 */
export function isGroupAlive(group: number, platform: NodeJS.Platform): boolean {
  if (!answersSignals(group)) return false;
  return platform !== 'linux' || hasLivingMember(group);
}

function answersSignals(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return isError(error) && 'code' in error && error.code === 'EPERM';
  }
}

function hasLivingMember(group: number): boolean {
  try {
    return livingProcesses().some((one) => one.group === group);
  } catch {
    return true;
  }
}

/**
 * What a running program has started, and what that has started, outside of the program's own group: in a session of its own,
 * as browsers are. What a program that has ended left behind there is no longer known as its own.
 */
function startedApart(program: number): readonly number[] {
  try {
    const children = Map.groupBy(livingProcesses(), ({ parent }) => parent);
    const below = (pid: number): readonly LivingProcess[] =>
      (children.get(pid) ?? []).flatMap((one) => [one, ...below(one.pid)]);
    return below(program).flatMap(({ pid, group }) => (group === program ? [] : [pid]));
  } catch {
    return [];
  }
}

interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** All of the system, without those that have ended and wait to be collected. Throws where `/proc` cannot be read. */
function livingProcesses(): readonly LivingProcess[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      // The name in parentheses may hold anything; behind it stand state, parent and group.
      const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if ('ZX'.includes(state)) return [];
      return [{ pid: Number(entry), parent: Number(parent), group: Number(group) }];
    } catch {
      return [];
    }
  });
}

/**
 * Owns: that no server outlives its host, however the host ends. Does not own: how one process is ended.
 *
 * I1 Listeners exist only while a process runs.
 * I2 The host ends as it would have: with its own listener for a signal we leave the decision to it; without one we end
 *    the processes and raise the signal again. No listener for uncaught errors is ever installed.
 * I3 On `exit`, however it came about, what still runs is killed at once.
 */

/** A process that must not outlive the host. */
interface Guarded {
  /** Asks it to end. */
  terminate(): void;
  /** Ends it now. Must work synchronously. */
  kill(): void;
  isRunning(): boolean;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const GRACE_MS = 800;

const LOOK_MS = 20;

const running = new Set<Guarded>();

let raising = false;

/** Guards a process until the returned function is called. */
export function guardProcess(guarded: Guarded): () => void {
  if (running.size === 0) listen();
  running.add(guarded);
  return () => {
    if (running.delete(guarded) && running.size === 0) unlisten();
  };
}

function listen(): void {
  process.on('exit', killAll);
  // First, while a listener of the host's that takes the signal once is still there to be counted.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
}

function unlisten(): void {
  process.off('exit', killAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function killAll(): void {
  for (const guarded of running) guarded.kill();
}

function onSignal(signal: NodeJS.Signals): void {
  const hostDecides = process.listenerCount(signal) - 1 - countPassiveListeners() > 0;
  // The kernel ends no first process of a container by a signal: without a listener of its own, it goes on.
  if (hostDecides || process.pid === 1) return;
  if (raising) return raise(signal);
  raising = true;
  for (const guarded of running) guarded.terminate();
  waitForAll(signal, Math.ceil(GRACE_MS / LOOK_MS));
}

function waitForAll(signal: NodeJS.Signals, polls: number): void {
  if (polls === 0 || ![...running].some((guarded) => guarded.isRunning())) return raise(signal);
  setTimeout(() => waitForAll(signal, polls - 1), LOOK_MS);
}

function raise(signal: NodeJS.Signals): void {
  killAll();
  running.clear();
  unlisten();
  process.kill(process.pid, signal);
}

/**
 * The listeners of the widespread package signal-exit, which wait to be the last ones and then raise the signal themselves.
 * Were they taken for the host's own, each would wait for the other and the host would survive its signal.
 */
function countPassiveListeners(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for('signal-exit emitter')),
    Reflect.get(process, '__signal_exit_emitter__'),
  ];
  return emitters.reduce<number>((sum, emitter) => {
    const count = memberOf(emitter, 'count');
    return sum + (typeof count === 'number' ? count : 0);
  }, 0);
}
