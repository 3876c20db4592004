import { type Divergence, ReplayDivergenceError } from '../../journal/replay/divergence.ts';

/**
 * The agent asked for something that the recording of a test does not hold: a prompt, a tool or the code was changed.
 * `entry` is the line of the nearest recorded request, `difference` how the two differ.
 */
export class RecordingMissError extends ReplayDivergenceError {
  /** The recording's file. */
  readonly path: string;

  /** `calledFrom`: the frames of the test's own call, which runners then point at. */
  constructor(path: string, divergence: Divergence, calledFrom: string) {
    super(divergence);
    this.path = path;
    this.message += `\n  recording: ${path}, line ${divergence.entry}\n${ADVICE}`;
    this.stack = `${this.name}: ${this.message}\n${calledFrom}`;
  }
}

const ADVICE =
  'If the change is intended, record again: run this test with SIGNALBOX_RECORD=all, and review the diff of the file.';

/** Codes of {@link UseRecordingError}. */
export type UseRecordingErrorCode = 'recording-missing' | 'recording-failed';

/** There is no recording and none may be made, or the one that was made is not worth keeping. */
export class UseRecordingError extends Error {
  override readonly name = 'UseRecordingError';
  readonly code: UseRecordingErrorCode;
  readonly path: string;

  constructor(code: UseRecordingErrorCode, path: string, message: string) {
    super(message);
    this.code = code;
    this.path = path;
  }
}

/** The frames of a stack from the caller of this function on: runners then point at the test's own line. */
export function framesAbove(callee: (...args: never) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return (holder.stack ?? '').split('\n').slice(1).join('\n');
}
