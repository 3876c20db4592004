import type { Terminal, TerminalInput } from './terminal.ts';

interface Waiting {
  readonly terminal: Terminal;
  /** Asks, and calls `next` when it has an answer. */
  readonly begin: (next: () => void) => void;
}

/** One queue a terminal, whoever asks: two prompts at once could not be told apart. */
const queues = new WeakMap<TerminalInput, Waiting[]>();

/**
 * Lets somebody ask when the terminal is free, and gives what `ask` says that it is done with. While it waits for its
 * turn, an aborted `signal` takes it out of the queue with the answer `otherwise`; from then on `ask` minds the signal.
 */
export function inTurn<T>(
  terminal: Terminal,
  { signal, otherwise }: { readonly signal: AbortSignal | undefined; readonly otherwise: T },
  ask: (done: (answer: T) => void) => void,
): Promise<T> {
  const queue = queues.get(terminal.input) ?? [];
  queues.set(terminal.input, queue);
  return new Promise((resolve) => {
    const settle = (answer: T): void => {
      signal?.removeEventListener('abort', leave);
      resolve(answer);
    };
    const begin: Waiting['begin'] = (next) =>
      ask((answer) => {
        queue.shift();
        settle(answer);
        next();
      });
    const waiting: Waiting = { terminal, begin };
    const leave = (): void => {
      const place = queue.indexOf(waiting);
      if (place > 0) queue.splice(place, 1);
      if (place > 0) settle(otherwise);
    };
    signal?.addEventListener('abort', leave);
    queue.push(waiting);
    if (queue.length === 1) beginFirst(queue);
  });
}

/** Goes on at once, within the same key: what follows that key was typed when the next question was already there. */
function beginFirst(queue: Waiting[]): void {
  const [first] = queue;
  first?.begin(() => {
    const [next] = queue;
    if (next !== undefined) next.terminal.lastKey = first.terminal.lastKey;
    beginFirst(queue);
  });
}
