import { accessSync, constants, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describeThrown } from '../../json/to-json.ts';
import { escaped } from '../../output/console/escaped.ts';
import { makeFolder } from '../../security/folders.ts';
import { type Arguments, UsageError } from './command.ts';

/**
 * The folder that `--out` names. Throws a {@link UsageError} if nothing can be written there: before the work is done,
 * not after it. The folder that is used without the option is not looked at: mostly there is nothing to write.
 */
export function outFolder({ values }: Arguments, otherwise: string): string {
  const folder = values.get('out');
  if (folder === undefined) return otherwise;
  let there = resolve(folder);
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory()) throw new UsageError(`--out: '${escaped(there)}' is not a folder.`);
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    throw new UsageError(`--out: nothing can be written to '${escaped(there)}'.`);
  }
  return folder;
}

/**
 * Writes what a command has found, and returns the path. Null where that fails, which is said on standard error: what was
 * found is still to be printed.
 */
export function writeFound(folder: string, name: string, text: string): string | null {
  const file = join(folder, name);
  const draft = `${file}.new`;
  try {
    makeFolder(folder);
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, file);
    return file;
  } catch (error) {
    console.error(`signalbox: '${escaped(file)}' could not be written: ${describeThrown(error).message}`);
    if (existsSync(draft)) rmSync(draft);
    return null;
  }
}
