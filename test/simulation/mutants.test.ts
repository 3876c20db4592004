import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SOAKING, cases } from '../support/soak.ts';
import { SOURCE_MUTANTS, SURVIVORS, type SourceMutant } from './mutants.ts';
import { ROOT, inTemporaryFolder, runMutated } from './mutated-source.ts';

/** In the suite two of the changes are tried; all of them must be there to be made. */
const isTried = (n: number): boolean => SOAKING || n % 40 === 8;

/** What a simulation finds first in our source with one change; null where it finds nothing. */
async function foundIn(folder: string, mutant: SourceMutant): Promise<string | null> {
  const args = [cases(300, 10_000), 180].map(String);
  const found = await runMutated(folder, mutant, { program: 'run-seeds.ts', args, timeout: 240_000 });
  return typeof found === 'string' ? found : null;
}

test('every change can be made', async () => {
  for (const { file, from } of SOURCE_MUTANTS)
    expect(await readFile(join(ROOT, 'src', file), 'utf8'), `${file} holds no ${from}`).toContain(from);
  expect(SOURCE_MUTANTS.length).toBeGreaterThanOrEqual(60);
});

test('a simulation finds what is changed in the source', { timeout: 10_800_000 }, async () => {
  const survivors: number[] = [];
  await inTemporaryFolder(async (folder) => {
    for (const [n, mutant] of SOURCE_MUTANTS.entries()) {
      if (!isTried(n)) continue;
      const found = await foundIn(folder, mutant);
      if (SOAKING) console.log(`${n} ${found ?? 'SURVIVES'}   (${mutant.file}: ${mutant.from.split('\n')[0] ?? ''})`);
      if (found === null) survivors.push(n);
    }
  });
  expect(survivors).toEqual(SURVIVORS.filter(isTried));
});
