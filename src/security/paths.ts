import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { type PlatformPath, delimiter, posix, win32 } from 'node:path';
import { homeFolder, systemCode } from './folders.ts';

/**
 * True when `requested` leads to `base` or to something inside it, whether it exists yet or not. Relative paths count from
 * `base`; `..`, `~` and symbolic links are resolved first, also the links of folders that hold a file still to be made.
 * False for everything else, for arguments that are not text or empty, for NUL bytes, and for a base that is not a folder.
 * Never throws.
 *
 * The result is true only now: anyone who can change links inside `base` can change one between this check and your use
 * of the path (docs/security.md says what helps).
 *
 * @example validatePath('/data', 'reports/may.txt') // true
 * @example validatePath('/data', '../data2/x')      // false
 */
export function validatePath(base: unknown, requested: unknown): boolean {
  return leadsInside(THIS_MACHINE, base, requested);
}

const THIS_MACHINE: PathWorld = {
  platform: delimiter === ';' ? 'win32' : 'posix',
  path: delimiter === ';' ? win32 : posix,
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

/** What a name in a folder is. */
export type Found =
  | { readonly kind: 'missing' }
  | { readonly kind: 'plain' }
  | { readonly kind: 'link'; readonly target: string };

/** The file system as the check sees it, so that the rules of every platform can be tested on any. Each function may throw. */
export interface PathWorld {
  readonly platform: 'posix' | 'win32';
  readonly path: PlatformPath;
  readonly cwd: () => string;
  /** The user's home folder, `null` where there is none. */
  readonly home: () => string | null;
  /** What stands at this path, without following it if it is a link. */
  readonly look: (path: string) => Found;
  readonly isFolder: (path: string) => boolean;
  /** The one true name of something that exists, in the spelling of the disk. Throws when it does not exist. */
  readonly canonical: (path: string) => string;
}

/** Longer paths reach no file, and would only cost time. */
const MAX_CHARS = { posix: 4096, win32: 32_767 } as const;
const MAX_LINKS = 40;

/** Whether `requested` leads to `base` or into it. False for whatever cannot be decided; never throws. */
export function leadsInside(world: PathWorld, baseText: unknown, requested: unknown): boolean {
  if (!isPathText(world, baseText) || !isPathText(world, requested)) return false;
  if (world.platform === 'win32' && !isPlainWindowsPath(requested)) return false;
  try {
    const base = world.path.resolve(world.cwd(), expandHome(world, baseText));
    if (!world.isFolder(base)) return false;
    const room: Room = { base, root: world.canonical(base) };
    return readingsOf(world, requested).every((reading) => {
      const target = expandHome(world, reading);
      return [world.path.resolve(base, target), target].every((path) => isInside(world, room, walk(world, room, path)));
    });
  } catch {
    return false;
  }
}

function isPathText(world: PathWorld, text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_CHARS[world.platform] &&
    !text.includes('\0') &&
    text.isWellFormed()
  );
}

interface Room {
  /** The base as it was given, made absolute. */
  readonly base: string;
  /** Its one true name. */
  readonly root: string;
}

/**
 * A backslash is part of a name here and a separator elsewhere, and tools like to turn one into the other: a path has to
 * stay inside in both readings.
 */
function readingsOf(world: PathWorld, requested: string): readonly string[] {
  if (world.platform === 'win32' || !requested.includes('\\')) return [requested];
  return [requested, requested.replaceAll('\\', '/')];
}

/** Other people's homes (`~name`) are looked up by a shell only; anyone that writes one does not mean a place inside base. */
function expandHome(world: PathWorld, text: string): string {
  if (!text.startsWith('~')) return text;
  const home = world.home();
  const isOwn = text === '~' || separators(world).test(text.charAt(1));
  if (!isOwn || home === null) throw new Error('This ~ names no folder.');
  return home + text.slice(1);
}

/**
 * Follows a path as the system does, name by name, so that `link/..` is the parent of where the link leads. The two ways to
 * read such a path (a program may shorten it before it opens it) are both walked by the caller. Gives the last folder or file
 * on the way that exists; the names below it that do not exist lead nowhere else.
 */
function walk(world: PathWorld, room: Room, path: string): string {
  const { root, names } = takeApart(world, room, path);
  const left = names.toReversed();
  let existing = root ?? room.root;
  let missing = 0;
  let links = 0;
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === '..') {
      if (missing > 0) missing -= 1;
      else existing = world.path.dirname(existing);
      continue;
    }
    const next = world.path.join(existing, name);
    const found: Found = missing > 0 ? { kind: 'missing' } : world.look(next);
    switch (found.kind) {
      case 'missing':
        missing += 1;
        break;
      case 'plain':
        existing = next;
        break;
      case 'link': {
        if (++links > MAX_LINKS) throw new Error('There are too many links.');
        const target = takeApart(world, room, found.target);
        existing = target.root ?? existing;
        left.push(...target.names.toReversed());
      }
    }
  }
  return existing;
}

function takeApart(world: PathWorld, room: Room, path: string) {
  const { root } = world.path.parse(path);
  if (root !== '' && !isKnownRoot(world, room, root)) throw new Error('This is another drive or another machine.');
  const names = path.slice(root.length).split(separators(world));
  return { root: root === '' ? null : root, names: names.filter((name) => name !== '' && name !== '.') };
}

/** Merely looking at `\\machine\share` logs in there, so other roots are refused before they are touched. */
function isKnownRoot(world: PathWorld, room: Room, root: string): boolean {
  const plain = (path: string) => world.path.normalize(world.path.parse(path).root).toLowerCase();
  return [room.base, room.root].some((known) => plain(known) === plain(root));
}

/** Compared in the spelling of the disk: that is what makes it right where case or Unicode forms do not count. */
function isInside(world: PathWorld, room: Room, existing: string): boolean {
  const path = world.canonical(existing);
  const { sep } = world.path;
  return path === room.root || path.startsWith(room.root.endsWith(sep) ? room.root : room.root + sep);
}

function separators(world: PathWorld): RegExp {
  return world.platform === 'win32' ? /[\\/]/ : /\//;
}

/** Names that are devices in every folder, whatever extension follows. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)$/i;
const FORBIDDEN = /[<>:"|?*\p{Cc}]/u;
const DRIVE = /^[a-z]:[\\/]/i;
const SHARE = /^[\\/]{2}[^\\/?.][^\\/]*[\\/]+[^\\/]/;

/**
 * False for what Windows reads as something else than a file in a folder: `C:name` and `\name` (they depend on a current
 * drive), `\\?\` and `\\.\` names, devices such as `NUL.txt`, other streams of a file (`a.txt:hidden`), and names that
 * end in a dot or a space, which Windows cuts off.
 */
function isPlainWindowsPath(path: string): boolean {
  const rest = withoutRoot(path);
  return rest !== null && rest.split(/[\\/]/).every(isPlainName);
}

/** What follows the drive or the `\\`; `null` for roots that are not plain. */
function withoutRoot(path: string): string | null {
  if (DRIVE.test(path)) return path.slice(3);
  if (SHARE.test(path)) return path.slice(2);
  return /^[\\/]/.test(path) ? null : path;
}

function isPlainName(name: string): boolean {
  if (name === '' || name === '.' || name === '..') return true;
  const [stem = ''] = name.split('.');
  return !FORBIDDEN.test(name) && !/[. ]$/.test(name) && !DEVICE.test(stem.trimEnd());
}

const UNSAFE = /[\s\p{Cc};|&<>$`"'!{}()[\]~*?#^%=]/u;

/**
 * True for a text that a shell takes as one plain word: not empty, no whitespace, no control character, no leading `-`, and
 * none of `` ; | & < > $ ` " ' ! { } ( ) [ ] ~ * ? # ^ % = `` or half of a surrogate pair. A backslash is allowed, for
 * Windows paths; a POSIX shell reads it as an escape. False for anything that is not text; never throws. It says nothing
 * about what the word means: check paths with `validatePath` as well.
 *
 * @example isSafeShellArg('report.txt')   // true
 * @example isSafeShellArg('a; rm -rf .')  // false
 */
export function isSafeShellArg(arg: unknown): boolean {
  return typeof arg === 'string' && arg !== '' && arg.isWellFormed() && !arg.startsWith('-') && !UNSAFE.test(arg);
}
