import type { Frame } from './protocol.ts';

/** A frame with its number in its session; tokens and the like have none. */
export interface NumberedFrame {
  readonly number: number | null;
  readonly frame: Frame;
}

/** The latest frames of a session, kept once for all who watch it: nobody has a queue of their own. */
export interface FrameLog {
  push(frame: Frame, numbered: boolean): void;
  /** How many numbered frames there were. */
  readonly count: number;
  /** The place after the latest frame. */
  readonly end: number;
  /** The place before the oldest frame that is kept, and the number of the frames before it. */
  readonly start: { readonly place: number; readonly number: number };
  /** The place after frame `number`; null when it is not kept any more. */
  placeAfter(number: number): number | null;
  /** Up to `limit` frames from a place on. */
  read(place: number, limit: number): readonly NumberedFrame[];
  /** Resolves when there is more after a place, or the log was closed. */
  wait(place: number): Promise<void>;
  close(): void;
  readonly closed: boolean;
}

/** A log that keeps `capacity` frames; older ones are forgotten. */
export function frameLog(capacity: number): FrameLog {
  const kept: NumberedFrame[] = [];
  const waiting = new Set<() => void>();
  let end = 0;
  let count = 0;
  let forgotten = 0;
  let closed = false;

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const first = (): number => Math.max(0, end - capacity);

  return {
    push: (frame, numbered) => {
      if (numbered) count += 1;
      if (end >= capacity && kept[end % capacity]?.number !== null) forgotten += 1;
      kept[end % capacity] = { number: numbered ? count : null, frame };
      end += 1;
      if (waiting.size > 0) wake();
    },
    get count() {
      return count;
    },
    get end() {
      return end;
    },
    get closed() {
      return closed;
    },
    get start() {
      return { place: first(), number: forgotten };
    },
    placeAfter: (number) => {
      if (number < forgotten) return null;
      let low = first();
      let high = end;
      // Frames without a number belong to the numbered one before them; the search is for the first one after.
      while (low < high) {
        const middle = (low + high) >> 1;
        if (numberAt(middle) <= number) low = middle + 1;
        else high = middle;
      }
      return low;
    },
    read: (place, limit) => {
      const list: NumberedFrame[] = [];
      for (let at = Math.max(place, first()); at < end && list.length < limit; at++) {
        const item = kept[at % capacity];
        if (item !== undefined) list.push(item);
      }
      return list;
    },
    wait: (place) => {
      if (place < end || closed) return Promise.resolve();
      return new Promise((resolve) => void waiting.add(resolve));
    },
    close: () => {
      closed = true;
      wake();
    },
  };

  /** The number of the frame at a place, or of the numbered one before it. */
  function numberAt(place: number): number {
    for (let at = place; at >= first(); at--) {
      const number = kept[at % capacity]?.number;
      if (number !== null && number !== undefined) return number;
    }
    return forgotten;
  }
}
