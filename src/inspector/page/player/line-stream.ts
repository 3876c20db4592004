/** The lines of one session on their way from the server. */
export type LineStream = ReturnType<typeof lineStream>;

/** How lines are asked for: `part` of the session's address, from after a line on. */
type AddressOf = (part: 'lines' | 'stream', from: number) => string;

/**
 * Passes on a session's lines, each once and in order; `take` says how many lines of the recording there are now, and is told how
 * much of what there is it has then, from 0 to 1. Those that there are already come in one answer, but for a session that has
 * just begun. A stream that breaks is opened again by the browser and continues where it was.
 */
export function lineStream(at: AddressOf, isNew: boolean, take: (lines: readonly string[], share: number) => number) {
  const source = new SessionSource();
  let last = 0;
  /** What came in that answer, until all of it is taken; how much of it is. */
  let answer: readonly string[] = [];
  let taken = 0;
  const open = (): void => {
    source.open(at('stream', last)).onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === 'string') last = take(data.split('\n'), 1);
    };
  };
  const load = async (stopped: () => boolean): Promise<void> => {
    if (last === 0) {
      take([], 0);
      const response = await fetch(at('lines', 0)).catch(() => null);
      const text = response?.ok === true ? await response.text().catch(() => '') : '';
      if (stopped()) return;
      answer = linesIn(text);
    }
    const takeNext = (lines: readonly string[]): void => {
      taken += lines.length;
      last = take(lines, taken / answer.length);
    };
    if (!(await takeInSlices(answer.slice(taken), takeNext, stopped))) return;
    answer = [];
    taken = 0;
    open();
  };

  return {
    /** Listens, from after the last line that was heard. A session that was heard to its end is left alone. */
    resume: () => {
      if (!source.begin()) return;
      if (answer.length === 0 && (last > 0 || isNew)) open();
      else void load(source.untilPaused());
    },
    /** Closes the connection. */
    pause: () => source.pause(),
  };
}

/** The connection to the stream of one session, which can be paused; what was heard to its end is not asked for again. */
export class SessionSource {
  #source: EventSource | null = null;
  #state: 'paused' | 'listening' | 'heard' = 'paused';
  #pauses = 0;

  /** False: it listens already, or has heard all. */
  begin(): boolean {
    if (this.#state !== 'paused') return false;
    this.#state = 'listening';
    return true;
  }

  /** Requests from before a pause are no longer awaited: returns a function that says which. */
  untilPaused(): () => boolean {
    const pauses = this.#pauses;
    return () => pauses !== this.#pauses;
  }

  open(url: string): EventSource {
    const source = new EventSource(url);
    this.#source = source;
    source.addEventListener('end', () => {
      this.pause();
      this.#state = 'heard';
    });
    return source;
  }

  /** Closes the connection, to open another. */
  close(): void {
    this.#source?.close();
    this.#source = null;
  }

  pause(): void {
    this.#pauses += 1;
    this.close();
    if (this.#state === 'listening') this.#state = 'paused';
  }
}

/** How long lines are played at a time, in milliseconds: others have their turn in between. */
const SLICE_MS = 30;
const LINES_AT_ONCE = 20;

/** The lines of a recording. */
export function linesIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** Passes on lines, a few at a time; false: it was stopped. */
export async function takeInSlices(
  lines: readonly string[],
  take: (lines: readonly string[]) => void,
  stopped: () => boolean,
): Promise<boolean> {
  for (let next = 0; next < lines.length;) {
    const until = performance.now() + SLICE_MS;
    while (next < lines.length && performance.now() < until) take(lines.slice(next, (next += LINES_AT_ONCE)));
    await new Promise<void>((resolve) => void setTimeout(resolve));
    if (stopped()) return false;
  }
  return !stopped();
}
