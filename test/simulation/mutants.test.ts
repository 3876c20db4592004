import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { SOAKING, cases } from '../support/soak.ts';
import { SOURCE_MUTANTS, SURVIVORS, type SourceMutant } from './mutants.ts';

const root = join(import.meta.dirname, '../..');
/** In the suite three of the changes are tried; all of them must be there to be made. */
const isTried = (n: number): boolean => SOAKING || n % 20 === 8;

/** What a simulation finds first in our source with one change; null where it finds nothing. */
async function foundIn(folder: string, { file, from, to }: SourceMutant, n: number): Promise<string | null> {
  const copy = join(folder, String(n));
  await cp(join(root, 'src'), join(copy, 'src'), { recursive: true });
  await cp(import.meta.dirname, join(copy, 'test/simulation'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  await cp(join(root, 'package.json'), join(copy, 'package.json'));
  const path = join(copy, 'src', file);
  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace(from, () => to),
  );
  const program = [
    join(copy, 'test/simulation/children/run-seeds.ts'),
    String(cases(300, 10_000)),
    String(cases(10, 60)),
  ];
  const end = await promisify(execFile)(process.execPath, program, { timeout: cases(30_000, 120_000) }).catch(
    (error: unknown) => ({ stdout: JSON.stringify(`the process ended: ${String(error).split('\n').at(1) ?? ''}`) }),
  );
  await rm(copy, { recursive: true, force: true });
  const found: unknown = JSON.parse(end.stdout);
  return typeof found === 'string' ? found : null;
}

test('every change can be made', async () => {
  for (const { file, from } of SOURCE_MUTANTS)
    // oxlint-disable-next-line no-await-in-loop -- a few dozen small files
    expect(await readFile(join(root, 'src', file), 'utf8'), `${file} holds no ${from}`).toContain(from);
  expect(SOURCE_MUTANTS.length).toBeGreaterThanOrEqual(60);
});

test('a simulation finds what is changed in the source', { timeout: 3_600_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-simulated-'));
  const survivors: number[] = [];
  try {
    for (const [n, mutant] of SOURCE_MUTANTS.entries()) {
      if (!isTried(n)) continue;
      // oxlint-disable-next-line no-await-in-loop -- each takes a core
      const found = await foundIn(folder, mutant, n);
      if (SOAKING) console.log(`${n} ${found ?? 'SURVIVES'}   (${mutant.file}: ${mutant.from.split('\n')[0] ?? ''})`);
      if (found === null) survivors.push(n);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  expect(survivors).toEqual(SURVIVORS.filter(isTried));
});
