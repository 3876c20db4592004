import type { RunEvent } from '../machines/run-events.ts';

/** The events of one run, kept for late readers. */
export interface EventLog {
  push(event: RunEvent): void;
  /** No more will come; `error` ends the iteration of every reader with it. */
  close(error?: Error): void;
  /** All events from the first on, as they come. */
  read(): AsyncIterator<RunEvent, undefined>;
  readonly seq: number;
}

const KEPT = 10_000;

/** Keeps up to 10 000 events; when there are more, tokens go first, then the oldest. */
export function eventLog(): EventLog {
  let kept: (RunEvent | undefined)[] = [];
  let dropped = 0;
  let seq = 0;
  let closed = false;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  const makeRoom = (): void => {
    const kinds = kept.some((event) => event?.type === 'model.token');
    if (kinds) kept = kept.map((event) => (event?.type === 'model.token' ? undefined : event));
    let empty = 0;
    while (empty < kept.length && (kept[empty] === undefined || kept.length - empty > KEPT)) empty++;
    kept.splice(0, empty);
    dropped += empty;
  };

  return {
    get seq() {
      return seq;
    },
    push: (event) => {
      seq = event.seq;
      kept.push(event);
      if (kept.length > KEPT + KEPT / 10) makeRoom();
      wake();
    },
    close: (error) => {
      closed = true;
      failure = error;
      wake();
    },
    read: () => {
      let at = 0;
      const next = async (): Promise<IteratorResult<RunEvent, undefined>> => {
        for (;;) {
          at = Math.max(at, dropped);
          while (at - dropped < kept.length) {
            const event = kept[at++ - dropped];
            if (event !== undefined) return { done: false, value: event };
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
