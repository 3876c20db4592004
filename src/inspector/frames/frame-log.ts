/**
 * Owns: the latest frames of a session, kept once for all who watch it: nobody has a queue of their own.
 *
 * I1 A frame is written once, the moment it is told, as the text that travels, and is soon kept outside of the heap: what
 *    is kept for who comes late costs the collector nothing, and the next viewer no second writing.
 * I2 No more than about `capacity` bytes are kept; the oldest frames go first. A frame larger than that is kept alone.
 */
import { eventText } from './event-text.ts';
import { frameText } from './frame-text.ts';
import type { Frame } from './protocol.ts';

/** A frame with its number in its session; tokens and the like have none. */
export interface NumberedFrame {
  readonly number: number | null;
  readonly frame: Frame;
}

/** A stretch of frames as they travel. `place` is the one after the last of them, `number` that frame's number. */
export interface FrameBytes {
  readonly bytes: Uint8Array;
  readonly place: number;
  readonly number: number;
}

/** The latest frames of a session. */
export interface FrameLog {
  /** `numbered` false: it is no part of a recording, and belongs to the numbered one before it. */
  push(frame: Frame, numbered: boolean): void;
  /** How many numbered frames there were. */
  readonly count: number;
  /** The place before the oldest frame that is kept, and the number of the frames before it. */
  readonly start: { readonly place: number; readonly number: number };
  /** The place after the latest frame. */
  readonly end: number;
  /** The place after frame `number`, before those without a number that follow it; null when that is not kept any more. */
  placeAfter(number: number): number | null;
  /** Some of the frames from a place on; null when there are none yet. */
  read(place: number): FrameBytes | null;
  /** All frames that are kept, read back, each with its number. */
  kept(): readonly NumberedFrame[];
  /** Resolves when there is more after a place, or the log was closed. */
  wait(place: number): Promise<void>;
  close(): void;
  readonly closed: boolean;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly firstPlace: number;
  /** Of each frame: where its bytes end, and its number; half a one more than the frame before it, if it has none. */
  readonly ends: readonly number[];
  readonly numbers: readonly number[];
}

/** Frames are put away when somebody reads them, or when they have become this long, in UTF-16 units. */
const CHUNK_UNITS = 16_384;
const HALF = 0.5;

/** A log that keeps about `capacity` bytes of frames; older ones are forgotten. */
export function frameLog(capacity: number): FrameLog {
  const chunks: Chunk[] = [];
  const waiting = new Set<() => void>();
  let texts: string[] = [];
  let numbers: number[] = [];
  let units = 0;
  let bytes = 0;
  let end = 0;
  let count = 0;
  let forgotten = 0;
  let closed = false;

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const putAway = (): void => {
    if (texts.length === 0) return;
    const text = texts.join('');
    const written = Buffer.from(text);
    const lengths = written.length === text.length ? texts.map(({ length }) => length) : texts.map(byteLength);
    chunks.push({ bytes: written, firstPlace: end - texts.length, ends: summed(lengths), numbers });
    bytes += written.length;
    texts = [];
    numbers = [];
    units = 0;
    while (bytes > capacity && chunks.length > 1) {
      const oldest = chunks.shift();
      bytes -= oldest?.bytes.length ?? 0;
      forgotten = Math.floor(oldest?.numbers.at(-1) ?? forgotten);
    }
  };
  const firstPlace = (): number => chunks[0]?.firstPlace ?? end - texts.length;

  return {
    push: (frame, numbered) => {
      if (numbered) count += 1;
      const text = eventText(numbered ? count : null, frameText(frame));
      if (units + text.length > CHUNK_UNITS) putAway();
      texts.push(text);
      numbers.push(numbered ? count : count + HALF);
      end += 1;
      units += text.length;
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
      putAway();
      return { place: firstPlace(), number: forgotten };
    },
    placeAfter: (number) => {
      putAway();
      if (number < forgotten) return null;
      const chunk = chunks.findLast((one) => (one.numbers[0] ?? 0) <= number) ?? chunks[0];
      if (chunk === undefined) return end;
      const after = chunk.numbers.findIndex((one) => one > number);
      return chunk.firstPlace + (after < 0 ? chunk.numbers.length : after);
    },
    read: (place) => {
      if (place >= end) return null;
      putAway();
      const chunk = chunks.findLast((one) => one.firstPlace <= place) ?? chunks[0];
      if (chunk === undefined) return null;
      const from = place - chunk.firstPlace;
      return {
        bytes: from <= 0 ? chunk.bytes : chunk.bytes.subarray(chunk.ends[from - 1]),
        place: chunk.firstPlace + chunk.ends.length,
        number: Math.floor(chunk.numbers.at(-1) ?? forgotten),
      };
    },
    kept: () => {
      putAway();
      return chunks.flatMap((chunk) => readEvents(chunk.bytes.toString()));
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
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

function summed(lengths: readonly number[]): readonly number[] {
  let end = 0;
  return lengths.map((length) => (end += length));
}

/** Reads events of our own writing. */
function readEvents(text: string): readonly NumberedFrame[] {
  return [...text.matchAll(/^(?:id: (\d+)\n)?data: (.*)$/gm)].map(([, id, data = 'null']) => ({
    number: id === undefined ? null : Number(id),
    frame: JSON.parse(data),
  }));
}
