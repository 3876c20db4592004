import { batch } from '@preact/signals';
import type { Frame } from '../../protocol.ts';
import { isJsonObject } from '../../../parsing/json.ts';
import type { PageState } from './page-state.ts';

/** How long folding may take of one animation frame, in milliseconds: the rest of its 16 is for drawing. */
const BUDGET_MS = 6;
/** Runs of more steps than this are looked at as a whole only so often. */
const LONG_RUN = 1500;
const SLOW_MS = 300;

/**
 * Takes frames as fast as they come and folds them in step with the screen, never more than a part of each animation
 * frame: a flood shows late rather than freezing the page. In a hidden page a slow clock stands in for the screen.
 */
export function frameFeed(state: PageState): (frame: Frame) => void {
  let queue: Frame[] = [];
  let waiting = false;
  let slowAt = 0;

  const beat = (): void => {
    waiting = false;
    const until = performance.now() + BUDGET_MS;
    let done = 0;
    while (done < queue.length && (done % 32 !== 0 || performance.now() < until)) {
      const frame = queue[done++];
      if (frame !== undefined) state.model.add(frame);
    }
    queue = queue.slice(done);
    batch(() => {
      state.beat.value += 1;
      const now = performance.now();
      const long = (state.session.peek()?.steps.length ?? 0) > LONG_RUN;
      if (!long || queue.length === 0 || now - slowAt > SLOW_MS) {
        slowAt = now;
        state.slowBeat.value += 1;
      }
    });
    if (queue.length > 0) wait();
  };
  const wait = (): void => {
    if (waiting) return;
    waiting = true;
    if (document.hidden) setTimeout(beat, 200);
    else requestAnimationFrame(beat);
  };

  return (frame) => {
    queue.push(frame);
    wait();
  };
}

/** Reads one frame off the wire; null for anything that this page does not know. */
export function readFrame(text: string): Frame | null {
  const value: unknown = JSON.parse(text);
  return isFrame(value) ? value : null;
}

const KINDS: ReadonlySet<unknown> = new Set<Frame['t']>([
  'hello',
  'session',
  'drawing',
  'actor',
  'actor-gone',
  'step',
  'event',
  'record',
  'gap',
]);

/** Frames come from our own server or from a page that it saved; beyond their kind they are taken as they are. */
export function isFrame(value: unknown): value is Frame {
  return isJsonObject(value) && KINDS.has(value.t);
}
