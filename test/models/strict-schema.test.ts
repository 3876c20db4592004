import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Json, type JsonObject, isJsonObject } from '../../src/json/json.ts';
import { sentSchema, strictForm } from '../../src/models/chat/strict-schema.ts';

const NODE = z.object({
  name: z.string(),
  get below() {
    return z.array(NODE).optional();
  },
});

/** What Structured Outputs ask of every object in a schema. */
function problems(schema: Json, path = '#'): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((one, index) => problems(one, `${path}/${index}`));
  if (!isJsonObject(schema)) return [];
  const { type, properties, required, additionalProperties, $ref, ...rest } = schema;
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  const names = Object.keys(isJsonObject(properties) ? properties : {});
  return [
    ...($ref !== undefined && Object.keys(schema).length > 1 ? [`${path}: something beside $ref`] : []),
    ...(isObject && additionalProperties !== false ? [`${path}: open`] : []),
    ...(isObject && JSON.stringify(required) !== JSON.stringify(names) ? [`${path}: not all required`] : []),
    ...Object.keys(rest).flatMap((key) =>
      ['items', 'anyOf', '$defs', 'definitions', 'description', 'title', 'enum', 'const'].includes(key)
        ? []
        : [`${path}: unsupported ${key}`],
    ),
    ...Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, one]) =>
      problems(one, `${path}/${name}`),
    ),
    ...(rest.items === undefined ? [] : problems(rest.items, `${path}/items`)),
    ...(rest.anyOf === undefined ? [] : problems(rest.anyOf, `${path}/anyOf`)),
    ...Object.entries(isJsonObject(rest.$defs) ? rest.$defs : {}).flatMap(([name, one]) =>
      problems(one, `${path}/$defs/${name}`),
    ),
  ];
}

const written = (schema: z.ZodType): JsonObject => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return JSON.parse(JSON.stringify(json));
};

describe('the strict form', () => {
  test.each<[string, z.ZodType]>([
    ['optional members', z.object({ a: z.string(), b: z.int().optional(), c: z.enum(['x', 'y']).optional() })],
    [
      'limits and formats',
      z.object({ mail: z.email(), n: z.number().min(1).max(9), s: z.string().max(3).default('a') }),
    ],
    ['nested objects', z.object({ in: z.object({ deep: z.object({ a: z.boolean().optional() }) }).optional() })],
    [
      'lists',
      z.object({
        list: z
          .array(z.object({ a: z.int().optional() }))
          .min(1)
          .max(3),
      }),
    ],
    ['unions', z.object({ one: z.union([z.string(), z.object({ a: z.int().optional() })]).optional() })],
    [
      'discriminated unions',
      z.object({
        of: z.discriminatedUnion('k', [
          z.object({ k: z.literal('a') }),
          z.object({ k: z.literal('b'), n: z.int().optional() }),
        ]),
      }),
    ],
    ['nullable members', z.object({ a: z.string().nullable(), b: z.string().nullable().optional() })],
    ['a recursive schema', NODE],
    [
      'definitions',
      z.object({
        a: z.object({ n: z.int() }).meta({ id: 'Row' }),
        b: z.object({ n: z.int() }).meta({ id: 'Line' }).optional(),
      }),
    ],
  ])('of %s is one that Structured Outputs take', (_, schema) => {
    const form = strictForm(written(schema));
    expect(form).not.toBe(null);
    expect(problems(form)).toEqual([]);
  });

  test('tells what it cannot ask for in the description, and keeps that', () => {
    expect(strictForm(written(z.object({ n: z.int().min(1).describe('How many') })))).toEqual({
      type: 'object',
      properties: { n: { type: 'integer', description: 'How many minimum: 1' } },
      required: ['n'],
      additionalProperties: false,
    });
  });

  test('is the same object each time, and the schema stays as it is', () => {
    const schema = written(z.object({ a: z.string().optional() }));
    const before = JSON.stringify(schema);
    expect(strictForm(schema)).toBe(strictForm(schema));
    expect(JSON.stringify(schema)).toBe(before);
  });

  test.each<[string, JsonObject]>([
    ['a map', written(z.record(z.string(), z.int()))],
    ['a member that is a map', written(z.object({ map: z.record(z.string(), z.int()) }))],
    ['an object without properties', { type: 'object' }],
    ['a member of any type', { type: 'object', properties: { any: {} } }],
    ['a list of anything', { type: 'object', properties: { list: { type: 'array' } } }],
    ['a tuple', written(z.object({ pair: z.tuple([z.string(), z.int()]) }))],
    ['an open object', written(z.looseObject({ a: z.int() }))],
    ['what only other keywords say', { type: 'object', properties: { a: { type: 'string', not: { const: 'x' } } } }],
    ['an intersection', { type: 'object', properties: { a: { allOf: [{ type: 'string' }] } } }],
    ['a list', written(z.array(z.string()))],
    ['a reference that leads elsewhere', { type: 'object', properties: { a: { $ref: '#/properties/b' } } }],
  ])('there is none of %s', (_, schema) => {
    expect(strictForm(schema)).toBe(null);
  });
});

const ADDRESS = { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] };
const PERSON = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

describe('the schema of arguments as it is sent', () => {
  test.each([
    ['a plain object', PERSON],
    ['alternatives of a member', { type: 'object', properties: { who: { anyOf: [PERSON, ADDRESS] } } }],
    ['a list with items', { type: 'object', properties: { all: { type: 'array', items: PERSON } } }],
    ['members named like keywords', { type: 'object', properties: { anyOf: PERSON, items: { type: 'number' } } }],
    ['a closed object', { ...PERSON, additionalProperties: false }],
  ])('%s stays as it is', (_what, schema) => {
    expect(sentSchema(schema)).toEqual(schema);
  });

  test.each([
    ['anyOf', { anyOf: [PERSON, ADDRESS] }, [], 'One of: {name} or {street}.'],
    ['oneOf', { type: 'object', oneOf: [PERSON, ADDRESS] }, [], 'One of: {name} or {street}.'],
    [
      'references',
      { oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }], $defs: { a: PERSON, b: ADDRESS } },
      [],
      'One of: {name} or {street}.',
    ],
    ['all of several', { allOf: [PERSON, ADDRESS] }, ['name', 'street'], undefined],
    [
      'a reference',
      { $ref: '#/definitions/a', definitions: { a: { allOf: [PERSON, ADDRESS] } } },
      ['name', 'street'],
      undefined,
    ],
    [
      'what must be there beside properties',
      {
        ...PERSON,
        description: 'Whom.',
        properties: { ...PERSON.properties, ...ADDRESS.properties },
        anyOf: [{ required: ['name'] }, { required: ['street'] }],
      },
      ['name'],
      'Whom. One of: {name} or {street}.',
    ],
  ])('%s at the top becomes one object', (_what, schema, required, description) => {
    const { $defs: _defs, definitions: _definitions, ...sent } = sentSchema(schema);
    const properties = { ...PERSON.properties, ...ADDRESS.properties };
    expect(sent).toEqual({
      type: 'object',
      properties,
      ...(required.length === 0 ? {} : { required }),
      ...(description === undefined ? {} : { description }),
    });
  });

  test('what is excluded at the top is left out, a schema that refers to itself ends, and the same member stands once', () => {
    expect(sentSchema({ ...PERSON, not: ADDRESS, enum: [{ name: 'Ada' }] })).toEqual(PERSON);
    const endless = { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, PERSON] } } };
    expect(sentSchema(endless)).toMatchObject({ type: 'object', properties: PERSON.properties });
    const { required: none, ...sent } = sentSchema({ anyOf: [PERSON, { ...PERSON, required: [] }] });
    expect([none, sent]).toMatchObject([undefined, { properties: PERSON.properties }]);
  });

  test('an empty list of what must be there is left out, which some servers refuse; a property may have its name', () => {
    const nested = { type: 'object', properties: { required: { type: 'array', items: {} } }, required: [] } as const;
    const sent = { type: 'object', properties: nested.properties };
    expect(sentSchema({ type: 'object', properties: {}, required: [] })).toEqual({ type: 'object', properties: {} });
    expect(sentSchema({ ...nested, properties: { at: nested } })).toEqual({ ...sent, properties: { at: sent } });
    expect(sentSchema({ ...nested, required: ['required'] })).toEqual({ ...sent, required: ['required'] });
  });

  test('what servers refuse the whole request for is left out or said otherwise, and everything else stays', () => {
    const members = {
      any: true,
      never: false,
      nothing: null,
      choice: { type: 'string', enum: [], anyOf: [] },
      old: { type: 'number', minimum: 0, exclusiveMinimum: true, required: true },
      kind: { type: 'any' },
      either: { type: ['string', 'null'], minLength: 1 },
      known: { $ref: '#/properties/either' },
      parts: { type: 'array', items: { $ref: '#' } },
      lost: { $ref: '#/$defs/nowhere', description: 'Lost' },
      far: { $ref: 'https://example.com/schema.json' },
      map: { type: 'object', additionalProperties: false },
      above: { type: 'number', exclusiveMinimum: 0 },
    };
    const properties = {
      ...members,
      any: {},
      never: { not: {} },
      nothing: {},
      choice: { type: 'string' },
      old: { type: 'number', minimum: 0 },
      kind: {},
      parts: { type: 'array', items: { $ref: '#/$defs/arguments_' } },
      lost: { description: 'Lost' },
      far: {},
    };
    const sent = { type: 'object', properties };
    const $defs = { arguments_: { ...sent, $defs: {} } };
    expect(sentSchema({ type: 'object', properties: members })).toEqual({ ...sent, $defs });
  });

  test('a schema whose definitions refer to each other many times costs no more than its size', () => {
    const names = Array.from({ length: 40 }, (_, at) => `d${at}`);
    const all = names.map((name) => ({ $ref: `#/$defs/${name}` }));
    const $defs = Object.fromEntries(
      names.map((name) => [name, { type: 'object', properties: { [name]: { type: 'string' } }, anyOf: all }]),
    );
    const members = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`m${at}`, { type: 'string' }]));
    const wide = { type: 'object', properties: members, required: Object.keys(members) };
    const wrapped = Array.from({ length: 3000 }, () => ({ allOf: [{ $ref: '#/$defs/wide' }] }));
    expect(Object.keys(Object(sentSchema({ anyOf: all, $defs })['properties'])).toSorted()).toEqual(names.toSorted());
    expect(sentSchema({ anyOf: wrapped, $defs: { wide } })).toMatchObject({ type: 'object', properties: {} });
  });

  test('every list has a schema for its items, however deep', () => {
    const schema = {
      type: 'object',
      properties: {
        any: { type: 'array' },
        pair: { type: 'array', items: [{ type: 'number' }, { type: 'string' }] },
        deep: { type: 'object', additionalProperties: { anyOf: [{ type: ['array', 'null'] }] } },
      },
    };
    expect(sentSchema(schema)['properties']).toEqual({
      any: { type: 'array', items: {} },
      pair: { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'string' }] } },
      deep: { type: 'object', additionalProperties: { anyOf: [{ type: ['array', 'null'], items: {} }] } },
    });
  });
});
