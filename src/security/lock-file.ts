import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { pause, systemCode } from './folders.ts';

/** Makes a file that must not be there yet; false when it is. Only its owner can read it. */
function createFirst(path: string, content: string): boolean {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    if (isTaken(systemCode(error))) return false;
    throw error;
  }
  try {
    writeFileSync(file, content);
    return true;
  } catch (error) {
    // An empty lock file on a full disk would have no owner.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * As {@link createFirst}, and never there without its content: a process that is killed meanwhile leaves no empty file,
 * which would have no owner. `draft` is a unique name. On a disk without hard links it is `createFirst`.
 */
export function createWhole(path: string, content: string, draft: string): boolean {
  if (existsSync(path)) return false;
  try {
    writeFileSync(draft, content, { mode: 0o600 });
    linkSync(draft, path);
    return true;
  } catch (error) {
    const code = systemCode(error);
    // On a network's disk, a link may be there although its maker is told otherwise: the answer was lost.
    if (statSync(draft, { throwIfNoEntry: false })?.nlink === 2) return true;
    if (isTaken(code)) return false;
    if (code === 'ENOENT' || code === 'ENOSPC') throw error;
    return createFirst(path, content);
  } finally {
    removeIfPossible(draft);
  }
}

/** What is left of making a lock must not stand in the way of its holder. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It stays.
  }
}

/** Windows answers EPERM or EBUSY for a file that another process is about to delete. */
function isTaken(code: string): boolean {
  return code === 'EEXIST' || (process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY'));
}

/** Whether there is a process of this id, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== 'ESRCH';
  }
}

/** The age from which a lock counts as abandoned; the work under it takes about one millisecond. */
const STALE_MS = 2000;
const PAUSE_MS = 2;

/**
 * Takes the lock file at `path`, waiting while another process has it; `null` when the wait is over. A lock whose process
 * has died, or that is too old, is taken away. Two that do so at once may remove each other's new lock: check `isHeld`
 * before any critical step. It blocks the thread: hold it for as long as it takes to write a small file.
 */
export function takeLock(path: string, waitMs = 3000) {
  const mine = `${String(process.pid)} ${hostname()} ${randomUUID()}`;
  const deadline = performance.now() + waitMs;
  for (;;) {
    if (createFirst(path, mine)) return heldLock(path, mine);
    const other = readLock(path);
    if (other !== null && isStale(path, other)) rmSync(path, { force: true });
    else if (performance.now() >= deadline) return null;
    else pause(PAUSE_MS);
  }
}

function heldLock(path: string, mine: string) {
  /** False when another process took the lock away, because this one seemed dead. */
  const isHeld = () => readLock(path) === mine;
  return {
    isHeld,
    release: () => {
      if (isHeld()) rmSync(path, { force: true });
    },
  };
}

function readLock(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function isStale(path: string, content: string): boolean {
  const [pid, host] = content.split(' ');
  if (host === hostname() && !isAlive(Number(pid))) return true;
  const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return changed !== undefined && Math.abs(Date.now() - changed) > STALE_MS;
}
