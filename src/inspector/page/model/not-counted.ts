import { type Json, isJsonObject } from '../../../parsing/json.ts';

/** Where two values stand: the name under which they are found, and that of what holds them. Members of a list have its name. */
export interface Standing {
  readonly key: string;
  readonly holder: string;
}

/** Numbers that are others each time. */
const NUMBERS: ReadonlySet<string> = new Set([
  'at',
  'startedAt',
  'endedAt',
  'createdAt',
  'updatedAt',
  'timestamp',
  'durationMs',
  'elapsedMs',
  'seed',
  'jitterSeed',
]);

/** Names that runs give to themselves and to their calls. */
const IDS: ReadonlySet<string> = new Set(['runId', 'callId', 'toolCallId', 'idempotencyKey']);

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$/;

/** What {@link isNotCounted} passes over, in words. */
export const NOT_COUNTED = 'times, durations, seeds, and the ids of runs and calls';

/**
 * True for a difference that says nothing: times, durations, seeds, and the ids of runs and calls, which are other ones in
 * each run. A value that only one side has always counts.
 */
export function isNotCounted({ key, holder }: Standing, left: Json, right: Json): boolean {
  if (typeof left === 'number' && typeof right === 'number') return NUMBERS.has(key);
  if (typeof left === 'string' && typeof right === 'string') {
    // Services number the calls that they ask for.
    const isId = IDS.has(key) || (key === 'id' && holder === 'toolCalls');
    return isId || (MOMENT.test(left) && MOMENT.test(right));
  }
  return key === 'stats' && isJsonObject(left) && isJsonObject(right);
}
