import { describe, expect, test } from 'vitest';
import { recover } from '../../src/recovery/recover.ts';
import { workedMs } from '../support/steady-time.ts';

describe('recover.trimFences', () => {
  test.each<[string, string | null]>([
    ['```json\n{"a": 1}\n```', '{"a": 1}'],
    ['```\n{"a": 1}\n```', '{"a": 1}'],
    ['  ```json\n{"a": 1}\n```  \n', '{"a": 1}'],
    ['```{"a": 1}```', '{"a": 1}'],
    ['``````', ''],
    ['{"a": 1}', null],
    ['{"a": "```"}', null],
    ['```json\n{"a": 1}', null],
    ['{"a": 1}\n```', null],
    ['```', null],
    ['`````', null],
    ['', null],
  ])('%j → %j', (text, trimmed) => {
    expect(recover.trimFences(text)).toBe(trimmed);
  });
});

describe('recover.trailingCommas', () => {
  test.each<[string, string | null]>([
    ['{"a": 1,}', '{"a": 1}'],
    ['[1, 2, ]', '[1, 2 ]'],
    ['{"a": [1,\n],\n}', '{"a": [1\n]\n}'],
    ['{"a": ",}"}', null],
    ['{"a": "\\",}",}', '{"a": "\\",}"}'],
    ['{"a": "\\\\",}', '{"a": "\\\\"}'],
    ['{"a": 1, "b": 2}', null],
    ['', null],
  ])('%j → %j', (text, cleaned) => {
    expect(recover.trailingCommas(text)).toBe(cleaned);
  });
});

describe('recover.json', () => {
  test.each<[string, unknown]>([
    ["{'a': 1,}", { a: 1 }],
    ['Here: {"a": 1}', { a: 1 }],
    ['{"a": 1, "b": "cut o', null],
    ['[1, 2]', null],
    ['nothing at all', null],
    // Valid already: whatever was wrong with it, JSON was not.
    [' {"a": 1} ', null],
  ])('%j → %j', (text, value) => {
    expect(recover.json(text)).toEqual(value);
  });
});

describe('recover.normalizePathSeparators', () => {
  test('turns the backslashes of paths into slashes, however deep they stand', () => {
    expect(
      recover.normalizePathSeparators({
        path: 'C:\\data\\tea.txt',
        more: ['a\\b', { deep: '.\\c' }],
        n: 1,
        none: null,
      }),
    ).toEqual({ path: 'C:/data/tea.txt', more: ['a/b', { deep: './c' }], n: 1, none: null });
  });

  test.each([['a line\\nof text'], ['https://a.b/c\\d'], ['/usr/lib'], [7], [null], [['a', 'b']]])(
    'finds no path in %j',
    (value) => {
      expect(recover.normalizePathSeparators(value)).toBeNull();
    },
  );

  test('sees at once that no path are a hundred thousand backslashes and a space', () => {
    const before = workedMs();
    expect(recover.normalizePathSeparators({ path: `${'\\'.repeat(100_000)} ` })).toBeNull();
    expect(workedMs() - before).toBeLessThan(1000);
  });
});
