import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lineWriter } from '../../journal/format/blobs.ts';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import { inert } from '../../output/console/inert.ts';
import { systemCode } from '../../security/system-code.ts';
import { UsageError } from '../command.ts';
import { findRun } from '../runs/run-id-of.ts';
import { openRuns } from '../runs/runs-place.ts';

/** A recording that was named on the command line. */
export interface NamedRecording {
  readonly text: string;
  /** The file that it stands in; null for standard input and for a run of a database. */
  readonly file: string | null;
}

/**
 * The recording of a file, of a run by its id or the beginning of it, or of standard input for `-`. `place` is where runs
 * are kept, as `--in` names it. Throws a {@link UsageError} for one that is not there.
 */
export async function readRecordingOf(named: string, place: string | undefined): Promise<NamedRecording> {
  if (named === '-') return { text: readFileSync(0, 'utf8'), file: null };
  const text = readFile(named);
  if (text !== null) return { text, file: named };
  if (/[/\\]|\.jsonl$/.test(named)) throw new UsageError(`there is no file '${inert(named)}'.`);
  const runs = openRuns(place);
  const found = await findRun(runs, named);
  if (found.runId === null) throw new UsageError(`there is no file '${inert(named)}'. ${found.why}`);
  const file = join(runs.path, `${found.runId}.jsonl`);
  if (existsSync(file)) return { text: withHistory(readFileSync(file, 'utf8'), historiesIn(runs.path)), file };
  const recording = await runs.store.read(found.runId);
  const write = lineWriter();
  const lines = recording === null ? [] : [recording.head, ...recording.lines].map((record) => write(record));
  return { text: lines.join(''), file: null };
}

function readFile(path: string): string | null {
  try {
    return withHistory(readFileSync(path, 'utf8'), historiesIn(dirname(path)));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'EISDIR')
      throw new UsageError(`'${inert(path)}' is a folder. Name a file in it, or see 'signalbox runs list'.`);
    throw error;
  }
}
