import { emitKeypressEvents } from 'node:readline';
import { ReadStream } from 'node:tty';

/** Where keys come from: `process.stdin`, or a stream that says that it is a terminal. */
export interface TerminalInput extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  readonly isRaw?: boolean;
  readonly readableFlowing?: boolean | null;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
  setRawMode?(mode: boolean): unknown;
}

/** Where questions are shown: `process.stderr`, or a stream that knows how large its screen is and says when that changes. */
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
export interface Terminal {
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

/** A question that nobody sees must not be answered: `null` when neither output is a terminal. */
export function visibleOutput(): TerminalOutput | null {
  return [process.stderr, process.stdout].find(({ isTTY }) => isTTY) ?? null;
}

/** Where nobody knows the size, or a terminal says 0: what fits nearly everywhere. */
const UNKNOWN: ScreenSize = { columns: 40, rows: 24 };

/** The size of the screen as it is now. */
export function screenSize({ columns, rows }: TerminalOutput): ScreenSize {
  return { columns: columns || UNKNOWN.columns, rows: rows || UNKNOWN.rows };
}
