import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkArguments, type Json, type JsonObject, type JsonSchema } from '../../src/parsing/index.ts';
import { fit } from '../../src/parsing/schema/fit.ts';
import { FitContext } from '../../src/parsing/schema/fit-context.ts';
import { identifier, trickyText } from '../parsing/arbitraries.ts';
import { PATIENCE, runs } from './parsing-runs.ts';

const scalar = fc.oneof<fc.Arbitrary<Json>[]>(
  trickyText,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(identifier, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

/** zod schemas that JSON Schema can express. */
const zodSchema: fc.Arbitrary<z.ZodType> = fc.letrec<{ schema: z.ZodType }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constant(z.string()),
    fc.integer({ min: 0, max: 5 }).map((n) => z.string().min(n)),
    fc.constant(z.string().regex(/^[a-z ]+$/)),
    fc.constant(z.number()),
    fc.integer({ min: -5, max: 5 }).map((n) => z.number().min(n)),
    fc.constant(z.boolean()),
    fc.constant(z.null()),
    fc.constant(z.enum(['null', 'true', '42'])),
    fc.constant(z.literal('x')),
    tie('schema').map((inner) => z.array(inner)),
    tie('schema').map((inner) => z.array(inner).min(1).max(2)),
    tie('schema').map((inner) => z.nullable(inner)),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.union([a, b])),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.tuple([a, b])),
    tie('schema').map((inner) => z.record(z.string(), inner)),
    fc
      .dictionary(identifier, tie('schema'), { maxKeys: 3, noNullPrototype: true })
      .map((shape) => z.strictObject(shape)),
    fc
      .dictionary(identifier, tie('schema'), { maxKeys: 3, noNullPrototype: true })
      .map((shape) => z.object(shape).partial()),
  ),
})).schema;

function issues(given: Json, schema: JsonSchema): number {
  const context = new FitContext(schema, { coerce: false });
  expect(fit(given, schema, context)).toBe(given);
  return context.issues.length;
}

test(
  'without coercion, the verdict is that of zod',
  () => {
    fc.assert(
      fc.property(zodSchema, value, (schema, given) => {
        const json: JsonSchema = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input' })));
        expect(issues(given, json) === 0).toBe(schema.safeParse(given).success);
      }),
      runs(1_500),
    );
  },
  PATIENCE,
);

test(
  'what is coerced fits without coercion, and fits again by reference',
  () => {
    fc.assert(
      fc.property(
        fc.dictionary(identifier, zodSchema, { maxKeys: 4 }),
        fc.dictionary(identifier, value, { noNullPrototype: true }),
        (shape, args) => {
          const json: JsonSchema = JSON.parse(JSON.stringify(z.toJSONSchema(z.object(shape), { io: 'input' })));
          const before = JSON.stringify(args);
          const checked = checkArguments(args, json);
          expect(JSON.stringify(args)).toBe(before);
          const again = checked.ok ? checkArguments(checked.value, json) : checked;
          expect(again.ok).toBe(checked.ok);
          expect(again.ok && checked.ok ? again.value === checked.value : true).toBe(true);
          expect(checked.ok ? issues(checked.value, json) : 0).toBe(0);
        },
      ),
      runs(1_500),
    );
  },
  PATIENCE,
);

test(
  'whatever stands for a schema, a verdict comes',
  () => {
    const keyword = fc.constantFrom(
      'type',
      'enum',
      'const',
      'properties',
      'required',
      'items',
      'anyOf',
      'oneOf',
      'allOf',
      'not',
      'if',
      'then',
      '$ref',
      'pattern',
      'minimum',
      'default',
      '$defs',
      'additionalProperties',
    );
    const anything = fc.letrec<{ schema: Json }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.constantFrom('#', '#/$defs/a', 'string', 'object'),
        fc.array(tie('schema'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(keyword, identifier), tie('schema'), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).schema;
    fc.assert(
      fc.property(fc.dictionary(keyword, anything, { noNullPrototype: true }), value, (schema: JsonObject, given) => {
        const checked = checkArguments(given, schema);
        expect(typeof JSON.stringify(checked)).toBe('string');
      }),
      runs(1_500),
    );
  },
  PATIENCE,
);
