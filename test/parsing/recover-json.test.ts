import { expect, test } from 'vitest';
import { z } from 'zod';
import { recoverJson } from '../../src/parsing/index.ts';
import type { Json } from '../../src/parsing/index.ts';

const MENDED: readonly (readonly [string, string, Json])[] = [
  ['trailing commas', '{"a": [1, 2,],}', { a: [1, 2] }],
  ['single quotes and Python literals', "{'a': True, 'b': None, 'c': 'it\\'s'}", { a: true, b: null, c: "it's" }],
  ['keys without quotes', '{a: 1, b_c: "x"}', { a: 1, b_c: 'x' }],
  ['smart quotes', '{“a”: “b”}', { a: 'b' }],
  ['comments', '{"a": 1, /* one */ "b": 2 // two\n}', { a: 1, b: 2 }],
  ['a missing comma', '{"a": 1\n"b": 2}', { a: 1, b: 2 }],
  ['a missing colon', '{"a" 1, "b" "c"}', { a: 1, b: 'c' }],
  ['a missing closing quote', '{"a": "x,\n"b": 1}', { a: 'x', b: 1 }],
  ['quotes inside a string', '{"a": "say "hi", then go", "b": 1}', { a: 'say "hi", then go', b: 1 }],
  ['a raw line break', '{"a": "x\ny"}', { a: 'x\ny' }],
  ['a Windows path', '{"p": "C:\\Users\\bob\\x.txt"}', { p: 'C:\\Users\\bob\\x.txt' }],
  ['= and => for a colon', '{a = 1, "b" => 2}', { a: 1, b: 2 }],
  ['an ellipsis', '[1, 2, ...]', [1, 2]],
  ['joined strings', '{"a": "x" + "y"}', { a: 'xy' }],
  ['triple quotes', '{"a": """x "y" z"""}', { a: 'x "y" z' }],
  ['a closer too many', '{"a": {"b": 1}}}', { a: { b: 1 } }],
  ['JSON written as a string', '"{\\"a\\": 1}"', { a: 1 }],
  ['a missing value', '{"a": , "b": 2}', { a: null, b: 2 }],
];

test.each(MENDED)('mends %s', (_title, text, value) => {
  const recovered = recoverJson(text);
  expect(recovered).toMatchObject({ ok: true, value, complete: true });
  expect(recovered.ok && recovered.repairs.length).toBeGreaterThan(0);
});

test.each(['plain prose, no more', '42', '"text"', 'true', '', 'see [1] and {name}'])('%j holds no JSON', (text) => {
  expect(recoverJson(text).ok).toBe(false);
});

test('valid JSON comes back untouched, whatever its keys and strings are', () => {
  const text = '{"__proto__": {"x": 1}, "constructor": "\\ud800", "s": "{\'a\': ```json"}';
  expect(recoverJson(text)).toEqual({ ok: true, value: JSON.parse(text), complete: true, repairs: [] });
});

test('a broken __proto__ key is a plain key', () => {
  const recovered = recoverJson("{'__proto__': {'polluted': true}}");
  expect(recovered.ok && Object.getOwnPropertyNames(recovered.value)).toEqual(['__proto__']);
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test('a schema asks for a scalar and gets it', () => {
  expect(recoverJson('"1"', { schema: { type: 'integer' } })).toMatchObject({ ok: true, value: 1 });
  expect(recoverJson('true', { schema: z.boolean() })).toMatchObject({ ok: true, value: true });
});

test.each(['[{', '{"a":', '[', '{"a":[{"b":'])('a megabyte of %s is refused, not crashed on', (piece) => {
  expect(recoverJson(piece.repeat(Math.floor(1_000_000 / piece.length)))).toMatchObject({ ok: false });
});
