import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z as zod } from 'zod';
import { Refusal, type Shape, type ShapeIssue } from '../../src/json/shape.ts';
import { namesAt, z } from '../../src/json/shapes.ts';
import { cases, seedOr } from '../support/soak.ts';

const isFunction = (value: unknown) => typeof value === 'function';
const web = { protocol: /^https?$/, error: 'must be an http or https address' };

/** Each shape, ours and zod's. */
const pairs: readonly (readonly [string, Shape<unknown>, zod.ZodType])[] = [
  ['text', z.string().min(1).max(3), zod.string().min(1).max(3)],
  ['named text', z.string().min(1, 'must not be empty'), zod.string().min(1, 'must not be empty')],
  [
    'scope',
    z
      .string()
      .min(2)
      .regex(/^[a-f]+$/, 'must be a scope'),
    zod
      .string()
      .min(2)
      .regex(/^[a-f]+$/, 'must be a scope'),
  ],
  ['number', z.number().min(0).max(2), zod.number().min(0).max(2)],
  ['positive', z.number().positive(), zod.number().positive()],
  ['time', z.number().positive('must be more'), zod.number().positive('must be more')],
  ['count', z.int().min(2), zod.int().min(2)],
  ['boolean', z.boolean(), zod.boolean()],
  ['enum', z.enum(['allow', 'deny']), zod.enum(['allow', 'deny'])],
  ['literal', z.literal('wait'), zod.literal('wait')],
  ['address', z.url(web), zod.url(web)],
  ['custom', z.custom(isFunction), zod.custom(isFunction)],
  ['list', z.array(z.string().min(2)), zod.array(zod.string().min(2))],
  ['record', z.record(z.int()), zod.record(zod.string(), zod.int())],
  [
    'union',
    z.union([z.string().min(1), z.custom(isFunction, 'must be a function')], 'must be a text or a function'),
    zod.union([zod.string().min(1), zod.custom(isFunction, 'must be a function')], 'must be a text or a function'),
  ],
  ['either', z.union([z.boolean(), z.int().min(3)]), zod.union([zod.boolean(), zod.int().min(3)])],
  [
    'options',
    z.strictObject({ a: z.int(), b: z.array(z.strictObject({ c: z.boolean() }).partial()) }).partial(),
    zod.strictObject({ a: zod.int(), b: zod.array(zod.strictObject({ c: zod.boolean() }).partial()) }).partial(),
  ],
  [
    'entry',
    z.strictObject({ a: z.unknown().optional(), b: z.string(), c: z.literal('x').optional() }),
    zod.strictObject({ a: zod.unknown().optional(), b: zod.string(), c: zod.literal('x').optional() }),
  ],
  [
    'loose',
    z.looseObject({ a: z.enum(['x']), b: z.union([z.string(), z.array(z.unknown())]) }),
    zod.looseObject({ a: zod.enum(['x']), b: zod.union([zod.string(), zod.array(zod.unknown())]) }),
  ],
  [
    'made',
    z.array(z.union([z.string(), z.number()]).transform(String)),
    zod.array(zod.union([zod.string(), zod.number()]).transform(String)),
  ],
];

class Own {
  readonly a = 1;
  readonly b = 'x';
}

const values: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    'x',
    'ab',
    'abcd',
    'wait',
    'allow',
    true,
    0,
    -1,
    0.5,
    1,
    2,
    3,
    2 ** 60,
    Number.NaN,
    Infinity,
  ),
  fc.constantFrom(
    'https://a.b/c',
    ' http://a ',
    'ftp://a',
    'http:',
    'http://[',
    new Date(0),
    new Own(),
    isFunction,
    Symbol.iterator,
    7n,
  ),
  fc.array(fc.oneof(fc.string(), fc.integer(), fc.record({ c: fc.boolean(), d: fc.integer() }, { requiredKeys: [] })), {
    maxLength: 3,
  }),
  fc.record(
    {
      a: fc.constantFrom(undefined, 1, 1.5, 'x'),
      b: fc.oneof(
        fc.string(),
        fc.array(fc.record({ c: fc.constantFrom(true, 1), e: fc.boolean() }, { requiredKeys: [] }), { maxLength: 2 }),
      ),
      c: fc.constantFrom('x', 'y', undefined),
      f: fc.boolean(),
      ['g h']: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  fc.anything(),
);

/** What a check says, as far as anybody reads it. */
const said = ({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }) => ({
  path,
  message,
});

/** zod also measures what has a length and is no text. */
const isOfItsType = (
  issue: { readonly path: readonly PropertyKey[]; readonly message: string },
  index: number,
  all: readonly (typeof issue)[],
) =>
  !all.some(
    ({ path, message }, at) =>
      at < index && path.join() === issue.path.join() && message.startsWith('Invalid input: expected string'),
  );

test('shapes take and refuse what zod takes and refuses, in its words', () => {
  fc.assert(
    fc.property(fc.constantFrom(...pairs), values, ([, ours, theirs], value) => {
      const [own, other] = [ours.safeParse(value), theirs.safeParse(value)];
      expect(own.success).toBe(other.success);
      if (own.success) expect(own.data).toEqual(other.data);
      else expect(own.error.issues.map(said)).toEqual(other.error?.issues.map(said).filter(isOfItsType));
    }),
    { seed: seedOr(20_261_122), numRuns: cases(4000, 200_000) },
  );
});

test('a value that was made is refused by the words of who makes it, at a path', () => {
  const made = z.strictObject({
    auth: z.unknown().transform((value) => {
      if (value === 'oauth') return { type: value };
      throw new Refusal("must be 'oauth'", ['type']);
    }),
  });
  expect(made.parse({ auth: 'oauth' })).toEqual({ auth: { type: 'oauth' } });
  const issue: Partial<ShapeIssue> = { path: ['auth', 'type'], message: "must be 'oauth'" };
  expect(made.safeParse({ auth: 1 })).toMatchObject({ success: false, error: { issues: [issue] } });
  expect(() => made.parse({ auth: 1 })).toThrow("auth.type: must be 'oauth'");
  expect(() =>
    z
      .unknown()
      .transform(() => Reflect.get(Object(undefined), 'a').b)
      .parse(1),
  ).toThrow(TypeError);
});

test('the names at a path are those of the object there', () => {
  const shape = z.strictObject({ a: z.strictObject({ b: z.int() }).partial(), c: z.int() }).partial();
  expect(namesAt(shape, [])).toEqual(['a', 'c']);
  expect(namesAt(shape, ['a'])).toEqual(['b']);
  expect(namesAt(shape, ['c'])).toEqual([]);
  expect(namesAt(shape, ['d'])).toEqual([]);
});
