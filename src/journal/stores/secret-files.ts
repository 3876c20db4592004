import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { addTo, ifThere, makeFolder, textIn } from '../../security/folders.ts';
import type { RunSecrets } from '../run/run-journal.ts';

/** The secrets of runs in files of one folder, and how a run's are forgotten. */
export interface SecretFiles extends RunSecrets {
  remove(runId: string): void;
  /**
   * Removes the secrets of runs that are over or do not exist: their process died before it could. Those of a run that
   * is just beginning are left.
   */
  sweep(isOver: (runId: string) => boolean): void;
}

/** A run's secrets are kept a moment before the run itself. */
const YOUNG_MS = 60_000;
const EXTENSION = '.vault';

/**
 * Keeps the secrets of each run in a file that its owner alone may read, `<dir>/<runId>.vault`: JSON lines of marks and
 * their secrets, appended. No command exports it.
 */
export function secretFiles(dir: string): SecretFiles {
  // A recording that others have written may have any id.
  const fileOf = (runId: string): string => join(dir, encodeURIComponent(runId.toWellFormed()) + EXTENSION);
  return {
    keep: (runId, secrets) => {
      makeFolder(dir, 0o700);
      // Begins with a line's end: a crash, or a full disk, may have torn what is there.
      addTo(fileOf(runId), `\n${JSON.stringify(secrets)}\n`);
    },
    read: (runId) => readSecrets(fileOf(runId)),
    remove: (runId) => {
      // Most runs have none, and a look costs less than a removal.
      const file = fileOf(runId);
      if (statSync(file, { throwIfNoEntry: false }) !== undefined) rmSync(file, { force: true });
    },
    sweep: (isOver) => {
      for (const name of namesIn(dir)) {
        const file = join(dir, name);
        try {
          const at = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
          if (
            Date.now() - at > YOUNG_MS &&
            isVault(file) &&
            isOver(decodeURIComponent(name.slice(0, -EXTENSION.length)))
          )
            rmSync(file, { force: true });
        } catch {
          // No run may fail because of what else is in the folder. The next process tries again.
        }
      }
    },
  };
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith(EXTENSION));
  } catch {
    return []; // There is no such folder, or something else has its name.
  }
}

/** Whether it holds secrets of a run: a file of someone else may have such a name. */
function isVault(path: string): boolean {
  const [mark] = Object.keys(readSecrets(path));
  return mark?.startsWith('«secret:') === true;
}

function readSecrets(path: string): Readonly<Record<string, string>> {
  return Object.assign({}, ...(ifThere(() => textIn(path)) ?? '').split('\n').map(secretsOf));
}

/** A line that a crash has torn holds nothing that was promised to be kept. */
function secretsOf(line: string): Readonly<Record<string, string>> {
  const value = parsedText(line);
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
