import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import { homeFolder } from './folders.ts';
import { systemCode } from './system-code.ts';
import { type PathWorld, leadsInside } from './validate-path-inside.ts';

/**
 * True when `requested` leads to `base` or to something inside it, whether it exists yet or not. Relative paths count from
 * `base`; `..`, `~` and symbolic links are resolved first, also the links of folders that hold a file still to be made.
 * False for everything else, for arguments that are no text or empty, for NUL bytes, and for a base that is no folder.
 * Never throws.
 *
 * It tells what is so now: whoever can change links inside `base` can change one between this check and your use of the
 * path (docs/security.md says what helps).
 *
 * @example validatePath('/data', 'reports/may.txt') // true
 * @example validatePath('/data', '../data2/x')      // false
 */
export function validatePath(base: unknown, requested: unknown): boolean {
  return leadsInside(THIS_MACHINE, base, requested);
}

const THIS_MACHINE: PathWorld = {
  platform: process.platform === 'win32' ? 'win32' : 'posix',
  path: process.platform === 'win32' ? win32 : posix,
  cwd: () => process.cwd(),
  home: homeFolder,
  look: (path) => {
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return { kind: 'missing' };
      return found.isSymbolicLink() ? { kind: 'link', target: readlinkSync(path) } : { kind: 'plain' };
    } catch (error) {
      if (systemCode(error) === 'ENOTDIR') return { kind: 'missing' };
      throw error;
    }
  },
  isFolder: (path) => statSync(path).isDirectory(),
  canonical: (path) => realpathSync.native(path),
};
