const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What asks the process to stop. */
export type StopSignal = (typeof SIGNALS)[number];

/**
 * Calls the listener when the user presses Ctrl-C, or the system asks the process to end, until the returned function is
 * called. While it listens the process does not end by itself.
 */
export function onInterrupt(listener: (signal: StopSignal) => void): () => void {
  const hear = (signal: NodeJS.Signals): void => {
    const known = SIGNALS.find((name) => name === signal);
    if (known !== undefined) listener(known);
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return () => {
    for (const signal of SIGNALS) process.off(signal, hear);
  };
}
