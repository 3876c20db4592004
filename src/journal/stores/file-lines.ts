import { beginsWithLine } from '../format/checksums.ts';
import { readRecording, type Recording } from '../format/recording.ts';

/** What stands in the file of a run. */
export interface FileContent {
  readonly recording: Recording;
  /** How much of the file is whole, in bytes: what follows was torn by a crash. */
  readonly bytes: number;
  /** The whole part ends with a newline. */
  readonly closed: boolean;
}

const NEWLINE = 0x0a;

/** What the disk never got, of a file whose end was not flushed before the machine went down. One such byte is damage. */
const HOLE = Buffer.alloc(2);

/**
 * Reads the file of a run, which may be written at the same time, and have a torn end or a hole in it. Null when not even its first line is
 * whole: then nothing was recorded. `complete` puts in what stands elsewhere. Throws a `RecordingError` for one that is damaged.
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
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
