/**
 * Owns: the latest frames of a session, kept once for all viewers: none has its own queue.
 *
 * I1 A frame is written once, the moment it is emitted, as the text that travels, and is soon kept outside of the heap:
 *    what is kept for late viewers costs the collector nothing, and the next viewer no second writing.
 * I2 No more than about `capacity` bytes are kept; the oldest frames go first. A frame larger than that is kept alone.
 */
import type { Frame } from './protocol.ts';

/** A frame with its number in its session; tokens and the like have none. */
export interface NumberedFrame {
  readonly number: number | null;
  readonly frame: Frame;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly firstPlace: number;
  /** Of each frame: where its bytes end, and its number; half a one more than the frame before it, if it has none. */
  readonly ends: readonly number[];
  readonly numbers: readonly number[];
}

/** Frames are stored when they are first read, or when they reach this length, in UTF-16 units. */
const CHUNK_UNITS = 16_384;
const HALF = 0.5;

/** The latest frames of a session: about `capacity` bytes of them, older ones are forgotten. */
export class FrameLog {
  readonly #capacity: number;
  readonly #chunks: Chunk[] = [];
  readonly #waiting = new Set<() => void>();
  #texts: string[] = [];
  #numbers: number[] = [];
  #units = 0;
  #bytes = 0;
  #end = 0;
  #count = 0;
  #forgotten = 0;
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** `numbered` false: it is not part of a recording, and belongs to the numbered one before it. */
  push(frame: Frame, numbered: boolean): void {
    if (numbered) this.#count += 1;
    const text = eventText(numbered ? this.#count : null, JSON.stringify(frame));
    if (this.#units + text.length > CHUNK_UNITS) this.#putAway();
    this.#texts.push(text);
    this.#numbers.push(numbered ? this.#count : this.#count + HALF);
    this.#end += 1;
    this.#units += text.length;
    if (this.#waiting.size > 0) this.#wake();
  }

  /** How many numbered frames there were. */
  get count(): number {
    return this.#count;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The place before the oldest frame that is kept, and the number of the frames before it. */
  get start(): { readonly place: number; readonly number: number } {
    this.#putAway();
    return { place: this.#chunks[0]?.firstPlace ?? this.#end, number: this.#forgotten };
  }

  /** The place after frame `number`, before those without a number that follow it; null when that is not kept any more. */
  placeAfter(number: number): number | null {
    this.#putAway();
    if (number < this.#forgotten) return null;
    const chunk = this.#chunks.findLast((one) => (one.numbers[0] ?? 0) <= number) ?? this.#chunks[0];
    if (chunk === undefined) return this.#end;
    const after = chunk.numbers.findIndex((one) => one > number);
    return chunk.firstPlace + (after < 0 ? chunk.numbers.length : after);
  }

  /** Some of the frames from a place on, the place after them, and the last one's number; null when there are none yet. */
  read(place: number) {
    if (place >= this.#end) return null;
    this.#putAway();
    const chunk = this.#chunks.findLast((one) => one.firstPlace <= place) ?? this.#chunks[0];
    if (chunk === undefined) return null;
    const from = place - chunk.firstPlace;
    return {
      bytes: from <= 0 ? chunk.bytes : chunk.bytes.subarray(chunk.ends[from - 1]),
      place: chunk.firstPlace + chunk.ends.length,
      number: Math.floor(chunk.numbers.at(-1) ?? this.#forgotten),
    };
  }

  /** All frames that are kept, read back, each with its number. */
  kept(): readonly NumberedFrame[] {
    this.#putAway();
    return this.#chunks.flatMap((chunk) => readEvents(chunk.bytes.toString()));
  }

  /** Resolves when there is more after a place, or the log was closed. */
  wait(place: number): Promise<void> {
    if (place < this.#end || this.#closed) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #putAway(): void {
    const texts = this.#texts;
    if (texts.length === 0) return;
    const text = texts.join('');
    const bytes = Buffer.from(text);
    const isAscii = bytes.length === text.length;
    const lengths = texts.map((one) => (isAscii ? one.length : Buffer.byteLength(one)));
    this.#chunks.push({ bytes, firstPlace: this.#end - texts.length, ends: summed(lengths), numbers: this.#numbers });
    this.#bytes += bytes.length;
    this.#texts = [];
    this.#numbers = [];
    this.#units = 0;
    while (this.#bytes > this.#capacity && this.#chunks.length > 1) {
      const oldest = this.#chunks.shift();
      this.#bytes -= oldest?.bytes.length ?? 0;
      this.#forgotten = Math.floor(oldest?.numbers.at(-1) ?? this.#forgotten);
    }
  }
}

function summed(lengths: readonly number[]): readonly number[] {
  let end = 0;
  return lengths.map((length) => (end += length));
}

/** Parses events that we wrote. Their JSON may hold what a regular expression takes for the end of a line (U+2028). */
function readEvents(text: string): readonly NumberedFrame[] {
  return [...text.matchAll(/(?:id: (\d+)\n)?data: ([^\n]*)\n\n/gy)].map(([, id, data = 'null']) => ({
    number: id === undefined ? null : Number(id),
    frame: JSON.parse(data),
  }));
}

/** A server-sent event as it travels. `id` null: a client that reconnects continues after the one before it. `json` is one line. */
export function eventText(id: number | null, json: string): string {
  return id === null ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`;
}

/** Values as events without a number. */
export function eventBytes(values: readonly unknown[]): Uint8Array {
  return encoder.encode(values.map((value) => eventText(null, JSON.stringify(value))).join(''));
}

const encoder = new TextEncoder();
