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
