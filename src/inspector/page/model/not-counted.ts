import { type Json, isJsonObject } from '../../../json/json.ts';

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

/** What {@link LENIENT} passes over, in words. */
export const NOT_COUNTED = 'times, durations, seeds, and the ids of runs and calls';

/** For runs that are held against each other: what is another thing in each run does not count. */
export const LENIENT = { meaning, isSameName } as const;

/**
 * What a value stands for in a comparison. Times, durations, seeds, and the ids of runs and calls stand for nothing but
 * themselves: they are others in each run. Where only one side has such a value, that is a difference.
 */
function meaning({ key, holder }: Standing, value: Json): Json {
  if (typeof value === 'number') return NUMBERS.has(key) ? '«number»' : value;
  if (key === 'stats' && isJsonObject(value)) return '«stats»';
  if (typeof value !== 'string') return value;
  // Services number the calls that they ask for.
  if (IDS.has(key) || (key === 'id' && holder === 'toolCalls')) return '«id»';
  return MOMENT.test(value) ? '«time»' : uncalled(value);
}

/** True for names of members that mean the same: our runs number their calls, and keep what came of them by that. */
function isSameName(left: string, right: string): boolean {
  return CALL.test(left) && CALL.test(right);
}

const CALL = /^c\d+$/;

/** A name with the number of a call left out, such as `agent/c3/callTool` or `xstate.done.actor.c3`; other texts as they are. */
function uncalled(text: string): string {
  return text.length < 200 ? text.replaceAll(/(?<=^|[./])c\d+(?=$|[./])/g, 'c') : text;
}
