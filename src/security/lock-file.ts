import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { systemCode } from './system-code.ts';

/** Makes a file that must not be there yet; false when it is. Only its owner can read it. */
export function createFirst(path: string, content: string): boolean {
  const file = openFirst(path);
  if (file === null) return false;
  try {
    writeFileSync(file, content);
    return true;
  } catch (error) {
    // An empty lock of a full disk would be nobody's.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function openFirst(path: string): number | null {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if (isTaken(systemCode(error))) return null;
    throw error;
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
