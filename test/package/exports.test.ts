import { beforeAll, describe, expect, test, vi } from 'vitest';
import { exportedSources, promised } from './export-table.ts';

const sources = exportedSources();

// The setup file for jest extends the expect that jest has made global.
beforeAll(() => void vi.stubGlobal('expect', expect));

describe('the export table of the contract', () => {
  test('has the subpaths that package.json exports, but for those that come later', () => {
    const due = promised.filter(({ lateAltogether }) => lateAltogether !== true).map(({ subpath }) => subpath);
    expect([...sources.keys()].toSorted()).toEqual(due.toSorted());
  });

  test.each(promised.filter(({ lateAltogether }) => lateAltogether !== true))(
    '$subpath',
    async ({ subpath, names, late }) => {
      const module: Readonly<Record<string, unknown>> = await import(sources.get(subpath)?.href ?? '');
      const missing = names.filter((name) => module[name] === undefined);
      expect(missing, 'promised as delivered, but missing').toEqual([]);
      const early = late.filter((name) => module[name] !== undefined);
      expect(early, 'delivered by now: move it from `late` to `names`').toEqual([]);
    },
  );

  test('has every value that the root exports: nothing gets out by chance', async () => {
    const module: object = await import(sources.get('.')?.href ?? '');
    const [{ names } = { names: [] }] = promised;
    expect(Object.keys(module).sort()).toEqual([...names].sort());
  });

  test('works with require(), because no module awaits at its top level', async () => {
    const { createRequire } = await import('node:module');
    const require = createRequire(import.meta.url);
    for (const { pathname } of sources.values()) expect(() => require(pathname)).not.toThrow();
  });
});

test('AGENT_STATES are the five states', async () => {
  const { AGENT_STATES } = await import('../../src/index.ts');
  expect(AGENT_STATES).toEqual(['PLANNING', 'EXECUTING_PLAN', 'DIRECT_EXECUTION', 'ERROR_RECOVERY', 'COMPLETION']);
});
