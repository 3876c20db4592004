import { closeSync, existsSync, openSync, readSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../tools/system-code.ts';
import { endsIn } from './file-summary.ts';
import { JournalError } from './journal-error.ts';
import { type RunLock, isLocked, takeRunLock } from './run-lock.ts';
import { type SecretFiles, secretFiles } from './secret-files.ts';

/** The files of the runs in one folder: `<runId>.jsonl`, and beside it `.lock` and `.vault` while it lasts. */
export interface RunFiles {
  readonly dir: string;
  readonly secrets: SecretFiles;
  pathOf(runId: string): string;
  /** The ids of all runs there are. */
  ids(): readonly string[];
  /** Throws a `JournalError` (`run-locked`) while somebody else has it. */
  lock(runId: string): RunLock;
  isLocked(runId: string): boolean;
  isThere(runId: string): boolean;
  /** Whether the run has ended, as far as the last line of its file tells. */
  hasEnded(runId: string): boolean;
  /** Removes all that is left of a run. Throws as `lock` does; false when there is none. */
  remove(runId: string): boolean;
}

const EXTENSION = '.jsonl';
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The files of the runs in a folder, which need not exist yet. Throws a `TypeError` for ids that can name no file. */
export function runFiles(dir: string): RunFiles {
  const named = (runId: string, extension: string): string => {
    if (!RUN_ID.test(runId))
      throw new TypeError(
        `The run id ${JSON.stringify(runId)} cannot name a file. Use letters, digits, dots, dashes and underscores.`,
      );
    return join(dir, runId + extension);
  };
  const pathOf = (runId: string): string => named(runId, EXTENSION);
  const lock = (runId: string): RunLock => {
    const taken = takeRunLock(named(runId, '.lock'));
    if (taken === null) throw new JournalError('run-locked', runId, dir);
    return taken;
  };
  const secrets = secretFiles(dir);
  // Whoever prunes asks again and again, and what has ended stays so.
  const ended = new Set<string>();
  return {
    dir,
    secrets,
    pathOf,
    lock,
    isThere: (runId) => existsSync(pathOf(runId)),
    isLocked: (runId) => isLocked(named(runId, '.lock')),
    hasEnded: (runId) => {
      if (!ended.has(runId) && endsIn(tailOf(pathOf(runId)))) ended.add(runId);
      return ended.has(runId);
    },
    ids: () =>
      entriesOf(dir)
        .filter((name) => name.endsWith(EXTENSION))
        .map((name) => name.slice(0, -EXTENSION.length))
        .filter((runId) => RUN_ID.test(runId)),
    remove: (runId) => {
      const path = pathOf(runId);
      if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
      const held = lock(runId);
      try {
        for (const name of [path, `${path}.damaged`]) rmSync(name, { force: true });
        secrets.remove(runId);
        ended.delete(runId);
      } finally {
        held.release();
      }
      return true;
    },
  };
}

function entriesOf(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** More than the last line of a run that has ended is long, or all that there is. */
const TAIL = 65_536;

function tailOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const size = statSync(path).size;
    const tail = Buffer.alloc(Math.min(size, TAIL));
    return tail.subarray(0, readSync(file, tail, 0, tail.length, size - tail.length));
  } finally {
    closeSync(file);
  }
}
