import { basename } from 'node:path';
import { normalizeRecording } from '../../journal/format/normalize.ts';
import type { RecordLine } from '../../journal/format/record.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { isJsonObject } from '../../json/json.ts';

/**
 * The lines of a recording without what differs from one recording of the same run to the next: the run's id becomes the
 * file's name, times become zero, speed figures and remarks go. It replays as before.
 */
export function normalizedRecording(recording: string, path: string): string {
  const { head, lines } = readRecording(recording);
  const runId = basename(path).replace(/\.jsonl$/, '');
  return normalizeRecording([{ ...head, runId }, ...lines.flatMap(stable)]);
}

function stable(line: RecordLine): readonly RecordLine[] {
  if (line.t === 'note') return [];
  if (line.t !== 'outcome' || !line.ok || !isJsonObject(line.value)) return [line];
  const value = Object.fromEntries(Object.entries(line.value).filter(([key]) => key !== 'stats'));
  return [{ ...line, value }];
}
