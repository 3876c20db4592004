import { expect, test } from 'vitest';
import { isSafeShellArg } from '../../../src/security/index.ts';

const character = (code: number) => String.fromCodePoint(code);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => character(from + n));

test.each([
  'a',
  'report.txt',
  'a-b',
  'a--b',
  'src/index.ts',
  './x',
  '../x',
  '/etc/passwd',
  'C:\\Users\\me',
  'a\\b',
  '\\',
  'user@host',
  'host:22',
  'a,b',
  '1+1',
  '@',
  '_',
  '42',
  '.',
  'f\u00fcr',
  '\u6587\u4ef6',
  '\u{1f4c1}',
])('safe: %j', (arg) => {
  expect(isSafeShellArg(arg)).toBe(true);
});

test.each(';|&<>$`"\'!{}()[]~*?#^%='.split(''))('not safe anywhere in the word: %s', (sign) => {
  expect([sign, `${sign}a`, `a${sign}`, `a${sign}b`].filter(isSafeShellArg)).toEqual([]);
});

test.each([
  '',
  '-',
  '-rf',
  '--help',
  '-\\',
  ' ',
  ' a',
  'a ',
  'a b',
  '\t',
  'a\n',
  'a\r\nb',
  'a\u00a0b',
  'a\u2003b',
  'a\u2028b',
  'a\u3000b',
  '\ufeffa',
  'a; rm -rf .',
  '$(id)',
  '`id`',
  'a\0',
  // Half a character: another word arrives.
  'a\ud83d',
])('not safe: %j', (arg) => {
  expect(isSafeShellArg(arg)).toBe(false);
});

test('no control character is safe', () => {
  const controls = [...range(0, 31), ...range(127, 159)];
  expect(controls.filter((control) => isSafeShellArg(`a${control}b`))).toEqual([]);
});

test('nothing that is no text is safe', () => {
  const values = [undefined, null, 0, 1n, true, Symbol('a'), {}, [], ['a'], new String('a'), { toString: () => 'a' }];
  expect(values.filter(isSafeShellArg)).toEqual([]);
});
