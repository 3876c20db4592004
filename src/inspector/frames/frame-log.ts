/**
 * Owns: the latest frames of a session, kept once for all viewers: none has its own queue.
 *
 * I1 A frame is written once, the moment it is emitted, as the text that travels, and is soon kept outside of the heap:
 *    what is kept for late viewers costs the collector nothing, and the next viewer no second writing.
 * I2 No more than about `capacity` bytes are kept; the oldest frames go first. A frame larger than that is kept alone.
 */
import type { Frame } from './protocol.ts';

interface Chunk {
  readonly bytes: Buffer;
  /** The number of the frame before its first. */
  readonly after: number;
  /** Where the bytes of each frame end. */
  readonly ends: readonly number[];
}

/** Frames are stored when they are first read, or when they reach this length, in UTF-16 units. */
const CHUNK_UNITS = 16_384;

/** The latest frames of a session, numbered from 1: about `capacity` bytes of them, older ones are forgotten. */
export class FrameLog {
  readonly #capacity: number;
  readonly #chunks: Chunk[] = [];
  readonly #waiting = new Set<() => void>();
  #texts: string[] = [];
  #units = 0;
  #bytes = 0;
  #count = 0;
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(frame: Frame): void {
    const text = eventText(this.#count + 1, JSON.stringify(frame));
    if (this.#units + text.length > CHUNK_UNITS) this.#putAway();
    this.#texts.push(text);
    this.#count += 1;
    this.#units += text.length;
    if (this.#waiting.size > 0) this.#wake();
  }

  /** How many frames there were. */
  get count(): number {
    return this.#count;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** How many of them, the oldest, are not kept any more. */
  get forgotten(): number {
    this.#putAway();
    return this.#chunks[0]?.after ?? 0;
  }

  /** Some of the frames after the one with this number, and the last one's number; null when there are none yet. */
  read(number: number) {
    if (number >= this.#count) return null;
    this.#putAway();
    const chunk = this.#chunks.findLast((one) => one.after <= number) ?? this.#chunks[0];
    if (chunk === undefined) return null;
    const skipped = number - chunk.after;
    return {
      bytes: skipped <= 0 ? chunk.bytes : chunk.bytes.subarray(chunk.ends[skipped - 1]),
      number: chunk.after + chunk.ends.length,
    };
  }

  /** All frames that are kept, read back. */
  kept(): readonly Frame[] {
    this.#putAway();
    return this.#chunks.flatMap(({ bytes }) => readEvents(bytes.toString()));
  }

  /** Resolves when there is more after the frame with this number, or the log was closed. */
  wait(number: number): Promise<void> {
    if (number < this.#count || this.#closed) return Promise.resolve();
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
    this.#chunks.push({ bytes, after: this.#count - texts.length, ends: summed(lengths) });
    this.#bytes += bytes.length;
    this.#texts = [];
    this.#units = 0;
    while (this.#bytes > this.#capacity && this.#chunks.length > 1)
      this.#bytes -= this.#chunks.shift()?.bytes.length ?? 0;
  }
}

function summed(lengths: readonly number[]): readonly number[] {
  let end = 0;
  return lengths.map((length) => (end += length));
}

/** Parses events that we wrote. Their JSON may hold what a regular expression takes for the end of a line (U+2028). */
function readEvents(text: string): readonly Frame[] {
  return [...text.matchAll(/id: \d+\ndata: ([^\n]*)\n\n/gy)].map(([, data = 'null']) => JSON.parse(data));
}

/** A server-sent event as it travels. `id` null: a client that reconnects continues after the one before it. `json` is one line. */
export function eventText(id: number | null, json: string): string {
  return id === null ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`;
}

/** Values as events. `last`: the id of the last; the others have none. */
export function eventBytes(values: readonly unknown[], last: number | null = null): Uint8Array {
  const idOf = (index: number): number | null => (index === values.length - 1 ? last : null);
  return encoder.encode(values.map((value, index) => eventText(idOf(index), JSON.stringify(value))).join(''));
}

const encoder = new TextEncoder();
