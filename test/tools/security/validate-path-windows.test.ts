import { win32 } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type PathWorld, leadsInside } from '../../../src/security/paths.ts';

/** A Windows disk on paper: folders, files and links, found whatever the case; every name that was looked at is kept. */
function windows(entries: readonly string[], links: Readonly<Record<string, string>> = {}) {
  const touched: string[] = [];
  const plain = (path: string) => (path.length > 3 ? path.replace(/\\$/, '') : path).toLowerCase();
  const find = (path: string) => [...entries, ...Object.keys(links)].find((entry) => plain(entry) === plain(path));
  const world: PathWorld = {
    platform: 'win32',
    path: win32,
    cwd: () => 'C:\\work',
    home: () => 'C:\\Users\\me',
    look: (path) => {
      touched.push(path);
      const entry = find(path);
      if (entry === undefined) return { kind: 'missing' };
      const target = links[entry];
      return target === undefined ? { kind: 'plain' } : { kind: 'link', target };
    },
    isFolder: (path) => find(path) !== undefined,
    canonical: (path) => {
      const entry = find(path);
      if (entry === undefined) throw new Error(`no such file: ${path}`);
      return entry;
    },
  };
  return { touched, world, inside: (requested: string, base = 'C:\\Data') => leadsInside(world, base, requested) };
}

const DISK = [
  'C:\\',
  'C:\\Data',
  'C:\\Data\\Sub',
  'C:\\Data\\file.txt',
  'C:\\Data2',
  'C:\\work',
  'C:\\Users\\me',
  'D:\\',
  'D:\\Data',
  '\\\\nas\\share\\',
  '\\\\nas\\share\\Data',
];
const LINKS = {
  'C:\\Data\\junction': 'C:\\Data2',
  'C:\\Data\\inner': 'Sub',
  'C:\\Data\\drive': 'D:\\Data',
  'C:\\Data\\far': '\\\\evil\\share\\x',
  'C:\\Data\\raw': '\\\\?\\C:\\Data2',
};

describe('on Windows', () => {
  test.each([
    'file.txt',
    'FILE.TXT',
    'sub\\new.txt',
    'SUB/new.txt',
    '.',
    'Sub\\..\\file.txt',
    'inner\\x',
    'new\\er\\x',
    '..\\data\\x',
    'a b\\c',
    'C:\\Data\\x',
    'c:\\data\\x',
    'c:/DATA/sub/x',
    'C:\\Data2\\..\\Data\\x',
    'console.txt',
    'com10',
    'nul-file',
    'a.con',
  ])('inside: %j', (requested) => {
    expect(windows(DISK, LINKS).inside(requested)).toBe(true);
  });

  test.each([
    '..',
    '..\\Data2',
    '../data2/x',
    'Sub\\..\\..\\Data2',
    'C:\\Data2',
    'c:\\data2\\x',
    'C:\\Data\\..\\x',
    'C:\\',
    'D:\\Data\\x',
    'D:\\',
    'junction',
    'junction\\x',
    'JUNCTION/x',
    'drive\\x',
    'far',
    'raw\\x',
    'C:',
    'C:x',
    'c:..\\Data',
    'D:x',
    '\\Data\\x',
    '/Data/x',
    '\\',
    '~',
    '~\\x',
    '~other\\x',
    '\\\\nas\\share\\Data',
    '//nas/share/Data',
    '\\\\?\\C:\\Data\\x',
    '//?/C:/Data/x',
    '\\\\.\\C:\\Data\\x',
    '\\\\.\\pipe\\x',
    '\\\\?\\UNC\\nas\\share',
    '\\\\nas',
    '\\\\',
    'file.txt:hidden',
    'file.txt::$DATA',
    'Sub:x\\y',
    ':x',
    'C:\\Data\\file.txt:x',
    'con',
    'NUL',
    'nul.txt',
    'Sub\\aux',
    'COM1',
    'com¹.log',
    'lpt9.tar.gz',
    'PRN .txt',
    'conin$',
    'CLOCK$',
    'NUL\\x',
    'file.txt.',
    'file.txt ',
    'file.txt. .',
    'Sub \\x',
    '.. \\Data2',
    '...\\x',
    '. .',
    'a?',
    'a*',
    'a|b',
    '<a',
    'a"b',
    'a\tb',
    'a\u0085b',
    'a\0b',
  ])('outside: %j', (requested) => {
    expect(windows(DISK, LINKS).inside(requested)).toBe(false);
  });

  test('a machine that nobody named is never touched, because a look would log in there', () => {
    const { touched, inside } = windows(DISK, LINKS);
    for (const path of ['\\\\evil\\share\\x', '//evil/share/x', 'far', 'far\\x']) inside(path);
    expect(touched.filter((path) => path.includes('evil'))).toEqual([]);
    expect(touched).not.toEqual([]);
  });

  test('the base may be on a share, and then paths on that share count', () => {
    const { inside } = windows(DISK, LINKS);
    const base = '\\\\nas\\share\\Data';
    expect(['x', '\\\\NAS\\share\\data\\x', '//nas/share/Data/x'].map((path) => inside(path, base))).toEqual([
      true,
      true,
      true,
    ]);
    expect(
      ['..\\x', '\\\\nas\\share\\x', '\\\\nas\\other\\Data\\x', 'C:\\Data\\x'].map((path) => inside(path, base)),
    ).toEqual([false, false, false, false]);
  });

  test('of a base on a drive that stands for a folder of another, paths on both drives count', () => {
    const { world } = windows([...DISK, 'S:\\', 'S:\\Data']);
    const canonical = (path: string) => world.canonical(path).replace('S:\\', 'C:\\');
    const inside = (path: string) => leadsInside({ ...world, canonical }, 'S:\\Data', path);
    expect(['x', 'S:\\Data\\x', 'C:\\Data\\x'].map(inside)).toEqual([true, true, true]);
    expect(['S:\\x', 'C:\\Data2', 'D:\\Data'].map(inside)).toEqual([false, false, false]);
  });

  test('a base is found whatever its case, and refused when it is not there', () => {
    const { inside } = windows(DISK, LINKS);
    expect([
      inside('x', 'c:\\data'),
      inside('x', 'c:/DATA/'),
      inside('x', '..\\Data'),
      inside('x', 'C:\\Nowhere'),
    ]).toEqual([true, true, true, false]);
  });
});
