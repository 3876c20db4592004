import type { McpClock } from '../wire/link.ts';

/** The time limits of one call, in milliseconds. */
export interface CallTimes {
  /** Longest silence. */
  readonly silenceMs: number;
  /** Longest time in all. */
  readonly totalMs: number;
}

/** A server that asks again and again must not hold a call for ever. */
const MAX_PAUSES = 20;

/** The time of one call. It runs from the start; `onOver` is called once, with the limit that was met. */
export class CallTime {
  readonly #clock: McpClock;
  readonly #times: CallTimes;
  readonly #onOver: (ms: number) => void;
  #silence: unknown = null;
  #total: unknown = null;
  #paused = 0;
  #pauses = 0;
  #released = false;

  constructor(clock: McpClock, times: CallTimes, onOver: (ms: number) => void) {
    this.#clock = clock;
    this.#times = times;
    this.#onOver = onOver;
    this.#start();
  }

  /** The server is at work: the silence timeout restarts. */
  heard(): void {
    if (this.#silence === null) return;
    this.#clock.clearTimeout(this.#silence);
    this.#silence = this.#timer(this.#times.silenceMs);
  }

  /** Pauses both limits until the returned function is called; then they restart. */
  pause(): () => void {
    this.#pauses += 1;
    if (this.#released || this.#pauses > MAX_PAUSES) return () => undefined;
    this.#paused += 1;
    this.#stop();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#paused -= 1;
      if (this.#paused === 0 && !this.#released) this.#start();
    };
  }

  release(): void {
    this.#released = true;
    this.#stop();
  }

  #start(): void {
    const { silenceMs, totalMs } = this.#times;
    this.#silence = this.#timer(silenceMs);
    if (totalMs > silenceMs) this.#total = this.#timer(totalMs);
  }

  #stop(): void {
    if (this.#silence !== null) this.#clock.clearTimeout(this.#silence);
    if (this.#total !== null) this.#clock.clearTimeout(this.#total);
    [this.#silence, this.#total] = [null, null];
  }

  #timer(ms: number): unknown {
    return this.#clock.setTimeout(() => {
      this.release();
      this.#onOver(ms);
    }, ms);
  }
}
