import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/parsing/index.ts';
import { recoverArguments } from '../../src/parsing/index.ts';

/** A schema of one member, a value that fits it, one that does not, and what is said of that. */
type Row = readonly [what: string, schema: JsonObject, fits: Json, fails: Json, says: string];

const two: JsonObject = { minContains: 2, maxContains: 3, contains: { type: 'integer', minimum: 5 } };
const card: JsonObject = {
  type: 'object',
  dependentRequired: { card: ['owner', 'expires'] },
  dependentSchemas: { gift: { required: ['to'], properties: { to: { type: 'string' } } } },
};
const headers: JsonObject = {
  type: 'object',
  patternProperties: { '^x-': { type: 'integer' }, id$: { minLength: 3 } },
  additionalProperties: false,
};

const date: JsonObject = { type: 'string', format: 'date' };

const ROWS: readonly Row[] = [
  ['uniqueItems', { uniqueItems: true }, [1, '1', true, null, 0], [1, 2, 1], 'must not hold the same item twice'],
  [
    'uniqueItems of objects',
    { uniqueItems: true },
    [{ a: 1, b: [1] }, { a: 1, b: [2] }, { a: 1 }],
    [
      { a: 1, b: [1] },
      { b: [1], a: 1 },
    ],
    'twice',
  ],
  ['uniqueItems: false', { uniqueItems: false, items: { type: 'integer' } }, [1, 1], ['x'], 'integer'],
  ['minContains', two, [1, 5, 6], [1, 5], 'must hold at least 2 fitting items, has 1'],
  ['maxContains', two, [5, 6, 7, 1], [5, 6, 7, 8], 'must hold at most 3 fitting items, has 4'],
  ['minContains: 0', { contains: { const: 1 }, minContains: 0, maxContains: 1 }, [2], [1, 1], 'at most 1'],
  ['contains alone', { contains: { const: 1 } }, [2, 1], [2], 'must hold at least 1 fitting item, has 0'],
  ['multipleOf', { multipleOf: 0.1 }, 0.3, 0.35, 'must be a multiple of 0.1, got 0.35'],
  ['multipleOf of large numbers', { multipleOf: 7 }, 7_000_000_000_007, 7_000_000_000_008, 'multiple of 7'],
  ['multipleOf: 0, which is none', { multipleOf: 0, type: 'number' }, 5, 'five', ''],
  ['patternProperties', headers, { 'x-a': 1, 'my-id': 'abc' }, { 'my-id': 'ab' }, 'must have at least 3 characters'],
  ['two patterns of one name', headers, { 'x-id': 5 }, { 'x-id': 'abc' }, 'integer'],
  ['a name that no pattern has', headers, {}, { other: 1 }, 'is not a known property'],
  ['dependentRequired', card, { card: '1', owner: 'Ada', expires: '1' }, { card: '1', owner: 'Ada' }, 'is required'],
  ['dependentRequired of what is not there', card, { owner: 'Ada' }, { card: null }, 'is required'],
  [
    'dependencies of draft 7',
    { dependencies: { a: ['b'], c: { required: ['d'] } } },
    { a: 1, b: 1, c: 1, d: 1 },
    { c: 1 },
    'is required',
  ],
  ['exclusiveMinimum', { exclusiveMinimum: 5 }, 5.1, 5, 'must be more than 5, got 5'],
  ['exclusiveMaximum', { exclusiveMaximum: 5 }, 4.9, 5, 'must be less than 5, got 5'],
  ['exclusiveMinimum of draft 4', { minimum: 5, exclusiveMinimum: true }, 6, 5, 'must be more than 5, got 5'],
  ['exclusiveMaximum of draft 4', { maximum: 5, exclusiveMaximum: true }, 4, 5, 'must be less than 5, got 5'],
  ['maxLength, in characters', { maxLength: 2 }, '😀😀', '😀😀a', 'must have at most 2 characters, has 3'],
  ['maxProperties', { type: 'object', maxProperties: 1 }, { a: 1 }, { a: 1, b: 2 }, 'at most 1 properties, has 2'],
  [
    'additionalItems',
    { items: [{ type: 'integer' }], additionalItems: { type: 'string' } },
    [1, 'x'],
    [1, 2, [3]],
    'string',
  ],
  ['a pattern with repeated choices', { pattern: '^(a|b)*$' }, 'abab', 'abx', 'must match the pattern'],
  ['a pattern that only the older form takes', { pattern: '^\\_[a-z]+$' }, '_ab', 'ab', 'must match the pattern'],
  ['a pattern that is none, and is not applied', { pattern: '(', maxLength: 3 }, 'x', 'long', 'at most 3'],
  ['a type that JSON Schema does not know', { type: 'any', minLength: 2 }, 'ab', 'a', 'at least 2'],
  ['such a type beside another', { type: ['null', 'str'], minLength: 2 }, 'ab', 'a', 'at least 2'],
  ['no type', { type: [], minLength: 2 }, 'ab', 'a', 'at least 2'],
  ['no choices', { enum: [], minLength: 2 }, 'ab', 'a', 'at least 2'],
  [
    'forms that differ in their format',
    { oneOf: [date, { type: 'string', format: 'date-time' }] },
    '2026-01-31',
    true,
    '',
  ],
  ['a format that is not checked', { oneOf: [date, { type: 'string', format: 'date-time' }] }, 'soon', true, ''],
  [
    'one form with a format',
    { oneOf: [date, { type: 'string' }] },
    'soon',
    '2026-01-31',
    'exactly one of the 2 allowed',
  ],
  ['dependentSchemas', card, { gift: 1, to: 'Ada' }, { gift: 1 }, 'is required'],
];

describe.each(ROWS)('%s', (_what, schema, fits, fails, says) => {
  const wanted = { type: 'object', properties: { a: schema }, required: ['a'] };

  test('what fits is left as it is', () => {
    const found = recoverArguments(JSON.stringify({ a: fits }), wanted);
    expect(found).toMatchObject({ ok: true, value: { a: fits } });
  });

  test('what does not fit is refused, with the place', () => {
    const found = recoverArguments(JSON.stringify({ a: fails }), wanted);
    if (found.ok || found.error.kind !== 'deserialization') throw new Error(`${JSON.stringify(found)} is not refused.`);
    const { issues } = found.error;
    expect(issues.map(({ message }) => message).join('; ')).toContain(says);
    expect(issues.every(({ path }) => path.startsWith('/a'))).toBe(true);
  });
});

test.each(['^(a|a)*$', '^(a+)+$', '^(a|aa)+$', '(a*)*b', '^(?:a|a){2,50}$', 'a*a*a*a*b', '^(a*)\\1+$'])(
  'the pattern %s holds up nothing, whatever the text',
  (pattern) => {
    for (const length of [15, 40, 400, 20_000])
      recoverArguments(JSON.stringify({ a: `${'a'.repeat(length)}!` }), {
        type: 'object',
        properties: { a: { pattern } },
      });
    const short = recoverArguments('{"a": "a!"}', { type: 'object', properties: { a: { pattern } } });
    expect(short.ok).toBe(false);
  },
);

test.each<[string, JsonObject, boolean]>([
  ['an enumeration without it', { enum: ['x'] }, false],
  ['an enumeration with it', { enum: ['x', null] }, true],
  ['another constant', { const: 1 }, false],
  ['null as a constant', { const: null }, true],
  ['a reference to a text', { $ref: '#/$defs/text' }, false],
  ['a reference to a text or null', { $ref: '#/$defs/may' }, true],
  ['a union of texts', { anyOf: [{ type: 'string' }, { $ref: '#/$defs/text' }] }, false],
  ['a union with null', { oneOf: [{ type: 'string' }, { type: 'null' }] }, true],
])('null for an optional argument is absent, unless it may be null: %s', (_what, schema, stays) => {
  const $defs = { text: { type: 'string' }, may: { type: ['string', 'null'] } };
  const found = recoverArguments('{"a": null}', { type: 'object', properties: { a: schema }, $defs });
  expect(found).toMatchObject({ ok: true });
  expect(found.ok && found.value).toEqual(stays ? { a: null } : {});
});
