import { afterEach, expect, test, vi } from 'vitest';
import { matchers } from '../../src/testing/assertions.ts';

/** Loads it anew: another test may have loaded it in this worker. */
const loaded = (round: string): Promise<unknown> => import(`../../src/testing/jest.ts?${round}`);

afterEach(() => void vi.unstubAllGlobals());

test('extends the expect that jest has made global', async () => {
  const extended: unknown[] = [];
  vi.stubGlobal(
    'expect',
    Object.assign(() => undefined, { extend: (given: unknown) => extended.push(given) }),
  );
  await loaded('extends');
  expect(extended).toHaveLength(1);
  expect(Object.keys(Object(extended[0]))).toEqual(Object.keys(matchers));
});

test('says what to do where there is none', async () => {
  vi.stubGlobal('expect', undefined);
  await expect(loaded('refuses')).rejects.toThrow(/no global expect.*setupFilesAfterEnv/);
});
