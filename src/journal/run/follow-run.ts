import type { RecordLine } from '../format/record.ts';
import { lineNumber } from '../format/recording.ts';
import { onWritten } from './driven-runs.ts';
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
  /** Milliseconds between two looks for what other processes have written, at a store that does not report it. Default 200. */
  readonly everyMs?: number;
  /** The store's state of the run when it was last read to its end; the run is not read again while that is unchanged. */
  readonly seen?: string | null;
  /** Receives the store's state of the run before it is read. */
  readonly onLook?: (revision: string | null) => void;
}

/**
 * The records of a run as they are written, in whatever process: first all existing ones, then batch by batch. Ends
 * after the run's end, when the signal aborts, and at once if there is no such run.
 *
 * @example for await (const lines of followRun(journal, runId, { signal })) for (const { line } of lines) player.feed(line);
 */
export async function* followRun(
  store: Followed,
  runId: string,
  { signal, everyMs = 200, seen: known = null, onLook }: FollowOptions,
): AsyncGenerator<readonly NumberedLine[]> {
  let given = 0;
  let seen = known;
  const changes = new Changes(store, runId, { signal, everyMs });
  try {
    while (!signal.aborted) {
      changes.forget();
      const revision = (await store.revision?.(runId)) ?? null;
      if (revision !== null && revision === seen) {
        await changes.next();
        continue;
      }
      seen = revision;
      onLook?.(revision);
      const began = performance.now();
      const recording = (await store.read?.(runId)) ?? null;
      if (recording === null) return;
      const tookMs = performance.now() - began;
      const all: readonly NumberedLine[] = [
        { number: 1, line: recording.head },
        ...recording.lines.map((line, index) => ({ number: lineNumber(recording, index), line })),
      ];
      const fresh = all.slice(given);
      given = all.length;
      if (fresh.length > 0) yield fresh;
      if (fresh.some(({ line }) => line.t === 'end')) return;
      await changes.next(tookMs);
    }
  } finally {
    changes.stop();
  }
}

/** A store whose runs are followed. */
export type Followed = Pick<JournalStore, 'read' | 'revision' | 'changes'>;

/**
 * How long the records of a run are collected that changes all the time, in milliseconds; four times as long as the last look
 * took if that is longer, as each may read all of them, but not beyond the time between two looks.
 */
const COLLECT_MS = 50;
/** How often a store is looked at that reports changes: what it reports may be lost with a connection. */
const LOOK_MS = 5000;

/** When to look again: when this process has written records, when the store has reported changes, or in a while. */
class Changes {
  readonly #store: Followed;
  readonly #runId: string;
  readonly #options: Required<Pick<FollowOptions, 'signal' | 'everyMs'>>;
  #stop: (() => void) | null = null;
  #isChanged = false;
  #wake: () => void = () => undefined;

  constructor(store: Followed, runId: string, options: Required<Pick<FollowOptions, 'signal' | 'everyMs'>>) {
    this.#store = store;
    this.#runId = runId;
    this.#options = options;
  }

  /** What was reported until now is looked at now. */
  forget(): void {
    this.#isChanged = false;
  }

  /** `tookMs`: how long the last look has taken. */
  async next(tookMs = 0): Promise<void> {
    const { everyMs, signal } = this.#options;
    if (this.#stop === null) {
      // Only now, and not for a single look. What came before is seen in the next look.
      const changed = (): void => {
        this.#isChanged = true;
        this.#wake();
      };
      this.#stop = this.#store.changes?.(this.#runId, changed) ?? onWritten(this.#runId, changed);
      return undefined;
    }
    const collectMs = Math.min(Math.max(COLLECT_MS, 4 * tookMs), everyMs);
    await this.#pause(collectMs, signal);
    const restMs = this.#store.changes === undefined ? everyMs - collectMs : LOOK_MS;
    if (!this.#isChanged && !signal.aborted) await this.#pause(Math.max(0, restMs), signal, true);
  }

  stop(): void {
    this.#stop?.();
  }

  #pause(ms: number, signal: AbortSignal, orChange = false): Promise<void> {
    return new Promise((resolve) => {
      const over = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', over);
        resolve();
      };
      const timer = setTimeout(over, ms);
      signal.addEventListener('abort', over);
      if (orChange) this.#wake = over;
      if (signal.aborted) over();
    });
  }
}
