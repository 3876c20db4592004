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
      await changes.next();
    }
  } finally {
    changes.stop();
  }
}

/** A store whose runs are followed. */
export type Followed = Pick<JournalStore, 'read' | 'revision' | 'changes'>;

/** How long the records of a run are collected that changes all the time, in milliseconds: each look may read all of them. */
const COLLECT_MS = 50;
/** How often a store is looked at that reports changes: what it reports may be lost with a connection. */
const LOOK_MS = 5000;

/** When to look again: in a while, or where the store reports changes, when it has. */
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

  async next(): Promise<void> {
    const { everyMs, signal } = this.#options;
    if (this.#store.changes === undefined) return this.#pause(everyMs, signal);
    if (this.#stop === null) {
      // Only now, and not for a single look. What came before is seen in the next look.
      this.#stop = this.#store.changes(this.#runId, () => {
        this.#isChanged = true;
        this.#wake();
      });
      return undefined;
    }
    await this.#pause(Math.min(COLLECT_MS, everyMs), signal);
    if (!this.#isChanged && !signal.aborted) await this.#pause(LOOK_MS, signal, true);
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
