import { liveJournal } from './live.ts';
import type { JournalStore } from './run-journal.ts';

/** Keeps runs in memory only: `run.recording()` gives what there is. The library's default. */
export function memoryJournal(): JournalStore {
  return { open: (run) => liveJournal(run, null) };
}
