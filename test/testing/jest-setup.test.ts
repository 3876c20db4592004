import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { matchers } from '../../src/testing/matchers.ts';

// Another file may have loaded it in this worker.
beforeEach(() => void vi.resetModules());
afterEach(() => void vi.unstubAllGlobals());

test('extends the expect that jest has made global', async () => {
  const extended: unknown[] = [];
  vi.stubGlobal(
    'expect',
    Object.assign(() => undefined, { extend: (given: unknown) => extended.push(given) }),
  );
  await import('../../src/testing/jest.ts');
  expect(extended).toHaveLength(1);
  expect(Object.keys(Object(extended[0]))).toEqual(Object.keys(matchers));
});

test('says what to do where there is none', async () => {
  vi.stubGlobal('expect', undefined);
  await expect(import('../../src/testing/jest.ts')).rejects.toThrow(/no global expect.*setupFilesAfterEnv/);
});
