import { closeSync, fstatSync, ftruncateSync, writeSync } from 'node:fs';
import type { LineWriter } from '../format/blobs.ts';
import { groupCommit } from './group-commit.ts';
import type { Sink } from '../live.ts';
import type { RecordLine } from '../format/record.ts';

interface FileSinkOptions {
  /** Open for appending. Closed with the sink. */
  readonly file: number;
  readonly write: LineWriter;
  /** Makes what was written survive the machine; without it a write is durable when it was written. */
  readonly flush?: () => Promise<void>;
  /** How long the file is, as far as its writer knows. Default: as it is. */
  readonly length?: number;
  /** Called before each write; throws when it must not be. `doubtful`: somebody else has written. */
  readonly check?: (doubtful: boolean) => void;
  /** Called once, after the file was closed, whether by `close` or because a write has failed. */
  readonly onClose?: () => void | Promise<void>;
}

/**
 * Writes records to a file. After a write that failed the file is as it was before, and closed. What another writer has
 * added is neither written to nor cut off.
 */
export function fileSink(options: FileSinkOptions): Sink {
  const { file, write, flush, check, onClose } = options;
  const commit = flush === undefined ? null : groupCommit(flush);
  const size = (): number => fstatSync(file).size;
  let length = options.length ?? size();
  let open = true;
  let flushing = 0;

  const closed = Promise.withResolvers<void>();

  const release = (): void | Promise<void> => {
    closeSync(file);
    const done = onClose?.();
    closed.resolve(done);
    return done;
  };
  const close = (): void | Promise<void> => {
    const first = open;
    open = false;
    // The number of a file that is closed while it is flushed may be that of another by then.
    if (flushing > 0) return closed.promise;
    return first ? release() : undefined;
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
      if (!open && flushing === 0) void release();
    }
  };
  const mayWrite = (): void => {
    try {
      check?.(size() !== length);
    } catch (error) {
      void close();
      throw error;
    }
  };
  const textOf = (records: readonly RecordLine[]): string => {
    try {
      return records.map(write).join('');
    } catch (error) {
      void close();
      throw error;
    }
  };
  const put = (text: string): void => {
    if (!open) throw new Error('This run was given back; nothing more can be written to it.');
    mayWrite();
    const bytes = Buffer.from(text);
    let done = 0;
    try {
      while (done < bytes.length) done += writeSync(file, bytes, done);
      length += done;
    } catch (error) {
      if (done > 0 && size() === length + done) cut(file, length);
      void close();
      throw error;
    }
  };
  return {
    append: (records) => {
      put(textOf(records));
      return commit === null ? undefined : flushed(commit());
    },
    close,
  };
}

/** A line that is half written would make the whole file unreadable once another follows. */
function cut(file: number, length: number): void {
  try {
    ftruncateSync(file, length);
  } catch {
    // The write has failed already, and says why. Who takes the file cuts it.
  }
}
