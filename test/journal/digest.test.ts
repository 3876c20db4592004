import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isList } from '../../src/json/depth.ts';
import { digest } from '../../src/json/digest.ts';
import { type Json, deepFreeze } from '../../src/json/json.ts';
import { cases, seedOr } from '../support/soak.ts';

/** What recordings hold of a value, by its definition: texts are put together, and each is hashed as a whole. */
function defined(value: Json): string {
  if (typeof value !== 'object' || value === null) return hashed(textOf(value));
  if (!isList(value))
    return hashed(
      `{${Object.entries(value)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)},`)
        .join('')}`,
    );
  return value.length === 0 ? hashed('[]') : value.reduce<string>((before, item) => hashed(before + textOf(item)), '[');
}

function textOf(value: Json): string {
  return typeof value === 'object' && value !== null ? `#${defined(value)}` : JSON.stringify(value);
}

function hashed(text: string): string {
  return [0x9e3779b9, 0x85ebca6b].map((seed) => half(text, seed)).join('');
}

function half(text: string, seed: number): string {
  let [a, b] = [0xdeadbeef ^ seed, 0x41c6ce57 ^ seed];
  for (const unit of Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))) {
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (4294967296 * (2097151 & high) + (low >>> 0)).toString(16).padStart(14, '0').slice(-13);
}

/** Texts of any UTF-16 units, halves of pairs among them; some are so long that the digest of what holds them is kept. */
const text = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units));
const { value: json } = fc.letrec<{ readonly value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      text,
      text.map((one) => one.repeat(40)),
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
}));

test('a digest is the one that its definition gives, whatever is kept of earlier ones', () => {
  fc.assert(
    fc.property(fc.array(json, { maxLength: 6 }), json, (list, more) => {
      const frozen = deepFreeze([...list]);
      const grown = Object.freeze([...frozen, more]);
      expect(digest(list)).toBe(defined(list));
      // What is frozen is digested again from what is kept, and a list that grew from the one before.
      for (const value of [frozen, grown, Object.freeze([...grown]), frozen, Object.freeze([more, ...frozen])])
        expect(digest({ messages: value })).toBe(defined({ messages: value }));
    }),
    { numRuns: cases(400, 40_000), seed: seedOr(1) },
  );
});
