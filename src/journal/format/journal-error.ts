import { isError } from '../../json/to-json.ts';
import { isTwin } from '../../json/errors.ts';

/** Stable codes of the errors of a store of runs. */
export type JournalErrorCode =
  | 'run-locked'
  | 'run-exists'
  | 'run-lost'
  | 'store-newer'
  | 'store-not-migrated'
  | 'store-unreachable'
  | 'store-unwritable'
  | 'sqlite-missing';

/** A store cannot do what was requested; `code` is the reason, and `runId` the run concerned (null: all of them). */
export class JournalError extends Error {
  override readonly name = 'JournalError';
  readonly code: JournalErrorCode;
  readonly runId: string | null;

  constructor(code: JournalErrorCode, runId: string | null, place: string, cause?: unknown) {
    super(textOf(code, runId ?? '', place, cause), cause === undefined ? undefined : { cause });
    this.code = code;
    this.runId = runId;
  }

  static override [Symbol.hasInstance](error: unknown): boolean {
    return super[Symbol.hasInstance](error) || (this === JournalError && isTwin(error, 'JournalError', 'runId'));
  }
}

function textOf(code: JournalErrorCode, runId: string, place: string, cause: unknown): string {
  const why = isError(cause) && cause.message !== '' ? ` (${cause.message.replace(/\.$/, '')})` : '';
  switch (code) {
    case 'run-locked':
      return `Run ${runId} in ${place} is being written by another process. Wait until the run ends, or stop that process.`;
    case 'run-exists':
      return `There is a run ${runId} in ${place} already. Give another runId, or remove that run.`;
    case 'run-lost':
      return `${runId === '' ? 'A run' : `Run ${runId}`} in ${place} cannot be written by this process any more: another has taken it over because this one seemed dead, or its lock, its file or its last records were removed.`;
    case 'store-newer':
      return `${place} was written by a newer version of Signalbox. Update signalbox.`;
    case 'store-not-migrated':
      return `${place} has no tables of this version. Run 'signalbox journal migrate <url>', or give the option migrate.`;
    case 'sqlite-missing':
      return `${place} cannot be opened: this runtime has no node:sqlite. Use Node 22.18 or newer, without --no-experimental-sqlite, or another journal.`;
    case 'store-unwritable':
      return `${place} cannot be written${why}. ${
        isError(cause) && Reflect.get(cause, 'code') === 'ERR_ACCESS_DENIED'
          ? `Start Node with --allow-fs-write=${place}*, or use another journal.`
          : 'Use another place or another journal.'
      }`;
    case 'store-unreachable':
      return `${place} could not be reached for too long${why}. What was not written there has not happened: resume the run later.`;
  }
}

/** The recording cannot be read: it is damaged, or a newer version made it (`recording-newer`). `line` counts from 1. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  readonly code: 'bad-recording' | 'recording-newer';
  readonly line: number;
  /** What is wrong with the line, without its number. */
  readonly what: string;

  constructor(line: number, what: string, code: RecordingError['code'] = 'bad-recording') {
    super(`Line ${line} of the recording ${what}`);
    this.code = code;
    this.line = line;
    this.what = what;
  }
}
