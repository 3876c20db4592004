import fc from 'fast-check';
import { expect, test } from 'vitest';
import { align } from '../../../src/inspector/page/model/compare/align.ts';
import { workedMs } from '../../support/steady-time.ts';

const aligned = (left: string, right: string): string =>
  align(Array.from(left), Array.from(right))
    .map((one) => left[one.left])
    .join('');

test.each([
  ['ABCD', 'ABXCD', 'ABCD'],
  ['ABXXCD', 'ABCD', 'ABCD'],
  ['ABCABBA', 'CBABAC', 4],
  ['', 'ABC', ''],
  ['ABC', 'XYZ', ''],
  ['AAAA', 'AA', 'AA'],
])('%s and %s agree on %s', (left, right, agreed) => {
  expect(typeof agreed === 'number' ? aligned(left, right).length : aligned(left, right)).toBe(agreed);
});

test('what is found is in order, alike, and the longest that there is', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 });
  fc.assert(
    fc.property(words, words, (left, right) => {
      const matches = align(left, right);
      for (const [at, one] of matches.entries()) {
        expect(left[one.left]).toBe(right[one.right]);
        const before = matches[at - 1] ?? { left: -1, right: -1 };
        expect(one.left).toBeGreaterThan(before.left);
        expect(one.right).toBeGreaterThan(before.right);
      }
      expect(matches).toHaveLength(longest(left, right));
    }),
  );
});

test('what is alike at the beginning stands at the beginning, also where it comes again', () => {
  expect(align(['R', 'F', 'R', 'D'], ['R', 'D'])).toEqual([
    { left: 0, right: 0 },
    { left: 3, right: 1 },
  ]);
});

test('long lists with little in common are gone through in bounded time, and meet again at their end', () => {
  const words = (salt: number): string[] => Array.from({ length: 10_000 }, (_, at) => `${(at * salt) % 7}`);
  const strange = (mark: string): string[] => Array.from({ length: 10_000 }, (_, at) => `${mark}${at}`);
  const began = workedMs();
  const alike = align(words(3), words(5));
  const unlike = align([...strange('a'), 'END'], [...strange('b'), 'END']);
  const took = workedMs() - began;

  expect(alike.length).toBeGreaterThan(4000);
  expect(unlike).toEqual([{ left: 10_000, right: 10_000 }]);
  // A full comparison of lists like these takes minutes; this is some hundred times what it takes here.
  expect(took).toBeLessThan(10_000);
});

test('a stretch that is new on one side, longer than the edits that are spent at once, is skipped', () => {
  const common = Array.from({ length: 500 }, (_, at) => `c${at}`);
  const fresh = Array.from({ length: 900 }, (_, at) => `n${at}`);
  const right = [...common.slice(0, 250), ...fresh, ...common.slice(250)];

  expect(align(common, right)).toHaveLength(500);
  expect(align(['x', ...common, 'y'], ['z', ...right, 'w'])).toHaveLength(500);
});

/** The length of the longest common subsequence, by the table that every textbook has. */
function longest(left: readonly string[], right: readonly string[]): number {
  let row = Array.from({ length: right.length + 1 }, () => 0);
  for (const one of left) {
    const next = [0];
    for (const [at, other] of right.entries())
      next.push(one === other ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}
