import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkArguments, recoverArguments, recoverJson } from '../../src/parsing/index.ts';
import type { Json, JsonObject, JsonSchema } from '../../src/parsing/index.ts';

const object = (properties: { readonly [key: string]: JsonSchema }, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

test.each([undefined, null, '', '  \n'])('%j means no arguments', (raw) => {
  expect(recoverArguments(raw, object({}))).toEqual({ ok: true, value: {}, repairs: [] });
});

test.each([
  [() => 1, 'function'],
  [7n, 'bigint'],
  [Symbol('x'), 'symbol'],
])('what has no JSON form is refused by its type', (raw, type) => {
  expect(recoverArguments(raw, object({}))).toMatchObject({
    ok: false,
    error: { kind: 'invalid-args', rawArgs: type, parseError: `the arguments are a ${type}, not JSON` },
  });
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

test('a default is put right like any value', () => {
  const form = object({ size: { type: 'integer', default: 1 } });
  const schema = object({ n: { type: 'integer', default: '5' }, form: { ...Object(form), default: {} } });
  expect(checkArguments({}, schema)).toMatchObject({ ok: true, value: { n: 5, form: { size: 1 } } });
  for (const union of ['anyOf', 'oneOf'])
    expect(checkArguments({ x: {} }, object({ x: { [union]: [form, object({}, ['y'])] } }))).toMatchObject({
      value: { x: { size: 1 } },
    });
  expect(checkArguments({ x: {} }, object({ x: { anyOf: [form, object({})] } }))).toMatchObject({
    value: { x: { size: 1 } },
  });
});

test.each<JsonSchema>([
  { type: 'string', default: null },
  { type: 'string', enum: ['x'], default: '' },
  { type: 'object', properties: { x: {} }, required: ['x'], default: {} },
])('a default that its own schema does not take is none, and the others are filled in: %j', (page) => {
  const schema = object({ page, limit: { type: 'integer' }, sort: { type: 'string', default: 'name' } });
  expect(checkArguments({ limit: '5' }, schema)).toMatchObject({ ok: true, value: { limit: 5, sort: 'name' } });
  expect(checkArguments({}, schema)).toMatchObject({ value: { sort: 'name' }, repairs: [{ kind: 'default' }] });
});

test('what fits as it is is not refused for what was filled in', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: { id: { type: 'string' }, name: { type: 'string', default: '' } },
    oneOf: [{ required: ['id'] }, { required: ['name'] }],
    additionalProperties: false,
  };
  expect(checkArguments({ id: 'a' }, schema)).toEqual({ ok: true, value: { id: 'a' }, repairs: [] });
  expect(checkArguments({ query: { id: 'a' } }, schema)).toMatchObject({ ok: true, value: { id: 'a' } });
  expect(recoverJson('{"id": "a"}', { schema })).toMatchObject({ ok: true, value: { id: 'a' } });
});

test('what was put right in one part of a schema fits the others, or is refused', () => {
  const names: JsonSchema = { type: 'object', propertyNames: { enum: ['foo-bar'] } };
  expect(checkArguments({ 'foo-bar': 1 }, names).ok).toBe(true);
  expect(checkArguments({ foo_bar: 1 }, names)).toMatchObject({ ok: false, error: { issues: [{ path: '/foo_bar' }] } });
  const pair = object({ a: { type: 'integer' }, b: { type: 'boolean' } });
  const forms: JsonSchema = { anyOf: [pair, object({ a: { type: 'string' }, b: { type: 'integer' } }, ['c'])] };
  expect(checkArguments({ x: { a: '1', b: '?' }, n: '1' }, object({ x: forms, n: { type: 'integer' } }))).toMatchObject(
    {
      error: { issues: [{ message: expect.stringContaining('/x/b expected a boolean') }] },
    },
  );
  const both = object({ x: { allOf: [{ type: 'string' }, { type: 'number' }] } });
  expect(checkArguments({ x: 5 }, both)).toMatchObject({ ok: false, error: { issues: [{ path: '/x' }] } });
});

test.each<JsonSchema>([
  { type: 'string', nullable: true },
  { type: 'string', enum: ['x'], nullable: true },
  { allOf: [{ $ref: '#/properties/name' }], nullable: true },
])('null stays where OpenAPI says that it is taken: %j', (x) => {
  const name: JsonSchema = { type: 'string' };
  expect(checkArguments({ x: null }, object({ x, name }))).toMatchObject({ ok: true, value: { x: null } });
  expect(checkArguments({ x: null }, object({ x, name }, ['x']))).toMatchObject({ ok: true, value: { x: null } });
  expect(checkArguments({ x: {} }, object({ x, name })).ok).toBe(false);
});

test.each<JsonSchema>([{ allOf: [{ $ref: '#/properties/name' }] }, { type: ['string', 'null'], enum: ['x'] }])(
  'null means absent for an optional argument that does not take it: %j',
  (x) => {
    expect(checkArguments({ x: null }, object({ x, name: { type: 'string' } }))).toMatchObject({ ok: true, value: {} });
  },
);

test('null stays if a later form of a union takes it', () => {
  const change = (id: JsonSchema) => object({ id }, ['name']);
  const x: JsonSchema = { anyOf: [object({ id: { type: 'string' } }), object({ id: { type: 'null' } })] };
  expect(checkArguments({ x: { id: null } }, object({ x }))).toMatchObject({ value: { x: { id: null } }, repairs: [] });
  const other: JsonSchema = { anyOf: [object({ id: { type: 'string' } }), change({ type: 'null' })] };
  expect(checkArguments({ x: { id: null } }, object({ x: other }))).toMatchObject({ ok: true, value: { x: {} } });
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

test('a value that throws when it is read is refused, and throws nothing', () => {
  const fail = (): never => {
    throw new Error('not to be read');
  };
  for (const raw of [
    Object.defineProperty({}, 'a', { get: fail, enumerable: true }),
    new Proxy({}, { ownKeys: fail }),
  ]) {
    expect(recoverArguments(raw, true)).toMatchObject({ ok: false, error: { kind: 'invalid-args', truncated: false } });
  }
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

test.each<JsonObject>([{ $id: 'Node' }, { $id: '#Node' }, { $anchor: 'Node' }, { $dynamicAnchor: 'Node' }])(
  'a reference by name is followed, wherever what it names stands: %j',
  (name) => {
    const ref = name['$id'] === 'Node' ? 'Node' : '#Node';
    const node: JsonSchema = {
      ...name,
      type: 'object',
      properties: {
        value: { type: 'integer' },
        left: { [name['$dynamicAnchor'] === undefined ? '$ref' : '$dynamicRef']: ref },
      },
    };
    const schema = object({ trees: { type: 'array', items: [{ type: 'null' }, node] } });
    const checked = checkArguments({ trees: [null, { left: { left: { value: '3' } } }] }, schema);
    expect(checked).toMatchObject({ ok: true, value: { trees: [null, { left: { left: { value: 3 } } }] } });
    expect(checkArguments({ trees: [null, { left: { value: 'x' } }] }, schema).ok).toBe(false);
  },
);

test('a pattern that could run for ever is not run', () => {
  const checked = checkArguments(
    { x: `${'a'.repeat(50_000)}!` },
    object({ x: { type: 'string', pattern: '^(a+)+$' } }),
  );
  expect(checked.ok).toBe(true);
});
