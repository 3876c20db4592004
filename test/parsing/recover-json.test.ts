import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { recoverJson } from '../../src/parsing/index.ts';
import type { Json, JsonSchema } from '../../src/parsing/index.ts';

const MENDED: readonly (readonly [string, string, Json])[] = [
  ['trailing commas', '{"a": [1, 2,],}', { a: [1, 2] }],
  ['a comma alone', '[,]', []],
  ['single quotes and Python literals', "{'a': True, 'b': None, 'c': 'it\\'s'}", { a: true, b: null, c: "it's" }],
  ['keys without quotes', '{a: 1, b_c: "x"}', { a: 1, b_c: 'x' }],
  ['smart quotes', '{“a”: “b”}', { a: 'b' }],
  ['comments', '{"a": 1, /* one */ "b": 2 // two\n}', { a: 1, b: 2 }],
  ['a missing comma', '{"a": 1\n"b": 2}', { a: 1, b: 2 }],
  ['a missing colon', '{"a" 1, "b" "c"}', { a: 1, b: 'c' }],
  ['a missing closing quote', '{"a": "x,\n"b": 1}', { a: 'x', b: 1 }],
  ['a closing quote missing before a comma', '["hello,"world"]', ['hello', 'world']],
  ['quotes inside a string', '{"a": "say "hi", then go", "b": 1}', { a: 'say "hi", then go', b: 1 }],
  ['a raw line break', '{"a": "x\ny"}', { a: 'x\ny' }],
  ['a Windows path', '{"p": "C:\\Users\\bob\\x.txt"}', { p: 'C:\\Users\\bob\\x.txt' }],
  [
    'a Windows path whose last backslash stands before the quote',
    '{"p": "C:\\temp\\", "n": 1,}',
    { p: 'C:\\temp\\', n: 1 },
  ],
  [
    'a string with a Windows path and escaped quotes',
    `{p: ${JSON.stringify('C:\\data {"tool":"wipe"}')}, n: 1,}`,
    { p: 'C:\\data {"tool":"wipe"}', n: 1 },
  ],
  ['= and => for a colon', '{a = 1, "b" => 2}', { a: 1, b: 2 }],
  ['an ellipsis', '[1, 2, ...]', [1, 2]],
  ['joined strings', '{"a": "x" + "y"}', { a: 'xy' }],
  ['triple quotes', '{"a": """x "y" z"""}', { a: 'x "y" z' }],
  ['a closer too many', '{"a": {"b": 1}}}', { a: { b: 1 } }],
  ['a quoted message', '> {\n>   "a": 1\n> }', { a: 1 }],
  ['a colon and a line break after a letter', "{'a': 'A:\\nThe rest'}", { a: 'A:\nThe rest' }],
  ['an object closed too early', '{"a": 1}, "b": 2}', { a: 1, b: 2 }],
  ['lines of JSON', '{"a": 1}\n{"a": 2}', [{ a: 1 }, { a: 2 }]],
  ['JSON written as a string', '"{\\"a\\": 1}"', { a: 1 }],
  ['a missing value', '{"a": , "b": 2}', { a: null, b: 2 }],
  ['values as a database shows them', '{"a": [ObjectId("x"), UUID("y")], "b": NumberLong(7)}', { a: ['x', 'y'], b: 7 }],
  [
    'lists as Python shows them',
    '{"a": set([1, 2]), "b": tuple((3, 4)), "c": list([5])}',
    { a: [1, 2], b: [3, 4], c: [5] },
  ],
  ['a set as Python shows it', "{'a': frozenset({'x', 'y'}), 'b': 1}", { a: ['x', 'y'], b: 1 }],
  [
    'an array with its type',
    '{"a": np.array([[1, 2], [3, 4]], dtype=int)}',
    {
      a: [
        [1, 2],
        [3, 4],
      ],
    },
  ],
  ['empty lists as Python shows them', '{"a": set(), "b": [list()], "c": list([])}', { a: [], b: [[]], c: [] }],
  ['a value that is none', '{"a": ObjectId(), "b": ISODate(null)}', { a: null, b: null }],
  ['an object without braces in a list', '["a b": 1, "b": [2]]', [{ 'a b': 1, b: [2] }]],
  ['one in a list of an object', '{"x": ["a": 1, "b": 2], "y": 2}', { x: [{ a: 1, b: 2 }], y: 2 }],
  ['a list that is not closed', '{"x": [1, 2, "y": 3}', { x: [1, 2], y: 3 }],
  ['a key without a value, beside members', '{"a": 1, "b"}', { a: 1, b: null }],
  ['an object that a bracket closes', '{"a": "x"]', { a: 'x' }],
  ['an object in a list that a bracket closes', '[{"a": "x",]', [{ a: 'x' }]],
  ['a list of texts that a brace closes', '{"a": ["x", "y"}', { a: ['x', 'y'] }],
  ['a tuple that a brace closes', '{"a": ("x", "y"}', { a: ['x', 'y'] }],
  ['objects with a brace too few between them', '[{"a": "x", {"b": 1}]', [{ a: 'x' }, { b: 1 }]],
  ['an item with an escaped quote behind a missing comma', '["a" "b\\"c", 1]', ['a', 'b"c', 1]],
  ['a fraction without its zero behind a text', '["a", .5]', ['a', 0.5]],
  ['an ellipsis between texts and in an object', '["a", ..., {"b": "x", ...}, …]', ['a', { b: 'x' }]],
  ['an ellipsis before a number', '[1, ...5]', [1, 5]],
  ['a key with its last quote only', '{a": 1,}', { a: 1 }],
  ['a quote behind the object', '{"a": 1,}, "', { a: 1 }],
  ['a sum of a text and a name', '{"a": "x" + y, "b": 2}', { a: 'x" + y', b: 2 }],
  ['half an escape in a whole text', '{"a": "\\u00", "b": "C:\\u"}', { a: '\\u00', b: 'C:\\u' }],
  ['escaped JSON on lines', '{ \\n  \\"a\\": 1}', { a: 1 }],
  ['objects without braces in lists of lists', '[["a": 1], ["b": 2, "c": 3], 4]', [[{ a: 1 }], [{ b: 2, c: 3 }], 4]],
];

test.each(MENDED)('mends %s', (_title, text, value) => {
  const recovered = recoverJson(text);
  expect(recovered).toMatchObject({ ok: true, value, complete: true });
  expect(recovered.ok && recovered.repairs.length).toBeGreaterThan(0);
});

test.each([
  ['a number behind its sign', '{a: 1, b: -', { a: 1, b: null }],
  ['a number behind its point', '{a: 1.', { a: 1 }],
  ['a number behind its exponent', '[x, 12e+', ['x', 12]],
  ['half an escape', '{a: "x\\u00', { a: 'x' }],
  ['a backslash', '{a: "x\\', { a: 'x' }],
])('what is cut off in %s is left out', (_title, text, value) => {
  expect(recoverJson(text)).toMatchObject({ ok: true, value, complete: false });
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

test("a tool's name that its arguments swallowed is put where it belongs", () => {
  expect(recoverJson('{"arguments": {"formula": "H2O", "name": "weigh"}')).toMatchObject({
    ok: true,
    complete: false,
    value: { arguments: { formula: 'H2O' }, name: 'weigh' },
    repairs: [{ kind: 'hoisted-name' }],
  });
  const inOrder = '{"arguments": {"name": "x", "formula": "H2O"}';
  expect(recoverJson(inOrder)).toMatchObject({ value: { arguments: { name: 'x', formula: 'H2O' } }, repairs: [] });
});

test('several values that differ are none', () => {
  const text = 'Either {"a": 1} or {"a": 2}.';
  expect(recoverJson(text)).toMatchObject({
    ok: false,
    issues: [{ message: 'the text holds 2 values of equal rank that differ' }],
  });
});

const CHOICE = { enum: ['ONE', 'TWO'] };
const TO_SCHEMA: readonly (readonly [string, string, JsonSchema, Json])[] = [
  ['a choice in a sentence', 'I take **two**, of course.', CHOICE, 'TWO'],
  ['a number alone', ' 1,234.5 ', { type: 'number' }, 1234.5],
  ['a literal of Python', 'True', { type: 'boolean' }, true],
  ['a truth in a sentence', 'The answer is: **false**', { type: 'boolean' }, false],
  ['a text', 'plain words', { type: 'string' }, 'plain words'],
  [
    'objects as the list that is asked for',
    'A {"a": 1} and {"a": 2}',
    { type: 'array', items: { type: 'object' } },
    [{ a: 1 }, { a: 2 }],
  ],
  [
    'a list or null as the list that is asked for',
    '{"a": 1} {"a": 2}',
    { type: ['array', 'null'] },
    [{ a: 1 }, { a: 2 }],
  ],
  ['a constant', 'I take two.', { anyOf: [{ const: 'one' }, { const: 'two' }] }, 'two'],
  ['a choice in quotes', '“TWO”', CHOICE, 'TWO'],
  ['the object that fits', '{"b": 1} or {"a": 2}', { type: 'object', required: ['a'] }, { a: 2 }],
  [
    'broken JSON inside a text',
    '{"a": "{b: [1, 2,]}"}',
    { type: 'object', properties: { a: { type: 'object' } } },
    { a: { b: [1, 2] } },
  ],
];

test.each(TO_SCHEMA)('a schema finds %s', (_title, text, schema, value) => {
  expect(recoverJson(text, { schema })).toMatchObject({ ok: true, value });
});

const NOT_TO_SCHEMA: readonly (readonly [string, string, JsonSchema])[] = [
  ['a sentence with two choices', 'ONE, not TWO', CHOICE],
  ['a truth that is contradicted', 'True or false?', { type: 'boolean' }],
  ['a literal where text is asked for', 'true', { type: 'string' }],
  ['prose where an object is asked for', 'plain words', { type: 'object' }],
  ['two objects that both fit', 'A {"a": 1} and {"a": 2}', { type: 'object' }],
];

test.each(NOT_TO_SCHEMA)('a schema does not find %s', (_title, text, schema) => {
  expect(recoverJson(text, { schema }).ok).toBe(false);
});

test('a list that may be one of an object without braces, and has no end, is cut off', () => {
  expect(recoverJson('{"x": ["y": 2}')).toMatchObject({ ok: true, complete: false });
});

test('what a cut value lacks is no issue', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a', 'b'] };
  expect(recoverJson('{"a": "1", ', { schema })).toMatchObject({ ok: true, value: { a: 1 }, complete: false });
  expect(recoverJson('{"a": "1"}', { schema }).ok).toBe(false);
});

test('with a schema, a line break right before a closing quote is layout', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const text = '{"a": "one\ntwo\n",}';
  expect(recoverJson(text, { schema })).toMatchObject({ value: { a: 'one\ntwo' } });
  expect(recoverJson(text)).toMatchObject({ value: { a: 'one\ntwo\n' } });
});

test('the marks of a quoted message are one repair, not one a line', () => {
  const found = recoverJson('> {\n>   "a": 1,\n>   "b": 2\n> }');
  expect(found.ok && found.repairs.map(({ kind }) => kind)).toEqual(['quoted-lines']);
});

describe('jsonrepair, the last resort', () => {
  const texts = { type: 'array', items: { type: 'string' } } as const;

  test('reads brackets that nothing else could, where the schema takes what it makes of them', () => {
    expect(recoverJson('[a, b] is the output.', { schema: texts })).toMatchObject({
      ok: true,
      value: ['a', 'b'],
      complete: true,
      repairs: [{ kind: 'jsonrepair', cost: 5 }],
    });
  });

  test.each([
    ['without a schema', '[a, b] is the output.', undefined],
    ['where it does not fit', '[a, b] is the output.', { type: 'array', items: { type: 'number' } }],
    ['for prose without brackets', 'a, b and c', texts],
    ['for what is nested too deep', '[('.repeat(60) + ')]'.repeat(60), texts],
  ] as const)('reads nothing %s', (_title, text, schema) => {
    expect(recoverJson(text, schema === undefined ? {} : { schema }).ok).toBe(false);
  });

  test('is not asked where words follow the last closer of a value that is still open: it would drop them', () => {
    const on = { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] };
    const schema = { type: 'object', additionalProperties: on };
    expect(recoverJson('{"a": {"on": true}, "b": {"on": false\u200b', { schema }).ok).toBe(false);
  });

  test('is not asked where a reading of our own fits', () => {
    const read = recoverJson("Here: {'a': 1,}", { schema: { type: 'object', required: ['a'] } });
    expect(read.ok && read.repairs.map(({ kind }) => kind)).not.toContain('jsonrepair');
  });
});

test.each(['"["', '"{"', '"}"', '"a {b} c"', '"a [ b"'])('%s holds nothing: a bracket in a string is text', (text) => {
  expect(recoverJson(text).ok).toBe(false);
});

test.each([
  ['"{\\"a\\": [1, \\"x\\"]}"', { a: [1, 'x'] }, true],
  ['"[\\"x\\", 1]"', ['x', 1], true],
  ['"It is {\\"a\\": 1}."', { a: 1 }, true],
  ['"{\\"a\\": 1"', { a: 1 }, false],
])('JSON that is written as a string is what it spells: %s', (text, value, complete) => {
  expect(recoverJson(text)).toMatchObject({ ok: true, value, complete, repairs: [{ kind: 'escaped' }] });
});
