import { accessSync, constants, statSync } from 'node:fs';
import { dirname, join, parse } from 'node:path';
import { fileJournal, singleFileJournal } from '../../journal/stores/file.ts';
import { memoryJournal } from '../../journal/stores/memory.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { makeFolder } from '../../security/folders.ts';
import { UsageError } from '../command.ts';

/** Where runs are recorded: in memory alone, or in files, of which `fileOf` names that of a run. */
export type ChosenJournal =
  | { readonly kind: 'memory'; readonly journal: JournalStore }
  | { readonly kind: 'files'; readonly journal: JournalStore; fileOf(runId: string): string | undefined };

/** Below the current folder. */
const RUNS = join('.signalbox', 'runs');

/**
 * Chooses where runs are recorded: the file that was named, else `.signalbox/runs`. A folder that cannot be written to is
 * no reason not to run: then memory has to do. Throws a {@link UsageError} for a named file that cannot be written.
 */
export function chooseJournal(file: string | undefined): ChosenJournal {
  if (file !== undefined) {
    checkWritable(file);
    return namedFiles(file);
  }
  try {
    makeFolder(RUNS);
    accessSync(RUNS, constants.W_OK);
  } catch {
    return { kind: 'memory', journal: memoryJournal() };
  }
  return { kind: 'files', journal: fileJournal(RUNS), fileOf: (runId) => join(RUNS, `${runId}.jsonl`) };
}

/** The first run goes into the file itself, those that follow into numbered ones beside it: `run.jsonl`, `run-2.jsonl`. */
function namedFiles(file: string): ChosenJournal {
  const { dir, name, ext } = parse(file);
  const files = new Map<string, string>();
  const journal: JournalStore = {
    open(run) {
      const path = files.size === 0 ? file : join(dir, `${name}-${files.size + 1}${ext}`);
      const opened = singleFileJournal(path).open(run);
      files.set(run.head.runId, path);
      return opened;
    },
  };
  return { kind: 'files', journal, fileOf: (runId) => files.get(runId) };
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
