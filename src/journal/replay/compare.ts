import { digest } from '../../json/digest.ts';
import { defined, isJsonObject, type Json, type JsonObject, plainJson } from '../../json/json.ts';
import { deltaReader } from '../format/deltas.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import { lineNumber, type Recording } from '../format/recording.ts';
import { firstDifference, isToldTheSame } from './divergence.ts';

/** A place where two recordings differ. */
export interface RecordingDifference {
  /** The lines of the two files; null where a recording has ended already. */
  readonly lines: readonly [number | null, number | null];
  readonly records: readonly [RecordLine | null, RecordLine | null];
  /** JSON Pointer and both values; empty where one has ended or they are of different kinds. */
  readonly what: string;
}

/**
 * Compares two recordings, apart from times, run ids and seeds, and returns the first places where they differ: in what
 * the runs were given, and in what happened. Empty when they are the same. Requests are compared as they were asked, not
 * as they are written against each other.
 */
export function compareRecordings(a: Recording, b: Recording): readonly RecordingDifference[] {
  const [[head, ...left], [otherHead, ...right]] = [recordsOf(a), recordsOf(b)];
  const length = Math.max(left.length, right.length);
  const first = Array.from({ length }, (_, index) => index).find((index) => differ(left[index], right[index]));
  return [
    ...(differ(head, otherHead) ? [difference(head, otherHead)] : []),
    ...(first === undefined ? [] : [difference(left[first], right[first])]),
  ];
}

function differ(one: Compared | undefined, other: Compared | undefined): boolean {
  return one === undefined || other === undefined || digest(one.plain) !== digest(other.plain);
}

function difference(one: Compared | undefined, other: Compared | undefined): RecordingDifference {
  const comparable = one !== undefined && other !== undefined && one.record.t === other.record.t;
  return {
    lines: [one?.line ?? null, other?.line ?? null],
    records: [one?.record ?? null, other?.record ?? null],
    what: comparable ? firstDifference(one.plain, other.plain) : '',
  };
}

interface Compared {
  readonly line: number;
  readonly record: RecordLine;
  readonly plain: Json;
}

function recordsOf(recording: Recording): readonly Compared[] {
  const restore = deltaReader(recording.head);
  const compared = [
    { line: 1, record: recording.head },
    ...recording.lines.map((record, index) => ({ line: lineNumber(recording, index), record })),
  ];
  return compared
    .map(({ line, record }): Compared => ({ line, record, plain: plain(record, restore) }))
    .filter(({ record }) => !REMARKS.has(record.t));
}

/** What a replay ignores. */
const REMARKS: ReadonlySet<string> = new Set(['note', 'restart']);

/** A record without what differs between two runs that are the same: times, the id of the run, and its seeds. */
function plain(record: RecordLine, restore: ReturnType<typeof deltaReader>): Json {
  const { at: _at, ...rest } = record;
  if (rest.t === 'run') return plainJson({ ...rest, runId: '', seed: 0, options: { ...rest.options, jitterSeed: 0 } });
  if (rest.t !== 'start' || rest.request === undefined) return plainJson(rest);
  return plainJson({ ...rest, request: restore(rest.id, rest.request) });
}

/** Differences between a recorded request and the current one that a replay may accept. */
export type AllowedDifference = 'prompt' | 'tools';

/** How strictly a replay compares requests. */
export interface Tolerance {
  /**
   * `prompt`: the system prompt. `tools`: the tools that a request offers, and what the system prompt says of them while
   * the instructions are the recorded ones.
   */
  readonly allow: readonly AllowedDifference[];
  /** Which effects are wanted is compared, what they ask for is not: for a fork, whose outcomes are given anyway. */
  readonly anyRequest?: boolean;
  /** A start without a digest is compared by name alone: its writer has left them out. */
  readonly noDigests?: boolean;
  /** The head as this agent would have written it. */
  readonly now: RunRecord | null;
  /** The head that `now` is compared with, where a recording is played with another. Default: the recording's. */
  readonly recorded?: RunRecord;
}

/** Whether two different requests are equal except for what is allowed. */
export function isTolerated(
  recorded: Json,
  now: Json,
  { allow, anyRequest = false, now: head }: Tolerance,
  was: RunRecord,
): boolean {
  if (anyRequest) return true;
  if (!isJsonObject(recorded) || !isJsonObject(now)) return false;
  const tools = allow.includes('tools');
  const prompt = allow.includes('prompt') || (tools && head !== null && isToldTheSame(was, head));
  if (!tools && !prompt) return false;
  const bare = (request: JsonObject): JsonObject => {
    const { tools: offered, responseSchema, messages, ...rest } = request;
    return {
      ...rest,
      ...(tools ? {} : defined({ tools: offered, responseSchema })),
      ...defined({ messages: prompt ? withoutPrompt(messages) : messages }),
    };
  };
  return digest(bare(recorded)) === digest(bare(now));
}

function withoutPrompt(messages: Json | undefined): Json | undefined {
  return Array.isArray(messages)
    ? messages.filter((message: Json) => !isJsonObject(message) || message.role !== 'system')
    : messages;
}
