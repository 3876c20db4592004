import { expect, test } from 'vitest';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { storeContract } from './store-contract.ts';
import { answered, interrupted, whole } from './stored-runs.ts';

storeContract('memoryJournal', () => ({ store: memoryJournal(), [Symbol.asyncDispose]: async () => undefined }));

test('two memory journals know nothing of each other', async () => {
  const [one, other] = [whole(memoryJournal()), whole(memoryJournal())];
  await answered(one, 'one');
  expect(await other.read('one')).toBeNull();
});

test.each([Number.NaN, -1, '5'])('does not keep %j runs', (maxRuns) => {
  expect(() => memoryJournal({ maxRuns: maxRuns as number })).toThrow(
    expect.objectContaining({ name: 'TypeError', code: 'wrong-option' }),
  );
});

test('keeps the newest runs that have ended, and every one that has not', async () => {
  const store = whole(memoryJournal({ maxRuns: 2 }));
  await interrupted(store, 'cut');
  for (const runId of ['a', 'b', 'c']) {
    await answered(store, runId);
  }
  expect((await store.list()).map(({ runId }) => runId).toSorted()).toEqual(['b', 'c', 'cut']);
});
