import type { Run } from './run.ts';

/** Cancels the run when the signal aborts; gives back how to stop listening. */
export function bindSignal(run: Run, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => undefined;
  const cancel = (): void => void run.cancel(signal.reason instanceof Error ? signal.reason.message : '');
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
