import type { RecordLine } from '../format/record.ts';
import { lineNumber } from '../format/recording.ts';
import type { JournalStore } from './run-journal.ts';

/** A record and its place: the number of its line in a file. 1 is the head. */
export interface NumberedLine {
  readonly number: number;
  readonly line: RecordLine;
}

/** How a run is followed. */
export interface FollowOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Milliseconds between two looks at a store that reports nothing by itself. Default 200. */
  readonly everyMs?: number;
}

/**
 * The records of a run as they are written, in whatever process: first all that are there, then batch by batch. Ends behind the
 * run's end, when the signal aborts, and at once where there is no such run.
 *
 * @example for await (const lines of followRun(journal, runId, { signal })) for (const { line } of lines) player.feed(line);
 */
export async function* followRun(
  store: Pick<JournalStore, 'read' | 'revision'>,
  runId: string,
  { signal, everyMs = 200 }: FollowOptions,
): AsyncGenerator<readonly NumberedLine[]> {
  let given = 0;
  let seen: string | null = null;
  while (!signal.aborted) {
    const revision = (await store.revision?.(runId)) ?? null;
    if (revision !== null && revision === seen) {
      await pause(everyMs, signal);
      continue;
    }
    seen = revision;
    const recording = (await store.read?.(runId)) ?? null;
    if (recording === null) return;
    const all: readonly NumberedLine[] = [
      { number: 1, line: recording.head },
      ...recording.lines.map((line, index) => ({ number: lineNumber(recording, index), line })),
    ];
    const fresh = all.slice(given);
    given = all.length;
    if (fresh.length > 0) yield fresh;
    if (fresh.some(({ line }) => line.t === 'end')) return;
    await pause(everyMs, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener('abort', over);
    if (signal.aborted) over();
  });
}
