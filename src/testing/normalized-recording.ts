import { basename } from 'node:path';
import { isJsonObject } from '../parsing/json.ts';

const SOME_DAY = '2000-01-01T00:00:00.000Z';

/**
 * The lines of a recording without what differs from one recording of the same run to the next: the run's id becomes the
 * file's name, times become zero, speed figures and remarks go. It replays as before.
 */
export function normalizedRecording(recording: string, path: string): string {
  const lines = recording.split('\n').filter((line) => line.trim() !== '');
  return lines
    .flatMap((line) => {
      const record: unknown = JSON.parse(line);
      const plain = isJsonObject(record) ? normalized(record, path) : null;
      return plain === null ? [] : [`${JSON.stringify(plain)}\n`];
    })
    .join('');
}

function normalized(record: { readonly [key: string]: unknown }, path: string): object | null {
  if (record.t === 'note') return null;
  if (record.t === 'run') return { ...record, runId: basename(path).replace(/\.jsonl$/, ''), at: SOME_DAY };
  const { value } = record;
  const timeless = 'at' in record ? { ...record, at: 0 } : record;
  if (record.t !== 'outcome' || !isJsonObject(value)) return timeless;
  return { ...timeless, value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'stats')) };
}
