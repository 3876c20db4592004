import { parsedText } from '../../json/json.ts';
import type { Sink } from '../run/run-journal.ts';
import type { LineWriter } from '../format/blobs.ts';
import { beginsWithLine } from '../format/checksums.ts';
import type { RecordLine } from '../format/record.ts';
import { readRecording, type Recording } from '../format/recording.ts';
import { closeSync, fstatSync, statSync, truncateSync, writeSync } from 'node:fs';

interface FileSinkOptions {
  readonly path: string;
  /** Open for appending. Closed with the sink. */
  readonly file: number;
  readonly write: LineWriter;
  /** Makes what was written survive the machine; without it a write is durable when it was written. */
  readonly flush?: () => Promise<void>;
  /** The length of the file, according to its writer. Default: its current length. */
  readonly length?: number;
  /** Called before each write; throws if it is not allowed. `doubtful`: another process has written to it, or removed it. */
  readonly check?: (doubtful: boolean) => void;
  /** Called once, after the file was closed, whether by `close` or because a write has failed. */
  readonly onClose?: () => void | Promise<void>;
}

/**
 * Writes records to a file. After a write that failed the file is as it was before, and closed. What another writer has
 * added is neither written to nor cut off.
 */
export function fileSink(options: FileSinkOptions): Sink {
  const { path, file, write, flush, check, onClose } = options;
  const commit = flush === undefined ? null : groupCommit(flush);
  const begun = fstatSync(file);
  const size = (): number => fstatSync(file).size;
  let length = options.length ?? begun.size;
  let open = true;
  let flushing = 0;

  const closed = Promise.withResolvers<void>();

  const release = (): void | Promise<void> => {
    try {
      closeSync(file); // May fail: another machine tells only now what it could not write.
    } finally {
      closed.resolve(onClose?.());
    }
    return closed.promise;
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
      const now = fstatSync(file);
      // Some file systems count no names.
      check?.(now.size !== length || (now.nlink === 0 && begun.nlink > 0));
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
      if (done > 0 && size() === length + done) cut(path, begun.ino, length);
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

/**
 * A line that is half written would make the whole file unreadable once another follows. By its name: Windows cuts off no
 * file that is open for appending.
 */
function cut(path: string, ino: number, length: number): void {
  try {
    if (statSync(path).ino === ino) truncateSync(path, length);
  } catch {
    // The write has already failed with a reason. The next writer truncates the file.
  }
}

/** What stands in the file of a run. */
export interface FileContent {
  readonly recording: Recording;
  /** How much of the file is whole, in bytes: what follows was torn by a crash. */
  readonly bytes: number;
  /** The whole part ends with a newline. */
  readonly closed: boolean;
}

const NEWLINE = 0x0a;

/** Data that never reached the disk, because the file's end was not flushed before a power loss. A single such byte is damage. */
const HOLE = new Uint8Array(2);

/**
 * Reads the file of a run, which may be written at the same time, and have a torn end or a hole in it. Null if not even
 * its first line is complete: then nothing was recorded. `complete` inserts what is stored elsewhere. Throws a
 * `RecordingError` for a damaged one.
 */
export function readFileContent(all: Buffer, complete: (text: string) => string = (text) => text): FileContent | null {
  const hole = all.indexOf(HOLE);
  const content = hole === -1 ? all : all.subarray(0, all.lastIndexOf(NEWLINE, hole) + 1);
  const end = content.lastIndexOf(NEWLINE) + 1;
  const tail = content.subarray(end).toString('utf8');
  // A crash between the last brace and its newline has torn nothing that matters.
  const closed = !isWhole(tail) && !beginsWithLine(tail);
  const bytes = closed ? end : content.length;
  const text = content.subarray(0, bytes).toString('utf8');
  if (text.trim() === '') return null;
  return { recording: readRecording(complete(text)), bytes, closed };
}

/** Whether this is what a crash leaves of a run that had not begun: no line, or part of the first. */
export function isUnbegun(content: Buffer): boolean {
  return !content.includes(NEWLINE) && !isWhole(content.toString('utf8'));
}

function isWhole(line: string): boolean {
  return typeof parsedText(line) === 'object';
}

/**
 * Lets all that ask for a flush while one is under way share the next: asked a hundred times at once, it flushes twice.
 * The promise resolves when everything that was written before it was asked for is flushed.
 */
export function groupCommit(flush: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  const start = (): Promise<void> => {
    running = flush().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(nothing, nothing).then(() => {
      next = null;
      return start();
    });
    return next;
  };
}

const nothing = (): void => undefined;
