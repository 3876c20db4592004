import type { RunEvent } from '../../machines/events/run-events.ts';

/** The events of one run, kept for late readers. */
export interface EventLog {
  push(event: RunEvent): void;
  /** No more will come; `error` ends the iteration of every reader with it. */
  close(error?: Error): void;
  /** All events from the first on, as they come. */
  read(): AsyncIterator<RunEvent, undefined>;
}

const KEPT = 10_000;

interface Kept {
  /** Counts all events that ever came, so that a reader finds its place again after some were dropped. */
  readonly place: number;
  readonly event: RunEvent;
}

/** Keeps up to 10 000 events (a tenth more while the run lives); when there are more, old tokens go first, then the oldest. */
export function eventLog(): EventLog {
  let kept: Kept[] = [];
  let count = 0;
  let closed = false;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  return {
    push: (event) => {
      kept.push({ place: count++, event });
      if (kept.length > KEPT + KEPT / 10) kept = withRoom(kept);
      wake();
    },
    close: (error) => {
      if (kept.length > KEPT) kept = withRoom(kept);
      closed = true;
      failure = error;
      wake();
    },
    read: () => {
      let place = 0;
      const next = async (): Promise<IteratorResult<RunEvent, undefined>> => {
        for (;;) {
          const found = kept[indexFrom(kept, place)];
          if (found !== undefined) {
            place = found.place + 1;
            return { done: false, value: found.event };
          }
          if (failure !== undefined) throw failure;
          if (closed) return { done: true, value: undefined };
          await new Promise<void>((resolve) => waiting.add(resolve));
        }
      };
      return { next, return: () => Promise.resolve({ done: true, value: undefined }) };
    },
  };
}

function withRoom(kept: readonly Kept[]): Kept[] {
  let excess = kept.length - KEPT;
  const left = kept.filter(({ event }) => event.type !== 'model.token' || excess-- <= 0);
  return left.slice(Math.max(0, left.length - KEPT));
}

/** The first index whose event has this position or a later one. */
function indexFrom(kept: readonly Kept[], place: number): number {
  let low = 0;
  let high = kept.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((kept[middle]?.place ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
