import { expect, test } from 'vitest';
import { escapedLine, escapedText } from '../../../src/inspector/page/model/escaped-text.ts';
import { sessionOf } from './fixture.ts';

const marks = (text: string) => escapedText(text).flatMap(({ kind, text: shown }) => (kind === 'mark' ? [shown] : []));

test('escape sequences, overrides of direction and invisible characters are shown as symbols', () => {
  expect(marks('\u001b[31mred\u0007 \u202Eesrever\u202C \u0000 a\u200bb \ud800')).toEqual([
    '␛',
    '␇',
    'RLO',
    'PDF',
    '␀',
    'ZWSP',
    'U+D800',
  ]);
});

test('every control character, mark of direction and invisible character has a symbol', () => {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const codes = [
    ...range(0x00, 0x08),
    ...range(0x0b, 0x1f),
    ...range(0x7f, 0x9f),
    0x061c,
    0x200b,
    0x200c,
    0x200e,
    0x200f,
    ...range(0x2028, 0x202e),
    ...range(0x2060, 0x206f),
    ...range(0xfff9, 0xfffb),
    0x00ad,
    0x034f,
    0x115f,
    0x1160,
    0x180e,
    0x200d,
    0x3164,
    0xfe00,
    0xfe0f,
    0xfeff,
    0xffa0,
    0xe0001,
    0xe0041,
    0xe0100,
  ];
  const shown = codes.map((code) => marks(`a${String.fromCodePoint(code)}b`).join());

  expect(shown.filter((symbol) => symbol === '')).toEqual([]);
  expect(new Set(shown).size).toBe(codes.length);
});

test('blanks of Braille are shown where no Braille is', () => {
  expect(marks('pay\u2800\u2800 her \u2800')).toEqual(['U+2800', 'U+2800', 'U+2800']);
  expect(marks('\u2813\u2800\u2800\u2811 \u2800\u2801')).toEqual([]);
});

test('what is written in tags and selectors is shown', () => {
  const hidden = (from: number) => 'rm -rf'.replaceAll(/[^]/g, (one) => String.fromCodePoint(from + one.charCodeAt(0)));

  expect(marks(`ls ${hidden(0xe0000)}`)).toHaveLength(6);
  expect(marks(`\u{1f3f4}${hidden(0xe0000).repeat(9)}`).length).toBeGreaterThan(40);
  expect(marks('👍\ufe01\ufe02\u{e0101}')).toHaveLength(2);
});

test('ordinary text of any script, emoji, tabs and lines stay as they are', () => {
  const text = 'Grüße\tשלום 日本語 葛\u{e0100}城 क्‍ष\n👩‍🚀 ❤️‍🔥 1️⃣ © 🏳️‍🌈 🏴󠁧󠁢󠁳󠁣󠁴󠁿 done';

  expect(escapedText(text)).toEqual([{ kind: 'text', text }]);
});

test('nothing is lost: all pieces together are as long as the text', () => {
  const text = 'a\u0000b\u202Ec\r\nd\re';

  expect(
    escapedText(text)
      .map((piece) => (piece.kind === 'mark' ? '.' : piece.text))
      .join(''),
  ).toBe('a.b.c\nd.e');
});

test('a line is one line, and cut', () => {
  expect(escapedLine('a\n\n  b')).toBe('a b');
  expect(escapedLine('x'.repeat(500), 10)).toBe(`${'x'.repeat(10)}…`);
});

test('a megabyte on one line costs no more than its beginning', () => {
  expect(escapedLine('\u0000'.repeat(1_000_000), 20)).toHaveLength(21);
});

test('hostile content of a real run reaches the conversation whole', () => {
  const call = sessionOf('hostile').talk.items.find((item) => item.kind === 'call');

  expect(call?.kind === 'call' && JSON.stringify(call.result)).toContain('</script>');
});
