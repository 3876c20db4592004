import { EXIT_CODE } from './command.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What asks the process to stop: Ctrl-C, or the system. */
export type StopSignal = (typeof SIGNALS)[number];

type Handler = (signal: StopSignal) => void;

/** The signals that ask a command to stop, given to one handler at a time. */
export type Interrupts = ReturnType<typeof takeInterrupts>;

/** Ends the process at a signal, at once, until the returned function is called. For commands that have nothing to tidy up. */
export function endAtSignals(): () => void {
  const stop = (): never => process.exit(EXIT_CODE.cancelled);
  for (const signal of SIGNALS) process.once(signal, stop);
  return () => {
    for (const signal of SIGNALS) process.off(signal, stop);
  };
}

/** Takes the signals over for as long as a command lasts, so that it always ends in its own way. */
export function takeInterrupts() {
  let current: Handler | null = null;
  let waiting: StopSignal | null = null;
  let over = false;
  const hear = (name: NodeJS.Signals): void => {
    const signal = SIGNALS.find((known) => known === name);
    if (over || signal === undefined) process.exit(EXIT_CODE.cancelled);
    else if (current === null) waiting = signal;
    else current(signal);
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return {
    /** Gives the signals to this handler until the returned function is called. One that came before it is not lost. */
    handle(handler: Handler): () => void {
      current = handler;
      const missed = waiting;
      waiting = null;
      // Later, when the handler is ready for it.
      if (missed !== null) queueMicrotask(() => hear(missed));
      return () => {
        if (current === handler) current = null;
      };
    },
    /** For a Ctrl-C that came as a key, because a reader takes the terminal key by key. */
    interrupt: (): void => hear('SIGINT'),
    /** From now on a signal ends the process at once: the command is over but for its tidying up. */
    release(): void {
      over = true;
    },
  };
}
