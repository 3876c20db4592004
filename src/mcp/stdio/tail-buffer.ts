/** Keeps the end of a stream. */
export interface TailBuffer {
  push(chunk: Uint8Array): void;
  text(): string;
}

/** Makes a buffer that keeps the last `limit` bytes of what is pushed, whatever the amount. */
export function createTailBuffer(limit: number): TailBuffer {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    push(chunk) {
      chunks.push(chunk.subarray(Math.max(0, chunk.length - limit)));
      size += chunks.at(-1)?.length ?? 0;
      for (let first = chunks[0]; first !== undefined && size - first.length >= limit; first = chunks[0]) {
        chunks.shift();
        size -= first.length;
      }
      // Many small writes would otherwise keep a list of tens of thousands of chunks.
      if (chunks.length > 256) chunks = [Buffer.concat(chunks)];
    },
    text() {
      const all = Buffer.concat(chunks);
      return all.subarray(Math.max(0, all.length - limit)).toString('utf8');
    },
  };
}
