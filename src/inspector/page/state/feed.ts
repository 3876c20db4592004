import { batch } from '@preact/signals';
import type { Frame } from '../../frames/protocol.ts';
import { isJsonObject } from '../../../json/json.ts';
import type { PageState } from './page-state.ts';

/** How long folding may take of one animation frame, in milliseconds: the rest of its 16 is for drawing. */
const BUDGET_MS = 6;
/** With more frames than this to come, a recording is being loaded: it is drawn now and then, and folded for longer. */
const FAR_BEHIND = 500;
const LOADING_BUDGET_MS = 12;
const LOADING_PACE_MS = 250;
/** Runs of more steps than this are looked at as a whole only so often. */
const LONG_RUN = 1500;
const SLOW_MS = 300;

/** A page that is drawn within this many milliseconds keeps up with the screen. */
const SMOOTH_MS = 24;

/**
 * Takes frames as fast as they come and folds them in step with the screen, never more than a part of each animation
 * frame: a flood shows late rather than freezing the page. What it costs to draw what has come is watched too: where that
 * is more than the screen allows, at most half of the time goes into it. In a hidden page a slow clock stands in for the
 * screen.
 */
export function frameFeed(state: PageState): (frame: Frame) => void {
  let queue: Frame[] = [];
  let waiting = false;
  let slowAt = 0;
  /** Something was folded that is not drawn yet. */
  let fresh = false;
  let drawnAt: number | null = null;
  let restUntil = 0;
  /** When it was drawn last. */
  let latestAt = 0;

  const fold = (): void => {
    const until = performance.now() + (queue.length > FAR_BEHIND ? LOADING_BUDGET_MS : BUDGET_MS);
    let done = 0;
    while (done < queue.length && (done % 32 !== 0 || performance.now() < until)) {
      const frame = queue[done++];
      if (frame !== undefined) state.model.add(frame);
    }
    queue = queue.slice(done);
    fresh ||= done > 0;
  };
  const draw = (): void =>
    batch(() => {
      state.revision.value += 1;
      const now = performance.now();
      const long = (state.session.peek()?.steps.length ?? 0) > LONG_RUN;
      if (!long || queue.length === 0 || now - slowAt > SLOW_MS) {
        slowAt = now;
        state.slowRevision.value += 1;
      }
    });
  const drawNext = (): void => {
    waiting = false;
    const begun = performance.now();
    const took = drawnAt === null ? 0 : begun - drawnAt;
    if (took > SMOOTH_MS) restUntil = begun + took;
    drawnAt = null;
    fold();
    if (fresh && begun >= restUntil && (queue.length <= FAR_BEHIND || begun >= latestAt + LOADING_PACE_MS)) {
      fresh = false;
      drawnAt = begun;
      latestAt = begun;
      draw();
    }
    // One more look at the clock after the last drawing shows what it took.
    if (queue.length > 0 || fresh || drawnAt !== null) wait();
  };
  const wait = (): void => {
    if (waiting) return;
    waiting = true;
    if (document.hidden) setTimeout(drawNext, 200);
    else requestAnimationFrame(drawNext);
  };

  return (frame) => {
    queue.push(frame);
    wait();
  };
}

const KINDS: ReadonlySet<unknown> = new Set<Frame['t']>([
  'hello',
  'session',
  'session-gone',
  'drawing',
  'actor',
  'actor-gone',
  'step',
  'event',
  'record',
  'problem',
  'gap',
]);

/** Frames come from our own server or from a page that it saved; beyond their kind they are taken as they are. */
export function isFrame(value: unknown): value is Frame {
  return isJsonObject(value) && KINDS.has(value.t);
}
