import { emitKeypressEvents } from 'node:readline';
import { ReadStream } from 'node:tty';

/** Where keys come from: `process.stdin`, or a stream that declares itself a terminal. */
export interface TerminalInput extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  readonly isRaw?: boolean;
  readonly readableFlowing?: boolean | null;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
  setRawMode?(mode: boolean): unknown;
}

/** Where questions are shown: `process.stderr`, or a stream that knows the size of its screen and reports changes. */
export interface TerminalOutput extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
}

/** How much fits on a screen. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** A terminal, and the last key that it gave. */
export interface PromptTerminal {
  readonly input: TerminalInput;
  readonly output: TerminalOutput;
  /** Enter may be one sign or two; the second belongs to the answer before. */
  lastKey: string;
}

/** How long to throw keys away that were typed before the question, in milliseconds: one look into the terminal's buffer. */
const SETTLE_MS = 50;

/** Takes keys one by one and unechoed, until the returned function puts everything back. */
export function holdKeys(input: TerminalInput): () => void {
  const wasRaw = input.isRaw === true;
  const wasFlowing = input.readableFlowing === true;
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.resume();
  return () => {
    input.setRawMode?.(wasRaw);
    if (!wasFlowing) input.pause();
  };
}

/** Calls `show` when what was typed before has been taken from a real terminal; the returned function calls it off. */
export function onceSettled(input: TerminalInput, show: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  if (!(input instanceof ReadStream)) {
    show();
    return () => undefined;
  }
  // The immediate comes after one more look into the buffer, however late the timer is.
  const timer = setTimeout(() => (immediate = setImmediate(show)), SETTLE_MS);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

/** A question that no one sees must not be answered: `null` if neither output is a terminal. */
export function visibleOutput(): TerminalOutput | null {
  return [process.stderr, process.stdout].find(({ isTTY }) => isTTY) ?? null;
}

/** If the size is unknown, or a terminal reports 0: what fits nearly everywhere. */
const UNKNOWN: ScreenSize = { columns: 40, rows: 24 };

/** The size of the screen as it is now. */
export function screenSize({ columns, rows }: TerminalOutput): ScreenSize {
  return { columns: columns || UNKNOWN.columns, rows: rows || UNKNOWN.rows };
}

interface Waiting {
  readonly terminal: PromptTerminal;
  /** Asks, and calls `next` when it has an answer. */
  readonly begin: (next: () => void) => void;
}

/** One queue per terminal, for all that ask: two prompts at once could not be distinguished. */
const queues = new WeakMap<TerminalInput, Waiting[]>();

/** Whether the terminal is in use for a question. */
export function isAsking(input: TerminalInput): boolean {
  return (queues.get(input)?.length ?? 0) > 0;
}

/**
 * Lets a caller ask when the terminal is free, and resolves with the result of `ask`. While it waits for its turn, an
 * aborted `signal` removes it from the queue with the answer `otherwise`; from then on `ask` handles the signal.
 */
export function inTurn<T>(
  terminal: PromptTerminal,
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

/** Continues at once, within the same key: what follows that key was typed when the next question was already there. */
function beginFirst(queue: Waiting[]): void {
  const [first] = queue;
  first?.begin(() => {
    const [next] = queue;
    if (next !== undefined) next.terminal.lastKey = first.terminal.lastKey;
    beginFirst(queue);
  });
}
