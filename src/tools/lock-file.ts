import { writeFileSync } from 'node:fs';
import { systemCode } from './system-code.ts';

/** Makes a file that must not be there yet; false when it is. Only its owner can read it. */
export function createFirst(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (isTaken(systemCode(error))) return false;
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
