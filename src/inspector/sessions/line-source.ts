import type { RecordLine } from '../../journal/format/record.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Move } from '../../machines/events/transition-log.ts';

/** Who watches a run while it goes on. Called synchronously; what it throws is ignored. */
export interface RunWatcher {
  /** There is another line to be read. */
  onLine(): void;
  onMove(move: Move): void;
  onEvent(event: RunEvent): void;
}

/** Where the lines of a recording come from: a run that goes on, or a file. */
export interface LineSource {
  /** Reads the lines from the first on, null when there are no more yet. */
  reader(): () => RecordLine | null;
  /**
   * Begins to watch; gives back how to stop. A source that knows only lines calls nothing but `onLine`, and `moves` is
   * false: the lines must be played back to see what happened.
   */
  watch(watcher: RunWatcher): () => void;
  readonly moves: boolean;
}
