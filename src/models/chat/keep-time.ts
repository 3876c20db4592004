/** Watches a request for silence and for its owner's abort. */
export interface Watch {
  /** Aborts on either; give it to whatever does the work. */
  readonly signal: AbortSignal;
  /** Something arrived: the silence begins anew. */
  heard(): void;
  /** Ends the watch. Always call it. */
  stop(): void;
  /** True when the signal was aborted by silence. */
  isTimedOut(): boolean;
}

const LONGEST_TIMER_MS = 2_147_483_647;

/** Begins to watch: `silenceMs` without a sound, or an abort of `owner`, abort the watch's signal. */
export function keepTime(owner: AbortSignal, silenceMs: number): Watch {
  const controller = new AbortController();
  let last = performance.now();
  let timedOut = false;
  const follow = () => controller.abort(owner.reason);
  // One timer that looks again costs less than one that is set anew with every piece.
  const look = () => {
    const left = last + silenceMs - performance.now();
    if (left > 0) {
      timer = setTimeout(look, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
      return;
    }
    timedOut = true;
    controller.abort(new Error('the server was silent for too long'));
  };
  let timer = setTimeout(look, Math.min(silenceMs, LONGEST_TIMER_MS));
  owner.addEventListener('abort', follow, { once: true });
  if (owner.aborted) follow();
  return {
    signal: controller.signal,
    heard() {
      last = performance.now();
    },
    stop() {
      clearTimeout(timer);
      owner.removeEventListener('abort', follow);
    },
    isTimedOut: () => timedOut,
  };
}
