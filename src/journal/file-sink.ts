import { closeSync, fstatSync, ftruncateSync, writeSync } from 'node:fs';
import type { LineWriter } from './blobs.ts';
import { groupCommit } from './group-commit.ts';
import type { Sink } from './live.ts';

interface FileSinkOptions {
  /** Open for appending. Closed with the sink. */
  readonly file: number;
  readonly write: LineWriter;
  /** Makes what was written survive the machine; without it a write is durable when it was written. */
  readonly flush?: () => Promise<void>;
  /** Called before each write; throws when it must not be. */
  readonly check?: () => void;
  /** Called once, after the file was closed, whether by `close` or because a write has failed. */
  readonly onClose?: () => void;
}

/** Writes records to a file. After a write that failed the file is as it was before, and closed. */
export function fileSink({ file, write, flush, check, onClose }: FileSinkOptions): Sink {
  const commit = flush === undefined ? null : groupCommit(flush);
  let length = fstatSync(file).size;
  let open = true;
  let flushing = 0;

  const closed = Promise.withResolvers<void>();

  const release = (): void => {
    closeSync(file);
    onClose?.();
    closed.resolve();
  };
  const close = (): void | Promise<void> => {
    const first = open;
    open = false;
    // The number of a file that is closed while it is flushed may be that of another by then.
    if (flushing > 0) return closed.promise;
    if (first) release();
  };
  const flushed = async (pending: Promise<void>): Promise<void> => {
    flushing += 1;
    try {
      await pending;
    } catch (error) {
      open = false;
      throw error;
    } finally {
      flushing -= 1;
      if (!open && flushing === 0) release();
    }
  };
  const put = (text: string): void => {
    try {
      if (!open) throw new Error('This run was given back; nothing more can be written to it.');
      check?.();
      length += writeAll(file, Buffer.from(text));
    } catch (error) {
      if (open) cut(file, length);
      void close();
      throw error;
    }
  };
  return {
    append: (records) => {
      put(records.map(write).join(''));
      return commit === null ? undefined : flushed(commit());
    },
    close,
  };
}

function writeAll(file: number, bytes: Buffer): number {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
  return bytes.length;
}

/** A line that is half written would make the whole file unreadable once another follows. */
function cut(file: number, length: number): void {
  try {
    ftruncateSync(file, length);
  } catch {
    // The write has failed already, and says why. Who takes the file cuts it.
  }
}
