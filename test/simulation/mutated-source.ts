import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SourceMutant } from './mutants.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** A folder that is gone when `work` is done. */
export async function inTemporaryFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-simulated-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a program of `children/` in a copy of the source with one change; gives back what it printed as JSON. */
export async function runMutated(
  folder: string,
  { file, from, to }: SourceMutant,
  { program, args, timeout }: { readonly program: string; readonly args: readonly string[]; readonly timeout: number },
): Promise<unknown> {
  const copy = await mkdtemp(join(folder, 'copy-'));
  await cp(join(ROOT, 'src'), join(copy, 'src'), { recursive: true });
  await cp(import.meta.dirname, join(copy, 'test/simulation'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await cp(join(ROOT, 'package.json'), join(copy, 'package.json'));
  const path = join(copy, 'src', file);
  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace(from, () => to),
  );
  const child = [join(copy, 'test/simulation/children', program), ...args];
  const end = await promisify(execFile)(process.execPath, child, { timeout }).catch((error: unknown) => ({
    stdout: JSON.stringify(`the process ended: ${String(error).split('\n').at(1) ?? ''}`),
  }));
  await rm(copy, { recursive: true, force: true });
  return JSON.parse(end.stdout.trim().split('\n').at(-1) ?? 'null');
}
