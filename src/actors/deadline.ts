/** The longest time that a timer takes, in milliseconds. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** Calls `fn` after any time, unless the signal aborts before. Node fires longer delays at once, so they are chained. */
export function startTimer(ms: number, signal: AbortSignal, fn: () => void): void {
  let left = ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (): void => {
    const part = Math.min(left, LONGEST_TIMEOUT);
    left -= part;
    timer = setTimeout(() => (left > 0 ? arm() : fn()), part);
  };
  arm();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

/** A timer that is later than this shows that the process was busy, or stopped. */
const LATE_MS = 20;

/**
 * Calls `fn` when a time limit is over, unless what it returns is called before. After a time in which the process was busy
 * or stopped, what has arrived meanwhile is read first.
 */
export function afterLimit(ms: number, fn: () => void): () => void {
  const due = performance.now() + ms;
  let timer = setTimeout(
    () => {
      if (performance.now() - due < LATE_MS) fn();
      else timer = setTimeout(fn);
    },
    Math.min(ms, LONGEST_TIMEOUT),
  );
  return () => clearTimeout(timer);
}

/** The part of a clock that a wait needs. */
interface Timers {
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

/** Waits for the work, if there is some, but no longer than this, nor once the signal has aborted. */
export async function waitAtMost(
  ms: number,
  signal: AbortSignal | undefined,
  work?: Promise<unknown>,
  clock?: Timers,
): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  const timer = clock?.setTimeout(stop, ms);
  const cancel = clock === undefined ? afterLimit(ms, stop) : (): void => clock.clearTimeout(timer);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  try {
    await Promise.race([work ?? over, over]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', stop);
  }
}

/**
 * A time limit on some work: a signal that aborts when it is over or its owner's aborts, and a promise that rejects then. Null
 * means no limit. `late` makes the error that `passed` rejects with; call `clear` when the work is done. (It listens to the
 * owner's signal directly: `AbortSignal.any` would cost a tenth of a tool call.)
 */
export class Deadline {
  /** Rejects when the time is over; never when the owner's signal aborts. */
  readonly passed: Promise<never>;
  readonly #owner: AbortSignal;
  #controller: AbortController | undefined;
  #over: { readonly reason: unknown } | undefined;
  #stop: (() => void) | undefined;

  constructor(ms: number | null, owner: AbortSignal, late: () => Error) {
    this.#owner = owner;
    this.passed = new Promise<never>((_resolve, reject) => {
      const end = (): void => {
        const error = late();
        this.#abort(error);
        reject(error);
      };
      if (ms !== null) this.#stop = afterLimit(ms, end);
    });
    if (owner.aborted) this.#follow();
    else owner.addEventListener('abort', this.#follow, { once: true });
  }

  /** Made when it is first asked for: few tools do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#over !== undefined) this.#controller.abort(this.#over.reason);
    }
    return this.#controller.signal;
  }

  clear(): void {
    this.#stop?.();
    this.#owner.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => {
    // Work that is no longer awaited has no limit: a timer would keep the process alive.
    this.#stop?.();
    this.#abort(this.#owner.reason);
  };

  #abort(reason: unknown): void {
    this.#over ??= { reason };
    this.#controller?.abort(reason);
  }
}

/** Waits for work until its time is over, then rejects with what `late` makes. The work gets the limit, for its signal. */
export async function withinLimit<T>(
  ms: number,
  owner: AbortSignal,
  late: () => Error,
  work: (limit: Deadline) => T | Promise<T>,
): Promise<T> {
  const limit = new Deadline(ms, owner, late);
  try {
    return await Promise.race([work(limit), limit.passed]);
  } finally {
    limit.clear();
  }
}
