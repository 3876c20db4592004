import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wordFlow } from '../../src/output/console/live-text.ts';

function flowed(pieces: readonly string[], columns: number): string {
  const flow = wordFlow(columns);
  return pieces.map((piece) => flow.add(piece)).join('') + flow.end();
}

test('a word that does not fit begins the next line, even when it arrives in pieces', () => {
  expect(flowed(['The larg', 'est file is b', 'ig.log.'], 20)).toBe('The largest file is \nbig.log.');
});

test('a line never begins with the space that ended the one before', () => {
  expect(flowed(['aaaa bbbb'], 4)).toBe('aaaa\nbbbb');
});

test('line breaks and indented lines stay as they are', () => {
  expect(flowed(['- one\n  - t', 'wo\n\nthree'], 20)).toBe('- one\n  - two\n\nthree');
});

test('text without spaces flows at once, sign by sign', () => {
  const flow = wordFlow(8);
  expect(flow.add('天気を調べ')).toBe('天気を調\nべ');
});

test('a word longer than a line is left whole', () => {
  expect(flowed(['see /a/very/long/path/indeed'], 10)).toBe('see \n/a/very/long/path/indeed');
});

test('whatever the pieces, the lines are the same, and no character but spaces is lost or added', () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 80 }),
      fc.array(fc.nat(80)),
      fc.integer({ min: 1, max: 30 }),
      (text, cuts, columns) => {
        const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
        const whole = flowed([text], columns);
        expect(flowed(pieces, columns)).toBe(whole);
        expect(whole.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
      },
    ),
  );
});
