const NEWLINE = 10;

/** What a stream of lines holds: a whole line, or one that was longer than the limit and was skipped. */
export type Line =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly bytes: number; readonly head: string; readonly tail: string };

/**
 * Splits bytes into lines. A line over `limit` bytes is not kept: it is skipped up to its end and reported with its first
 * and last 1 024 bytes, so that a giant line costs neither the memory nor the connection. Call the result with each chunk.
 */
export function createLineReader(limit: number, onLine: (line: Line) => void): (chunk: Uint8Array) => void {
  let parts: Uint8Array[] = [];
  let size = 0;
  let skipped: { readonly head: string; tail: Uint8Array } | null = null;

  const add = (part: Uint8Array): void => {
    size += part.length;
    if (skipped !== null) {
      skipped.tail = Buffer.concat([skipped.tail, part.subarray(-KEPT)]).subarray(-KEPT);
      return;
    }
    parts.push(part);
    if (size <= limit) return;
    const all = Buffer.concat(parts);
    skipped = { head: all.subarray(0, KEPT).toString('utf8'), tail: all.subarray(-KEPT) };
    parts = [];
  };

  const finish = (): void => {
    const line: Line =
      skipped === null
        ? { ok: true, text: Buffer.concat(parts).toString('utf8').replace(/\r$/, '') }
        : { ok: false, bytes: size, head: skipped.head, tail: Buffer.from(skipped.tail).toString('utf8') };
    [parts, size, skipped] = [[], 0, null];
    onLine(line);
  };

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      finish();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  };
}

const KEPT = 1024;
