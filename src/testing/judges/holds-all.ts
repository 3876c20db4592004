import { isJsonObject } from '../../json/json.ts';

/**
 * True when `actual` holds all that `expected` says: members of objects may stand beside those asked for, lists are
 * compared whole. `expect.any(String)` and its like may stand anywhere in `expected`.
 */
export function holdsAll(expected: unknown, actual: unknown): boolean {
  const asked = asymmetric(expected);
  if (asked !== null) return asked(actual);
  if (expected instanceof RegExp) return typeof actual === 'string' && expected.test(actual);
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item: unknown, index) => holdsAll(item, actual[index]))
    );
  }
  if (isJsonObject(expected)) {
    return isJsonObject(actual) && Object.entries(expected).every(([key, value]) => holdsAll(value, actual[key]));
  }
  return Object.is(expected, actual);
}

/** vitest, jest and chai know such matchers by this method. */
function asymmetric(expected: unknown): ((actual: unknown) => boolean) | null {
  if (typeof expected !== 'object' || expected === null) return null;
  const match: unknown = Reflect.get(expected, 'asymmetricMatch');
  return typeof match === 'function' ? (actual) => Reflect.apply(match, expected, [actual]) === true : null;
}
