import type { Page } from 'playwright-core';

/** What came after ES2022, by the object that has it. */
const AFTER_2022: Readonly<Record<string, readonly string[]>> = {
  'Array.prototype': ['findLast', 'findLastIndex', 'toReversed', 'toSorted', 'toSpliced', 'with'],
  Array: ['fromAsync'],
  Object: ['groupBy'],
  Map: ['groupBy'],
  Promise: ['withResolvers'],
  'Set.prototype': ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf'],
  'String.prototype': ['isWellFormed', 'toWellFormed'],
};

/** What Chrome 122, Firefox 127 and Safari 17.4 do not all have. */
const AFTER_2024: typeof AFTER_2022 = {
  Promise: ['try'],
  'Iterator.prototype': [
    'map',
    'filter',
    'take',
    'drop',
    'flatMap',
    'reduce',
    'toArray',
    'forEach',
    'some',
    'every',
    'find',
  ],
  'ReadableStream.prototype': ['values'],
  RegExp: ['escape'],
  Uint8Array: ['fromBase64', 'fromHex'],
  Map: ['getOrInsert'],
  URL: ['parse'],
  Error: ['isError'],
  Math: ['sumPrecise'],
  Intl: ['DurationFormat'],
  globalThis: ['requestIdleCallback', 'scheduler', 'navigation', 'Iterator', 'Float16Array', 'DisposableStack'],
};

/** Takes from the pages that are loaded from now on what browsers before 2022, or of spring 2024, do not have. */
export async function makeOlder(page: Page, since: 2022 | 2024): Promise<void> {
  const lists = since === 2022 ? [AFTER_2024, AFTER_2022] : [AFTER_2024];
  await page.addInitScript(
    (all) => {
      Reflect.deleteProperty(ReadableStream.prototype, Symbol.asyncIterator);
      for (const [path, names] of all) {
        const found = path === 'globalThis' ? globalThis : path.split('.').reduce(Reflect.get, globalThis);
        for (const name of names) Reflect.deleteProperty(Object(found), name);
      }
    },
    lists.flatMap((one) => Object.entries(one)),
  );
}
