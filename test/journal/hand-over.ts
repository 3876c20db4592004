import type { RecordLine, RunRecord } from '../../src/journal/format/record.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';

/** Leaves a run in a store as a process does that is gone behind these records. */
export async function handOver(store: JournalStore, head: RunRecord, lines: readonly RecordLine[]): Promise<void> {
  const carried = { at: 0, records: [head, ...lines], write: () => null, open: [], overdue: [] };
  const journal = store.open({ head, accepts: () => false, carried });
  journal.release?.();
  await journal.abandon?.();
}
