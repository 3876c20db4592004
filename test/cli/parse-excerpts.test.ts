import { expect, test } from 'vitest';
import { excerpts } from '../../src/cli/parse/parse-repairs.ts';

const at = (index: number) => ({ kind: 'quotes', message: 'mended', at: index, cost: 0 });
const shown = (text: string, places: readonly number[], width: number) =>
  excerpts(text, places.map(at), width).map((excerpt) => [
    excerpt.line,
    `${excerpt.cutBefore ? '…' : ''}${text.slice(excerpt.from, excerpt.to)}${excerpt.cutAfter ? '…' : ''}`,
    excerpt.repairs.map((repair) => repair.at),
  ]);

test('each line with repairs is shown once, with all of them, whatever their order', () => {
  expect(shown('one\ntwo\n\nfour', [10, 5, 4, 13], 10)).toEqual([
    [2, 'two', [4, 5]],
    [4, 'four', [10, 13]],
  ]);
});

test('a repair at a line break belongs to the line that ends there, one at the end of the text to the last line', () => {
  expect(shown('one\ntwo\n', [3, 8], 10)).toEqual([
    [1, 'one', [3]],
    [3, '', [8]],
  ]);
});

test('a line that is too long is shown around its repairs', () => {
  const text = `${'a'.repeat(50)}b${'c'.repeat(50)}d`;
  expect(shown(text, [50, 59, 60, 102], 30)).toEqual([
    [1, `…${'a'.repeat(20)}b${'c'.repeat(9)}…`, [50, 59]],
    [1, `…${'a'.repeat(10)}b${'c'.repeat(19)}…`, [60]],
    [1, `…${'c'.repeat(19)}d`, [102]],
  ]);
});

test('no character of two units is cut in half', () => {
  const [piece] = excerpts('😀'.repeat(40), [at(41)], 31);
  expect(piece).toMatchObject({ from: 20, to: 50 });
});
