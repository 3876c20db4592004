/**
 * Lets all that ask for a flush while one is under way share the next: asked a hundred times at once, it flushes twice.
 * The promise resolves when everything that was written before it was asked for is flushed.
 */
export function groupCommit(flush: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  const start = (): Promise<void> => {
    running = flush().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(nothing, nothing).then(() => {
      next = null;
      return start();
    });
    return next;
  };
}

const nothing = (): void => undefined;
