import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkArguments, recoverArguments } from '../../src/parsing/index.ts';
import type { Json, JsonSchema } from '../../src/parsing/index.ts';

const object = (properties: { readonly [key: string]: JsonSchema }, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

test.each([undefined, null, '', '  \n'])('%j means no arguments', (raw) => {
  expect(recoverArguments(raw, object({}))).toEqual({ ok: true, value: {}, repairs: [] });
});

test('arguments that fit come back by reference', () => {
  const args = { city: 'Austin', days: [1, 2] };
  const schema = object({ city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } });
  const checked = checkArguments(args, schema);
  expect(checked.ok && checked.value).toBe(args);
});

const COERCED: readonly (readonly [string, JsonSchema, Json, Json, string])[] = [
  ['numeric text to a number', { type: 'number' }, '42', 42, 'text-to-number'],
  ['"120.0" to an integer', { type: 'integer' }, '120.0', 120, 'text-to-number'],
  ['grouped digits to a number', { type: 'number' }, '1,234.5', 1234.5, 'text-to-number'],
  ['a fraction to a number', { type: 'number' }, '1/5', 0.2, 'text-to-number'],
  ['a number to text', { type: 'string' }, 42, '42', 'number-to-text'],
  ['a scalar to a list', { type: 'array', items: { type: 'string' } }, 'a', ['a'], 'wrapped'],
  ['JSON text to a list', { type: 'array', items: { type: 'number' } }, '[1, 2]', [1, 2], 'decoded'],
  ['JSON text to an object', { type: 'object' }, '{"a": 1}', { a: 1 }, 'decoded'],
  ['a wrapped scalar', { type: 'number' }, { value: 5 }, 5, 'unwrapped'],
  ['the case of a choice', { enum: ['celsius', 'fahrenheit'] }, 'Celsius', 'celsius', 'enum'],
  ['true as text', { type: 'boolean' }, 'True', true, 'to-boolean'],
];

test.each(COERCED)('coerces %s', (_title, schema, given, wanted, kind) => {
  const checked = checkArguments({ x: given }, object({ x: schema }, ['x']));
  expect(checked).toMatchObject({ ok: true, value: { x: wanted }, repairs: [{ kind, path: '/x' }] });
});

const REFUSED: readonly (readonly [string, JsonSchema, Json])[] = [
  ['a boolean to a number', { type: 'number' }, true],
  ['a fraction to an integer', { type: 'integer' }, 1.5],
  ['a fraction written as text to an integer', { type: 'integer' }, '1.5'],
  ['a boolean to text', { type: 'string' }, true],
  ['null to anything', { type: 'string' }, null],
  ['a list with one bad item', { type: 'array', items: { type: 'integer' } }, [1, 'x', 3]],
];

test.each(REFUSED)('never coerces %s', (_title, schema, given) => {
  const checked = checkArguments({ x: given }, object({ x: schema }, ['x']));
  expect(checked).toMatchObject({ ok: false, error: { kind: 'deserialization' } });
});

test('JSON inside a text field stays text', () => {
  const checked = checkArguments({ x: '{"a": 1}' }, object({ x: { type: 'string' } }));
  expect(checked).toEqual({ ok: true, value: { x: '{"a": 1}' }, repairs: [] });
});

test.each<[string, number | null]>([
  ['1,000', 1000],
  ['-12,345.5', -12_345.5],
  ['0,500', null],
  ['00,500', null],
  ['1,00', null],
])('%j as a number is %j', (given, number) => {
  const checked = checkArguments({ x: given }, object({ x: { type: 'number' } }, ['x']));
  expect(checked.ok ? checked.value : null).toEqual(number === null ? null : { x: number });
});

test.each(['date-time', 'email', 'uri', 'uuid', 'ipv4'])(
  'format %s of a plain JSON Schema is told and not checked',
  (format) => {
    const schema = object({ x: { type: 'string', format } });
    expect(checkArguments({ x: 'neither' }, schema)).toMatchObject({ ok: true, value: { x: 'neither' } });
  },
);

test('null for an optional argument means absent, unless its schema takes null', () => {
  const schema = object({
    a: { type: 'string' },
    b: { type: ['string', 'null'] },
    c: { anyOf: [{ type: 'null' }, { type: 'number' }] },
  });
  expect(checkArguments({ a: null, b: null, c: null }, schema)).toMatchObject({
    ok: true,
    value: { b: null, c: null },
    repairs: [{ kind: 'null-for-absent' }],
  });
});

test('defaults are filled in and listed', () => {
  const checked = checkArguments({}, object({ n: { type: 'integer', default: 5 } }));
  expect(checked).toMatchObject({ ok: true, value: { n: 5 }, repairs: [{ kind: 'default' }] });
});

test('a key that is wrong by one character stays another key', () => {
  const schema = object({ location: { type: 'string' } }, ['location']);
  expect(checkArguments({ locaton: 'x' }, schema)).toMatchObject({
    ok: false,
    error: { issues: [{ path: '/location' }] },
  });
});

test('every issue has its path', () => {
  const schema = object({ a: { type: 'integer', minimum: 1 }, b: { type: 'array', items: { type: 'boolean' } } }, [
    'c',
  ]);
  const checked = checkArguments({ a: 0, b: [true, 'maybe'] }, schema);
  expect(
    checked.ok ? [] : checked.error.kind === 'deserialization' && checked.error.issues.map(({ path }) => path),
  ).toEqual(['/a', '/b/1', '/c']);
});

test('arguments that were cut off are truncated, not broken', () => {
  expect(recoverArguments('{"a": 1, "b": "tex', object({}))).toMatchObject({
    ok: false,
    error: { kind: 'invalid-args', truncated: true, rawArgs: '{"a": 1, "b": "tex' },
  });
});

test.each(['[1]', '"text"', '7', 'no json', '{"a": 1} {"a": 2}'])('%s is no object', (raw) => {
  expect(recoverArguments(raw, object({}))).toMatchObject({
    ok: false,
    error: { kind: 'invalid-args', truncated: false },
  });
});

test('arguments wrapped in a key that the schema does not know are taken out', () => {
  const schema = object({ city: { type: 'string' } }, ['city']);
  expect(recoverArguments('{"arguments": {"city": "Austin"}}', schema)).toMatchObject({
    ok: true,
    value: { city: 'Austin' },
  });
});

test('a line break at the end of an argument stays', () => {
  const schema = object({ text: { type: 'string' } });
  expect(recoverArguments('{"text": "one\n",}', schema)).toMatchObject({ ok: true, value: { text: 'one\n' } });
});

test('a value that JSON cannot hold is written as JSON first, or refused', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(recoverArguments(cycle, true)).toMatchObject({ ok: false, error: { kind: 'invalid-args' } });
  expect(recoverArguments({ big: 1n }, true)).toMatchObject({ ok: false, error: { kind: 'invalid-args' } });
  expect(recoverArguments({ at: new Date(0), none: undefined }, true)).toMatchObject({
    ok: true,
    value: { at: '1970-01-01T00:00:00.000Z' },
  });
});

test('a zod schema gives the JSON Schema and its own check', () => {
  const schema = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') });
  expect(recoverArguments({ n: '4' }, schema)).toMatchObject({ ok: true, value: { n: 4 } });
  expect(recoverArguments({ n: 3 }, schema)).toMatchObject({
    ok: false,
    error: { issues: [{ path: '/n', message: 'must be even' }] },
  });
});

test('an asynchronous check is left to the tool and said to be so', () => {
  const schema = z.object({ n: z.number().refine(async (n) => n > 0) });
  expect(recoverArguments({ n: 1 }, schema)).toMatchObject({ ok: true, repairs: [{ kind: 'unchecked' }] });
});

test('local references are followed, endless ones end', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node' }, self: { $ref: '#/properties/self' } },
    $defs: { node: { type: 'object', properties: { left: { $ref: '#/$defs/node' }, value: { type: 'integer' } } } },
  };
  expect(checkArguments({ tree: { left: { left: { value: '3' } } } }, schema)).toMatchObject({
    ok: true,
    value: { tree: { left: { left: { value: 3 } } } },
  });
  expect(checkArguments({ self: 1 }, schema).ok).toBe(false);
});

test('a pattern that could run for ever is not run', () => {
  const checked = checkArguments(
    { x: `${'a'.repeat(50_000)}!` },
    object({ x: { type: 'string', pattern: '^(a+)+$' } }),
  );
  expect(checked.ok).toBe(true);
});
