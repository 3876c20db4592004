/**
 * Waits for one promise after the other until the signal is aborted; then returns null, at once. A race with a promise
 * that lives as long as the signal would do the same, and hold on to something of every promise that was waited for.
 */
export function abortable(signal: AbortSignal): <T>(promise: Promise<T>) => Promise<T | null> {
  let leave = (): void => undefined;
  signal.addEventListener('abort', () => leave(), { once: true });
  return (promise) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return resolve(null);
      leave = () => resolve(null);
      promise.then(resolve, reject);
    });
}

/** How long the event loop may be held at a time, in milliseconds: an agent may run in it. */
export const SLICE_MS = 8;

/** Repeats a piece of work until it reports that nothing is left, and yields to others in between. */
export async function inSlices(work: () => boolean, stopped: () => boolean): Promise<void> {
  for (;;) {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) if (!work()) return;
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (stopped()) return;
  }
}

/** How many times as long it is then left to others: an agent may run in it. */
const REST = 3;

/**
 * Schedules pieces of work round-robin, in order of arrival. It uses at most a quarter of the time, however much there is
 * to do, and does not keep the process alive. A piece reports whether there is another after it, and never throws.
 */
export function fairTurns(): (piece: () => boolean) => void {
  const waiting = new Set<() => boolean>();
  let planned = false;
  let restUntil = 0;

  const plan = (): void => {
    planned = true;
    // No immediate: one that holds nothing waits in a quiet process until something else happens.
    setTimeout(go, Math.max(0, restUntil - performance.now())).unref();
  };
  const go = (): void => {
    const began = performance.now();
    for (const piece of waiting) {
      waiting.delete(piece);
      if (piece()) waiting.add(piece);
      if (performance.now() - began >= SLICE_MS) break;
    }
    const now = performance.now();
    restUntil = now + REST * (now - began);
    planned = false;
    if (waiting.size > 0) plan();
  };
  return (piece) => {
    waiting.add(piece);
    if (!planned) plan();
  };
}
