import { RecordingError } from './journal-error.ts';
import { type Recording, readRecording } from './recording.ts';

/** The lines of a run in a database, and the number of records according to its row. */
export interface StoredLines {
  readonly lines: readonly string[];
  readonly records: number;
}

/** The rows up to a gap in their numbers: what comes after it is useless, and its absence shows in the number of records. */
export function withoutGap<T extends { readonly n?: unknown }>(rows: readonly T[]): readonly T[] {
  const gap = rows.findIndex(({ n }, index) => Number(n) !== index + 1);
  return gap === -1 ? rows : rows.slice(0, gap);
}

/**
 * Reads a run of a database, which is never torn. `unsummed`: how many records one has whose lines have no checksums. Throws a
 * `RecordingError` for one that was damaged.
 */
export function readStored(stored: StoredLines, runId: string, unsummed = 0): Recording {
  const recording = readRecording(stored.lines, { torn: false });
  if (recording.head.runId !== runId)
    throw new RecordingError(1, `is that of ${recording.head.runId}, not of ${runId}.`);
  if ((recording.sums ?? unsummed) < stored.records) throw tooShort(stored);
  return recording;
}

/** The row of a run says that it has more records than there are. */
export function tooShort({ lines, records }: StoredLines): RecordingError {
  return new RecordingError(
    lines.length + 1,
    `is missing: it should have ${records} records. The database is damaged.`,
  );
}
