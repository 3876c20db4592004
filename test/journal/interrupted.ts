import type { RecordLine } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import type { JournalStore, Sink } from '../../src/journal/run/run-journal.ts';

/** A store with one run in it, which stopped behind so many of its lines; `text` is what the run has grown to. */
export function interruptedAfter(recording: string, lines: number): JournalStore & { readonly text: () => string } {
  const kept = recording.split('\n').slice(0, lines);
  const sink: Sink = {
    append: (records: readonly RecordLine[]) => void kept.push(...records.map((record) => JSON.stringify(record))),
    close: () => undefined,
  };
  return {
    open: () => {
      throw new Error('no run is begun here');
    },
    take: async (runId) => {
      const taken = readRecording(kept);
      return taken.head.runId === runId ? { recording: taken, sink } : null;
    },
    read: async () => readRecording(kept),
    text: () => `${kept.join('\n')}\n`,
  };
}

/** How many lines a recording has. */
export function lineCount(recording: string): number {
  return recording.trimEnd().split('\n').length;
}

/** A recording without what depends on the clock and on being interrupted. */
export function timeless(recording: string): string {
  return recording
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{"t":"restart"'))
    .map((line) => line.replace(/"at":\d+/, '"at":0'))
    .join('\n');
}
