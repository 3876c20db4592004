import { lineWriter } from './blobs.ts';
import type { RecordLine } from './record.ts';
import { readRecording } from './recording.ts';

/** What {@link normalizeRecording} leaves unchanged. */
export interface NormalizeOptions {
  /** Keep when things happened. Default: every time becomes 0, the beginning 1970. */
  readonly times?: boolean;
}

/** The members of records in the order in which they are written; others follow. */
const ORDER = 't at id name effects digest key request ms ok value error event to'.split(' ');

/**
 * The same recording in the one form that it has: the members of records in order, large payloads stored once, no torn
 * end, no records of unknown kinds, and no times, so that a run which goes the same way again gives the same lines.
 * Payloads keep the order of their keys: texts that a model was sent are made of them.
 */
export function normalizeRecording(
  recording: string | readonly (string | object)[],
  { times = false }: NormalizeOptions = {},
): string {
  const { head, lines } = readRecording(recording);
  const write = lineWriter();
  const timeless = (record: RecordLine): RecordLine => {
    if (times) return record;
    return record.t === 'run' ? { ...record, at: new Date(0).toISOString() } : { ...record, at: 0 };
  };
  return [head, ...lines].map((record) => write(ordered(timeless(record)))).join('');
}

function ordered(record: RecordLine): RecordLine {
  if (record.t === 'run') return record;
  const place = (key: string): number => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);
  const keys = Object.keys(record).toSorted((a, b) => place(a) - place(b));
  return Object.assign({ t: record.t }, ...keys.map((key) => ({ [key]: valueOf(record, key) })));
}

function valueOf(record: RecordLine, key: string): unknown {
  return Reflect.get(record, key);
}
