const NEWLINE = 10;
const RETURN = 13;

/** What a stream of lines holds: a whole line, or one that was longer than the limit and was skipped. */
export type InputLine =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly bytes: number; readonly head: string; readonly tail: string };

interface LineOptions {
  /** Also ends a line at a carriage return that no newline follows, as event streams do. */
  readonly returns?: boolean;
  /** Called for a line when it exceeds the limit, and again with each later piece of it. */
  readonly onTooLong?: (line: InputLine & { readonly ok: false }) => void;
}

/**
 * Splits bytes into lines. A line over `limit` bytes is not kept: it is skipped to its end and reported with its first
 * and last 1 024 bytes, so that a giant line costs neither memory nor the connection. Call the result with each chunk.
 */
export function createLineReader(
  limit: number,
  onLine: (line: InputLine) => void,
  { returns = false, onTooLong }: LineOptions = {},
): (chunk: Uint8Array) => void {
  const held = createByteBuffer();
  let skipped: { readonly head: string; tail: Uint8Array; bytes: number } | null = null;
  let afterReturn = false;

  const tooLong = ({ head, tail, bytes }: NonNullable<typeof skipped>): InputLine & { readonly ok: false } => ({
    ok: false,
    bytes,
    head,
    tail: Buffer.from(tail).toString('utf8'),
  });
  const add = (part: Uint8Array): void => {
    if (skipped === null && held.size() + part.length <= limit) return held.push(part);
    if (skipped === null) {
      const all = Buffer.concat([held.take(), part]);
      skipped = { head: all.toString('utf8', 0, KEPT), tail: Buffer.from(all.subarray(-KEPT)), bytes: all.length };
    } else {
      skipped.bytes += part.length;
      skipped.tail = Buffer.concat([skipped.tail, part.subarray(-KEPT)]).subarray(-KEPT);
    }
    onTooLong?.(tooLong(skipped));
  };

  const finish = (): void => {
    const text = held.size() === 0 ? '' : held.take().toString('utf8').replace(/\r$/, '');
    const line: InputLine = skipped === null ? { ok: true, text } : tooLong(skipped);
    skipped = null;
    onLine(line);
  };

  return (chunk) => {
    let from = 0;
    while (from < chunk.length) {
      if (afterReturn && chunk[from] === NEWLINE) from += 1;
      afterReturn = false;
      const at = endOfLine(chunk, from, returns);
      if (at === -1) return from < chunk.length ? add(chunk.subarray(from)) : undefined;
      if (at > from) add(chunk.subarray(from, at));
      finish();
      afterReturn = returns && chunk[at] === RETURN;
      from = at + 1;
    }
  };
}

const KEPT = 1024;

function endOfLine(chunk: Uint8Array, from: number, returns: boolean): number {
  const newline = chunk.indexOf(NEWLINE, from);
  if (!returns) return newline;
  const back = chunk.subarray(0, newline === -1 ? chunk.length : newline).indexOf(RETURN, from);
  return back === -1 ? newline : back;
}

/** Bytes that grow piece by piece: a server that sends them one at a time costs no more than one that does not. */
export function createByteBuffer() {
  let bytes = Buffer.alloc(0);
  let size = 0;
  return {
    push(part: Uint8Array): void {
      if (size + part.length > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(size + part.length, 2 * bytes.length));
        bytes.copy(larger, 0, 0, size);
        bytes = larger;
      }
      bytes.set(part, size);
      size += part.length;
    },
    size: (): number => size,
    /** Gives what it holds, and is empty then. */
    take(): Buffer {
      const taken = bytes.subarray(0, size);
      [bytes, size] = [Buffer.alloc(0), 0];
      return taken;
    },
  };
}
