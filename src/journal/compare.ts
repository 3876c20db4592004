import { digest } from '../actors/digest.ts';
import type { Json } from '../parsing/json.ts';
import { deltaReader } from './deltas.ts';
import { firstDifference } from './divergence.ts';
import type { RecordLine } from './record.ts';
import { type Recording, lineNumber } from './recording.ts';

/** The first place where two recordings differ. */
export interface RecordingDifference {
  /** The lines of the two files; null where a recording has ended already. */
  readonly lines: readonly [number | null, number | null];
  readonly records: readonly [RecordLine | null, RecordLine | null];
  /** JSON Pointer and both values; empty where one has ended or they are of different kinds. */
  readonly what: string;
}

/**
 * Holds two recordings against each other, times and run ids aside. Null when they are the same. Requests are compared
 * as they were asked, not as they are written against each other.
 */
export function compareRecordings(a: Recording, b: Recording): RecordingDifference | null {
  const [left, right] = [recordsOf(a), recordsOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const [one = null, other = null] = [left[index], right[index]];
    if (one !== null && other !== null && digest(one.plain) === digest(other.plain)) continue;
    return {
      lines: [one?.line ?? null, other?.line ?? null],
      records: [one?.record ?? null, other?.record ?? null],
      what:
        one === null || other === null || one.record.t !== other.record.t
          ? ''
          : firstDifference(one.plain, other.plain),
    };
  }
  return null;
}

interface Compared {
  readonly line: number;
  readonly record: RecordLine;
  readonly plain: Json;
}

function recordsOf(recording: Recording): readonly Compared[] {
  const restore = deltaReader();
  const compared = [
    { line: 1, record: recording.head },
    ...recording.lines.map((record, index) => ({ line: lineNumber(recording, index), record })),
  ];
  return compared
    .map(({ line, record }): Compared => ({ line, record, plain: plain(record, restore) }))
    .filter(({ record }) => record.t !== 'note' && record.t !== 'restart');
}

/** A record without what differs between two runs that are the same: times, and the id of the run. */
function plain(record: RecordLine, restore: ReturnType<typeof deltaReader>): Json {
  const { at: _at, ...rest } = record;
  if (rest.t === 'run') return json({ ...rest, runId: '' });
  if (rest.t !== 'start' || rest.request === undefined) return json(rest);
  return json({ ...rest, request: restore(rest.id, rest.request) });
}

function json(value: object): Json {
  const plainValue: Json = JSON.parse(JSON.stringify(value));
  return plainValue;
}
