/** A time limit on some work: a signal that aborts when it is over, and a promise that rejects then. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: Promise<never>;
  clear(): void;
}

const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Starts the clock. `error` is what `passed` rejects with; call `clear` when the work is done. When `stopped` aborts,
 * nobody waits for the work any more and the clock stops: a timer that is left keeps the process alive.
 */
export function deadline(ms: number, error: Error, stopped: AbortSignal): Deadline {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<never>((_resolve, reject) => {
    const late = (): void => {
      controller.abort(error);
      reject(error);
    };
    timer = setTimeout(late, Math.min(ms, LONGEST_TIMEOUT));
  });
  stopped.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return { signal: controller.signal, passed, clear: () => clearTimeout(timer) };
}
