/** A time limit on some work: a signal that aborts when it is over or its owner's aborts, and a promise that rejects then. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Rejects when the time is over; never when the owner's signal aborts. */
  readonly passed: Promise<never>;
  clear(): void;
}

/** The longest time that a timer takes, in milliseconds. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Starts the clock; null means no limit. `late` makes the error that `passed` rejects with; call `clear` when the work
 * is done. (It listens to the owner's signal directly: `AbortSignal.any` would cost a tenth of a tool call.)
 */
export function deadline(ms: number | null, owner: AbortSignal, late: () => Error): Deadline {
  let controller: AbortController | undefined;
  let over: { readonly reason: unknown } | undefined;
  const abort = (reason: unknown): void => {
    over ??= { reason };
    controller?.abort(reason);
  };
  const follow = (): void => {
    // Work that is no longer awaited has no limit: a timer would keep the process alive.
    clearTimeout(timer);
    abort(owner.reason);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<never>((_resolve, reject) => {
    const end = (): void => {
      const error = late();
      abort(error);
      reject(error);
    };
    if (ms !== null) timer = setTimeout(end, Math.min(ms, LONGEST_TIMEOUT));
  });
  if (owner.aborted) follow();
  else owner.addEventListener('abort', follow, { once: true });
  const clear = (): void => {
    clearTimeout(timer);
    owner.removeEventListener('abort', follow);
  };
  return {
    /** Made when it is first asked for: few tools do. */
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (over !== undefined) controller.abort(over.reason);
      }
      return controller.signal;
    },
    passed,
    clear,
  };
}

/** Waits for work until its time is over, then rejects with what `late` makes. The work gets the limit, for its signal. */
export async function withinLimit<T>(
  ms: number,
  owner: AbortSignal,
  late: () => Error,
  work: (limit: Deadline) => T | Promise<T>,
): Promise<T> {
  const limit = deadline(ms, owner, late);
  try {
    return await Promise.race([work(limit), limit.passed]);
  } finally {
    limit.clear();
  }
}
