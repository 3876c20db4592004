import { expect, test } from 'vitest';
import { groupCommit } from '../../src/journal/stores/file-sink.ts';

/** Flushes that end when they are told to. */
function flushes() {
  const running: PromiseWithResolvers<void>[] = [];
  const commit = groupCommit(() => {
    const flush = Promise.withResolvers<void>();
    running.push(flush);
    return flush.promise;
  });
  return { commit, running };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('whoever asks while a flush runs shares the next one, and waits for it', async () => {
  const { commit, running } = flushes();
  const done: string[] = [];
  void commit().then(() => done.push('first'));
  void commit().then(() => done.push('second'));
  void commit().then(() => done.push('third'));
  expect(running).toHaveLength(1);
  running[0]?.resolve();
  await turn();
  expect(done).toEqual(['first']);
  expect(running).toHaveLength(2);
  void commit().then(() => done.push('fourth'));
  running[1]?.resolve();
  await turn();
  expect(done).toEqual(['first', 'second', 'third']);
  running[2]?.resolve();
  await turn();
  expect(done.at(-1)).toBe('fourth');
  expect(running).toHaveLength(3);
});

test('a flush that fails is told to those who waited for it, and the next is tried all the same', async () => {
  const { commit, running } = flushes();
  const first = commit();
  const second = commit();
  running[0]?.reject(new Error('the disk is gone'));
  await expect(first).rejects.toThrow('the disk is gone');
  await turn();
  running[1]?.resolve();
  await expect(second).resolves.toBeUndefined();
});
