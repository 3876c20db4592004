import { closeSync, constants, mkdirSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

/** The user's home folder as it is now, or `null` if there is none: no such user, or an empty `HOME`. */
export function homeFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    return null;
  }
}

/**
 * Makes a folder and those above it, as `mkdirSync` does, and returns the first that was made. A `.signalbox` among them gets a
 * `.gitignore` that covers everything: recordings hold what users and tools have said, and must not be committed by accident.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  const whole = resolve(path);
  const made = withParents(whole, mode);
  if (made !== undefined) ignoreOwnFolder(whole);
  return made;
}

/**
 * One folder after the other: Node alone hangs where a folder cannot be made although the one above it is there, as in /proc, and
 * of a read-only disk it says that folders are missing. It is tried again, as other processes may make the same ones.
 */
function withParents(path: string, mode: number, triesLeft = 3): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    const above = dirname(path);
    if (triesLeft === 0 || above === path || !['ENOENT', 'EEXIST'].includes(systemCode(error))) throw error;
    const first = withParents(above, mode);
    const made = withParents(path, mode, triesLeft - 1);
    return first ?? made;
  }
}

function ignoreOwnFolder(path: string): void {
  const above = dirname(path);
  if (basename(path) !== '.signalbox') return above === path ? undefined : ignoreOwnFolder(above);
  try {
    writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  } catch {
    // There is one already, or none can be written: no reason to keep nothing.
  }
}

/** Node's name for a failed system call, such as `ENOENT`; empty for any other error. In jest, Node's errors are of another realm. */
export function systemCode(error: unknown): string {
  const isError = Object.prototype.toString.call(error) === '[object Error]';
  const code: unknown = isError ? Reflect.get(Object(error), 'code') : '';
  return typeof code === 'string' ? code : '';
}

/** Null where the file is not there. */
export function ifThere<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The text of a file; empty for a pipe or a device, which could be waited for without end. Throws where nothing is there. */
export function textIn(path: string): string {
  const found = statSync(path);
  return found.isFile() || found.isDirectory() ? readFileSync(path, 'utf8') : '';
}

/** Adds to a file, which it makes for its owner alone. Throws for a link, which leads elsewhere, and for a pipe that nobody reads. */
export function addTo(path: string, text: string): void {
  // On Windows, which does not have them, O_NOFOLLOW and O_NONBLOCK count as none.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
  const file = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600);
  try {
    // All of it, or an error: `writeSync` may write a part.
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** For how long a virus scanner, a backup or another reader may have the file open that is to be replaced. */
const OPEN_MS = 1000;

/**
 * Moves a file over another, in one step. Windows refuses that while any program has the other open: it is tried again
 * there. Blocks the thread meanwhile.
 */
export function moveOver(from: string, to: string): void {
  for (const until = performance.now() + OPEN_MS; ; pause(10)) {
    try {
      return renameSync(from, to);
    } catch (error) {
      const isOpen = ['EPERM', 'EACCES', 'EBUSY'].includes(systemCode(error));
      if (process.platform !== 'win32' || !isOpen || performance.now() > until) throw error;
    }
  }
}

/** Blocks the thread. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
