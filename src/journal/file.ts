import { closeSync, fdatasync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Sink, liveJournal } from './live.ts';
import type { JournalStore } from './run-journal.ts';

/** Where and how durably {@link fileJournal} writes. */
export interface FileJournalOptions {
  /** `process` (default): what is written survives a crash of the process. `power`: also one of the machine. */
  readonly durability?: 'process' | 'power';
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const sync = promisify(fdatasync);

/**
 * Keeps each run as a file of JSON lines, `<dir>/<runId>.jsonl`, appended while the run goes on. Opening a run whose file
 * exists already is refused. The folder is made when the first run begins.
 *
 * @example createAgent({ journal: fileJournal('.signalbox/runs') })
 */
export function fileJournal(dir: string, options: FileJournalOptions = {}): JournalStore {
  return {
    open: (run) => {
      const { runId } = run.head;
      if (!RUN_ID.test(runId))
        throw new TypeError(
          `The run id ${JSON.stringify(runId)} cannot name a file. Use letters, digits, dots, dashes and underscores.`,
        );
      mkdirSync(dir, { recursive: true });
      return liveJournal(run, fileSink(join(dir, `${runId}.jsonl`), 'wx', options.durability ?? 'process'));
    },
  };
}

/** Keeps one run in the file at `path`, which is made anew. */
export function singleFileJournal(path: string): JournalStore {
  return { open: (run) => liveJournal(run, fileSink(path, 'w', 'process')) };
}

function fileSink(path: string, flags: 'w' | 'wx', durability: 'process' | 'power'): Sink {
  const file = openSync(path, flags, 0o600);
  return {
    append: (records) => {
      writeSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      return durability === 'power' ? sync(file) : undefined;
    },
    close: () => closeSync(file),
  };
}
