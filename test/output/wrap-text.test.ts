import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { consoleOutput, createAgent } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { fakeStream } from './fake-terminal.ts';
import { textTable, textWidth, wrapText } from '../../src/terminal/text-width.ts';

test.each([
  ['between words', 'one two three', 8, ['one two', 'three']],
  ['inside a word that is longer than a line', 'see abcdefghij now', 4, ['see', 'abcd', 'efgh', 'ij', 'now']],
  ['with indented lines kept as they are', 'a:\n  - b', 10, ['a:', '  - b']],
  ['with empty lines kept', 'a\n\nb', 10, ['a', '', 'b']],
  ['between wide signs', '天気を調べる', 6, ['天気を', '調べる']],
  ['between syllables whose letters and vowels stand side by side', 'नमस्तेदुनियाक्षत्रिय', 7, ['नमस्तेदुनि', 'याक्षत्रि', 'य']],
  ['between Thai syllables', 'กำลังทดสอบ', 5, ['กำลังท', 'ดสอบ']],
])('text is broken %s', (_title, text, columns, lines) => {
  expect(wrapText(text, columns)).toEqual(lines);
});

test('no line is wider than asked for, and nothing but spaces is lost', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 100 }).map((any) => any.replaceAll(/[\p{C}\p{Z}]/gu, ' '));
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 20 }), (any, columns) => {
      // Nothing is broken within a character, and some are three columns wide, such as notes with their stems and flags.
      const signs = [...new Intl.Segmenter().segment(any)].map(({ segment }) => textWidth(segment));
      fc.pre(Math.max(0, ...signs) <= columns);
      const lines = wrapText(any, columns);
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      expect(lines.join('').replaceAll(' ', '')).toBe(any.replaceAll(' ', ''));
    }),
  );
});

test('a terminal of 20 columns breaks no line of an agent that speaks Hindi and Thai', async () => {
  const stream = fakeStream(20);
  const said = 'नमस्ते दुनिया क्षत्रिय श्री สวัสดีชาวโลกกำลังทดสอบ';
  await createAgent({ model: scriptedModel([said]), output: consoleOutput({ stream }) }).run(said);
  const drawn = stripVTControlCharacters(stream.text()).replaceAll(/[^\n]*\r/g, '');
  const lines = drawn.split('\n').filter((line) => /\p{sc=Deva}|\p{sc=Thai}/u.test(line));
  // A sign a column, without those that stand above or below another.
  const widths = lines.map((line) => line.replaceAll(/[\p{Mn}\p{Cf}]/gu, '').length);
  expect(widths.length).toBeGreaterThan(4);
  expect(Math.max(...widths)).toBeLessThanOrEqual(20);
  expect(lines.join('').replaceAll(/\P{L}/gu, '')).toBe(`${said}${said}`.replaceAll(/\P{L}/gu, ''));
});

test('a very long text without spaces is broken in time that grows with its length', () => {
  const lines = wrapText('天'.repeat(100_000), 80);
  expect(lines).toHaveLength(2_500);
});

test('the columns of a table are as wide as a terminal draws them', () => {
  const rows = [
    ['天気', 'a', '|'],
    ['plain', 'e\u0301', '|'],
    ['👩‍👩‍👧', 'bcd', '|'],
  ];
  const widths = textTable(rows).map((line) => textWidth(line));
  expect(widths).toEqual([13, 13, 13]);
});
