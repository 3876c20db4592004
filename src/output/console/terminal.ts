import { isHeld, writeWhenFree } from '../../terminal/held-writes.ts';

/** Where console output is written: `process.stderr`, or anything with a `write`. */
export interface OutputStream {
  write(text: string, written?: (error?: Error | null) => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Streams of Node report a failed write as an event too, which would end the process if there were no listener. */
  once?(event: 'error', listener: () => void): unknown;
  listenerCount?(event: 'error'): number;
}

/** What the console knows of the place it writes to. */
export type Terminal = ReturnType<typeof openTerminal>;

type Environment = Readonly<Record<string, string | undefined>>;

const MAX_COLUMNS = 100;

/** Looks at a stream and the environment: terminal or not, colours or not. A stream that has gone is written to no more. */
export function openTerminal(stream: OutputStream | undefined, color?: boolean, env: Environment = process.env) {
  const tty = stream?.isTTY === true;
  const live = tty && env['TERM'] !== 'dumb';
  let gone = false;
  const send = (to: OutputStream, text: string): void => {
    if (gone) return;
    to.write(text, (error) => {
      if (error === undefined || error === null) return;
      gone = true;
      if (to.listenerCount?.('error') === 0) to.once?.('error', () => undefined);
    });
  };
  return {
    /** A terminal that can redraw its last line. */
    live,
    color: color ?? wantsColor(env, live),
    /** Columns for text; not limited where there is no terminal. */
    columns: (): number => (tty ? readColumns(stream.columns) : Number.POSITIVE_INFINITY),
    /** A prompt stands there, and what is written waits for its answer. */
    isHeld: (): boolean => stream !== undefined && isHeld(stream),
    write(text: string): void {
      if (stream !== undefined) writeWhenFree(stream, () => send(stream, text));
    },
  };
}

/** A terminal that does not know its width reports 0. */
function readColumns(columns: number | undefined): number {
  if (columns === undefined || columns === 0) return 80;
  return Math.min(Math.max(columns, 20), MAX_COLUMNS);
}

/** FORCE_COLOR beats NO_COLOR, and both beat what the terminal can do; as in Node itself. */
function wantsColor(env: Environment, live: boolean): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  const none = env['NO_COLOR'];
  return none !== undefined && none !== '' ? false : live;
}
