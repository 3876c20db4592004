import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { validatePath } from '../../../src/security/index.ts';

const world = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-paths-')));
const base = join(world, 'data');
const inWorld = (path: string) => join(world, path);

/*
 * world/ data/  file.txt  sub/deep/  'with space'/  …  and the links below
 *        data2/ secret.txt
 *        home/  .ssh/
 */
beforeAll(() => {
  for (const folder of ['data/sub/deep', 'data/with space', 'data2', 'home/.ssh', 'home/work'])
    mkdirSync(inWorld(folder), { recursive: true });
  for (const file of ['data/file.txt', 'data/sub/deep/x', 'data2/secret.txt']) writeFileSync(inWorld(file), '');
  const links = {
    'data/to-sub': 'sub',
    'data/to-deep': 'sub/deep',
    'data/to-file': './file.txt',
    'data/to-new': 'sub/not-yet',
    'data/out-and-in': '../data/sub',
    'data/out-rel': '../data2',
    'data/out-abs': inWorld('data2'),
    'data/out-file': '../data2/secret.txt',
    'data/out-new': '../data2/not-yet',
    'data/out-root': '/',
    'data/chain-1': 'chain-2',
    'data/chain-2': 'out-rel',
    'data/loop-1': 'loop-2',
    'data/loop-2': 'loop-1',
    'data/self': 'self/x',
    'data/sub/up': '../..',
    'data/odd\\link': '../data2',
    'to-data': 'data',
    'data2/back': '../data',
  };
  for (const [link, target] of Object.entries(links)) symlinkSync(target, inWorld(link));
});
afterAll(() => rmSync(world, { recursive: true, force: true }));

test.each([
  '.',
  './',
  'file.txt',
  './file.txt',
  'sub',
  'sub/',
  'sub/deep/x',
  'sub//deep///x',
  'sub/../file.txt',
  'sub/deep/../../file.txt',
  'sub/..',
  'not-yet',
  'not/yet/there.txt',
  'sub/not-yet.txt',
  'not-yet/../file.txt',
  '../data',
  '../data/file.txt',
  '../data/../data/sub',
  'with space/a b',
  'trailing.',
  'trailing ',
  '...',
  '.hidden',
  '..hidden',
  'hidden..',
  'sub/.../x',
  ' ',
  '-rf',
  'a:b',
  'C:',
  '%2e%2e/x',
  'a~',
  'sub/~',
  'f\u00fcr',
  'fu\u0308r',
  '\u6587\u4ef6',
  '\u{1f4c1}',
  '\u2025/x',
  '\uff0e\uff0e/x',
  'a\u2215..\u2215b',
  'a\\b',
  'to-sub',
  'to-sub/deep/x',
  'to-file',
  'to-new',
  'to-sub/new',
  'out-and-in/deep',
  'to-deep/../deep/x',
  'not-yet/out-abs',
  'not/yet/../../file.txt',
])('inside: %j', (requested) => {
  expect(validatePath(base, requested)).toBe(true);
});

test.each([
  '..',
  '../',
  './..',
  'sub/../..',
  '../data2',
  '../data2/secret.txt',
  '../dat',
  '../data.txt',
  '../../etc/passwd',
  'not-yet/../../data2',
  'sub/../../data2/x',
  '/',
  '/etc/passwd',
  '/etc/../etc/passwd',
  '//etc/passwd',
  'out-rel',
  'out-rel/secret.txt',
  'out-abs',
  'out-abs/new',
  'out-file',
  'out-new',
  'out-new/x',
  'out-root/etc',
  'chain-1',
  'chain-1/secret.txt',
  'out-rel/../data2',
  'not-yet/../out-rel',
  'not/yet/../../out-rel/x',
  'sub/up',
  'sub/up/data2/secret.txt',
  'loop-1',
  'loop-1/x',
  'self',
  'self/x',
  'file.txt\0',
  '\0',
  'a\0/../../x',
  'sub\0.txt',
  'not-yet/\0.txt',
  '~',
  '~/',
  '~/x',
  '~root',
  '~root/.ssh',
  '~nobody/x',
  '~+',
  '~-',
  '..\\',
  '..\\..\\etc',
  'sub\\..\\..\\x',
  'sub/..\\../x',
  'odd\\link',
  '\\etc\\passwd',
  '\\\\server\\share',
  '\ud800',
  'x/\udfff',
  'a'.repeat(300),
  'a/'.repeat(40_000),
  '../'.repeat(40_000),
])('outside: %.60j', (requested) => {
  expect(validatePath(base, requested)).toBe(false);
});

test('a link that leaves and another that comes back lead inside', () => {
  expect(validatePath(base, 'out-rel/back/file.txt')).toBe(true);
});

test('a path that a program may shorten first has to be inside both ways', () => {
  // As the system reads it, `to-deep/..` is `sub`; shortened, it is the base.
  expect(validatePath(base, 'to-deep/../../../data2/../data/file.txt')).toBe(false);
  expect(validatePath(base, 'out-rel/../file.txt')).toBe(false);
  expect(validatePath(base, 'to-deep/../deep')).toBe(true);
});

test('an absolute path is inside by where it leads, not by how it begins', () => {
  const inside = [
    base,
    `${base}/`,
    join(base, 'file.txt'),
    join(base, 'new/file'),
    inWorld('to-data/file.txt'),
    `${world}/data2/../data/x`,
  ];
  const outside = [
    world,
    inWorld('data2'),
    `${base}2`,
    `${base}2/secret.txt`,
    `${base}.txt`,
    `${base}/..`,
    `${base}/../data2/secret.txt`,
    inWorld('to-data/../data2'),
  ];
  expect(inside.filter((path) => !validatePath(base, path))).toEqual([]);
  expect(outside.filter((path) => validatePath(base, path))).toEqual([]);
});

test('the base may be a link, relative, or end in a slash', () => {
  for (const spelling of [inWorld('to-data'), `${base}/`, `${base}/sub/..`, inWorld('data2/back')]) {
    expect([validatePath(spelling, 'file.txt'), validatePath(spelling, join(base, 'new'))]).toEqual([true, true]);
    expect([validatePath(spelling, '../data2'), validatePath(spelling, inWorld('data2'))]).toEqual([false, false]);
  }
  expect([validatePath('.', 'package.json'), validatePath('.', process.cwd()), validatePath('.', '..')]).toEqual([
    true,
    true,
    false,
  ]);
});

test('in the root folder everything is inside', () => {
  expect(['/etc/passwd', 'etc', '..', '/'].map((path) => validatePath('/', path))).toEqual([true, true, true, true]);
  expect(validatePath('/', '~somebody/x')).toBe(false); // only a shell knows where that is
});

test('a base that does not exist, is a file, or says nothing is refused', () => {
  const bases = [
    inWorld('nowhere'),
    join(base, 'nowhere'),
    join(base, 'file.txt'),
    join(base, 'loop-1'),
    `${base}\0`,
    '',
  ];
  expect(
    bases.filter((path) => validatePath(path, '.') || validatePath(path, 'x') || validatePath(path, path)),
  ).toEqual([]);
  expect(validatePath(base, '')).toBe(false);
});

test('below a file nothing can be outside, and a file can be named as a folder of itself', () => {
  expect([
    validatePath(base, 'file.txt/x'),
    validatePath(base, 'file.txt/../file.txt'),
    validatePath(base, 'file.txt/../../data2'),
  ]).toEqual([true, true, false]);
});

test('the two Unicode forms of a name are two names', () => {
  const composed = inWorld('caf\u00e9');
  const decomposed = inWorld('cafe\u0301');
  mkdirSync(composed);
  if (realpathSync.native(composed) === composed && validatePath(decomposed, '.')) return; // a disk on which they are one
  expect(validatePath(composed, join(decomposed, 'x'))).toBe(false);
  expect(validatePath(composed, join(composed, 'x'))).toBe(true);
});

describe('the home folder', () => {
  test('is what ~ stands for, in base and in the path', () => {
    vi.stubEnv('HOME', inWorld('home'));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect([
      validatePath('~/work', 'x'),
      validatePath('~', '~/work'),
      validatePath(inWorld('home'), '~/.ssh/id'),
      validatePath('~/work', '~/work/x'),
    ]).toEqual([true, true, true, true]);
    expect([
      validatePath('~/work', '~/.ssh/id'),
      validatePath('~/work', '~'),
      validatePath('~/work', '~/work/../.ssh'),
      validatePath('~root', 'x'),
    ]).toEqual([false, false, false, false]);
  });

  test('that is empty or no absolute path makes ~ lead nowhere', () => {
    vi.stubEnv('HOME', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect([validatePath(process.cwd(), '~/x'), validatePath('~', 'x')]).toEqual([false, false]);
  });
});

test('nothing that is no text is ever inside, and nothing ever throws', () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('touched');
      },
    },
  );
  const values = [
    undefined,
    null,
    0,
    1n,
    true,
    Symbol('x'),
    {},
    [],
    ['file.txt'],
    () => 'file.txt',
    new String('file.txt'),
    { toString: () => 'file.txt' },
    Buffer.from('file.txt'),
    new URL('file:///'),
    hostile,
  ];
  for (const value of values)
    expect([validatePath(base, value), validatePath(value, 'file.txt'), validatePath(value, value)]).toEqual([
      false,
      false,
      false,
    ]);
});
