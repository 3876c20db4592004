/**
 * Waits for one promise after the other until the signal is aborted; then gives null, at once. A race with a promise that
 * lives as long as the signal would do the same, and hold on to something of every promise that was waited for.
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
