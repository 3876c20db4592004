/**
 * Owns: the latest frames of a session, kept once for all who watch it: nobody has a queue of their own.
 *
 * I1 A frame is written the moment it is told, as the text that travels, and kept outside of the heap: what is kept for
 *    who comes late costs the collector nothing, and the next viewer no second writing.
 * I2 No more than about `capacity` bytes are kept; the oldest frames go first. A frame larger than that is kept alone.
 */
import { eventText } from './event-text.ts';
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
  readonly buffer: Buffer;
  readonly firstPlace: number;
  used: number;
  /** Of each frame: where its bytes end, and its number; half a one more than the frame before it, if it has none. */
  readonly ends: number[];
  readonly numbers: number[];
}

const CHUNK_BYTES = 65_536;
/** A UTF-16 unit takes at most three bytes. */
const MOST_PER_UNIT = 3;
const HALF = 0.5;

/** A log that keeps about `capacity` bytes of frames; older ones are forgotten. */
export function frameLog(capacity: number): FrameLog {
  const chunks: Chunk[] = [];
  const waiting = new Set<() => void>();
  let bytes = 0;
  let end = 0;
  let count = 0;
  let forgotten = 0;
  let closed = false;

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const begin = (size: number): Chunk => {
    const buffer = Buffer.allocUnsafeSlow(Math.max(size, CHUNK_BYTES));
    const chunk: Chunk = { buffer, firstPlace: end, used: 0, ends: [], numbers: [] };
    chunks.push(chunk);
    bytes += buffer.length;
    while (bytes > capacity && chunks.length > 1) {
      const oldest = chunks.shift();
      bytes -= oldest?.buffer.length ?? 0;
      forgotten = Math.floor(oldest?.numbers.at(-1) ?? forgotten);
    }
    return chunk;
  };
  const roomFor = (text: string): Chunk => {
    const last = chunks.at(-1);
    const room = last === undefined ? 0 : last.buffer.length - last.used;
    if (last !== undefined && text.length * MOST_PER_UNIT <= room) return last;
    const size = Buffer.byteLength(text);
    return last !== undefined && size <= room ? last : begin(size);
  };
  const firstPlace = (): number => chunks[0]?.firstPlace ?? end;
  const chunkAt = (place: number): Chunk | undefined => chunks.findLast((chunk) => chunk.firstPlace <= place);

  return {
    push: (frame, numbered) => {
      if (numbered) count += 1;
      const text = eventText({ id: numbered ? count : null, data: frame });
      const chunk = roomFor(text);
      chunk.used += chunk.buffer.write(text, chunk.used);
      chunk.ends.push(chunk.used);
      chunk.numbers.push(numbered ? count : count + HALF);
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
      return { place: firstPlace(), number: forgotten };
    },
    placeAfter: (number) => {
      if (number < forgotten) return null;
      const chunk = chunks.findLast(({ numbers }) => (numbers[0] ?? 0) <= number) ?? chunks[0];
      if (chunk === undefined) return end;
      let low = 0;
      let high = chunk.numbers.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((chunk.numbers[middle] ?? 0) <= number) low = middle + 1;
        else high = middle;
      }
      return chunk.firstPlace + low;
    },
    read: (place) => {
      const chunk = chunkAt(Math.max(place, firstPlace()));
      if (chunk === undefined || place >= end) return null;
      const from = Math.max(0, place - chunk.firstPlace);
      return {
        bytes: chunk.buffer.subarray(from === 0 ? 0 : chunk.ends[from - 1], chunk.used),
        place: chunk.firstPlace + chunk.ends.length,
        number: Math.floor(chunk.numbers.at(-1) ?? forgotten),
      };
    },
    kept: () => chunks.flatMap(({ buffer, used }) => readEvents(buffer.toString('utf8', 0, used))),
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

/** Reads events of our own writing. */
function readEvents(text: string): readonly NumberedFrame[] {
  return [...text.matchAll(/^(?:id: (\d+)\n)?data: (.*)$/gm)].map(([, id, data = 'null']) => ({
    number: id === undefined ? null : Number(id),
    frame: JSON.parse(data),
  }));
}
