import { readRecording, type Recording } from './recording.ts';

/** What stands in the file of a run. */
export interface FileContent {
  readonly recording: Recording;
  /** How much of the file is whole, in bytes: what follows was torn by a crash. */
  readonly bytes: number;
  /** The whole part ends with a newline. */
  readonly closed: boolean;
}

const NEWLINE = 0x0a;

/**
 * Reads the file of a run, which may be written at the same time or have a torn end. Null when not even its first line is
 * whole: then nothing was recorded. Throws a `RecordingError` for one that is damaged elsewhere.
 */
export function readFileContent(content: Buffer): FileContent | null {
  const end = content.lastIndexOf(NEWLINE) + 1;
  const tail = content.subarray(end).toString('utf8');
  // A crash between the last brace and its newline has torn nothing that matters.
  const closed = !isWhole(tail);
  const bytes = closed ? end : content.length;
  const text = content.subarray(0, bytes).toString('utf8');
  if (text.trim() === '') return null;
  return { recording: readRecording(text), bytes, closed };
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
