import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileJournal, singleFileJournal } from '../journal/file.ts';
import { memoryJournal } from '../journal/memory.ts';
import type { JournalStore } from '../journal/run-journal.ts';
import { UsageError } from './command.ts';

/** Where runs are recorded, and the file of one run; null where none can be written. */
export interface ChosenJournal {
  readonly journal: JournalStore;
  fileOf(runId: string): string | null;
}

/** Below the current folder. */
const RUNS = join('.signalbox', 'runs');

/**
 * Chooses where runs are recorded: the file that was named, else `.signalbox/runs`. A folder that cannot be written to is
 * no reason not to run: then memory has to do. Throws a {@link UsageError} for a named file that cannot be written.
 */
export function chooseJournal(file: string | undefined): ChosenJournal {
  if (file !== undefined) {
    checkWritable(file);
    return { journal: singleFileJournal(file), fileOf: () => file };
  }
  try {
    mkdirSync(RUNS, { recursive: true });
    accessSync(RUNS, constants.W_OK);
  } catch {
    return { journal: memoryJournal(), fileOf: () => null };
  }
  return { journal: fileJournal(RUNS), fileOf: (runId) => join(RUNS, `${runId}.jsonl`) };
}

function checkWritable(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there?.isDirectory() === true) throw new UsageError(`--record: '${file}' is a folder. Name a file.`);
  try {
    accessSync(there === undefined ? dirname(file) : file, constants.W_OK);
  } catch {
    throw new UsageError(`--record: '${file}' cannot be written. Is there such a folder, and may you write there?`);
  }
}
