import { isList } from '../../../../json/depth.ts';
import { type Json, isJsonObject } from '../../../../json/json.ts';
import { align } from './align.ts';

/** One difference between two values. `path` reads like code: `stats.errorHistory[2].code`. */
export type Difference =
  | { readonly kind: 'added'; readonly path: string; readonly after: Json }
  | { readonly kind: 'removed'; readonly path: string; readonly before: Json }
  | { readonly kind: 'changed'; readonly path: string; readonly before: Json; readonly after: Json };

/** What does not count as a difference. */
interface Leniency {
  /** What a value means: values with the same meaning do not differ. */
  readonly meaning: (place: ValuePlace, value: Json) => Json;
  /** Whether members that exist on one side each may be compared although their names differ. */
  readonly isSameName: (before: string, after: string) => boolean;
}

const STRICT: Leniency = { meaning: (_, value) => value, isSameName: () => false };

interface Place extends ValuePlace {
  readonly path: string;
}

/** Lists are aligned where they have at most so many members in between that are not alike. */
const MOST_ALIGNED = 200;

/**
 * What differs between two values, innermost first found: objects by key, everything else whole; of lists those members
 * that have no counterpart, so that one more does not shift all that follow. Stops after `most` differences, so a rewritten
 * megabyte costs no more than a small change.
 */
export function jsonDiff(before: Json, after: Json, most = 200, leniency = STRICT): readonly Difference[] {
  const { meaning, isSameName } = leniency;
  const found: Difference[] = [];
  walk({ path: '', key: '', holder: '' }, before, after);
  return found;

  function walk(place: Place, old: Json, now: Json): void {
    if (found.length >= most || old === now || meaning(place, old) === meaning(place, now)) return;
    if (isList(old) && isList(now)) return walkLists(place, old, now);
    if (isJsonObject(old) && isJsonObject(now)) return walkObjects(place, old, now);
    found.push({ kind: 'changed', path: place.path, before: old, after: now });
  }

  function walkLists({ path, key, holder }: Place, old: readonly Json[], now: readonly Json[]): void {
    for (const [left, right] of counterparts(old, now, alikeAt({ key, holder }))) {
      if (found.length >= most) return;
      step({ path: `${path}[${right ?? left}]`, key, holder }, at(old, left), at(now, right));
    }
  }

  function walkObjects(place: Place, old: { readonly [key: string]: Json }, now: typeof old): void {
    const gone = Object.keys(old).filter((key) => !Object.hasOwn(now, key));
    const come = Object.keys(now).filter((key) => !Object.hasOwn(old, key));
    const renamed = new Map(
      gone.flatMap((key, index) => {
        const other = come[index];
        return other !== undefined && isSameName(key, other) ? [[key, other] as const] : [];
      }),
    );
    const others = new Set(renamed.values());
    const keys = [...Object.keys(old), ...come.filter((key) => !others.has(key))];
    for (const key of keys) {
      if (found.length >= most) return;
      const name = renamed.get(key) ?? key;
      step({ path: joined(place.path, name), key: name, holder: place.key }, ownOf(old, key), ownOf(now, name));
    }
  }

  function step(place: Place, old: Json | undefined, now: Json | undefined): void {
    if (old !== undefined && now !== undefined) walk(place, old, now);
    else if (now !== undefined) found.push({ kind: 'added', path: place.path, after: now });
    else if (old !== undefined) found.push({ kind: 'removed', path: place.path, before: old });
  }

  /** Members are alike when they differ in nothing that counts. */
  function alikeAt(place: ValuePlace): Alike {
    return {
      same: (one, other) => jsonDiff({ [place.key]: one }, { [place.key]: other }, 1, leniency).length === 0,
      text: (value) => JSON.stringify(counted(place, value)),
    };
  }

  /** Everything that a value means. */
  function counted(place: ValuePlace, value: Json): Json {
    const meant = meaning(place, value);
    if (meant !== value) return meant;
    if (isList(value)) return value.map((one) => counted(place, one));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, counted({ key, holder: place.key }, inner)]),
    );
  }
}

interface Alike {
  same(one: Json, other: Json): boolean;
  /** A text that is the same for members that are. */
  text(value: Json): string;
}

type Pair = readonly [left: number | null, right: number | null];

/** The members of two lists beside each other: those that are alike, and between them the others, one by one. */
function counterparts(old: readonly Json[], now: readonly Json[], { same, text }: Alike): readonly Pair[] {
  const isSame = (left: number, right: number): boolean => {
    const [one, other] = [old[left], now[right]];
    return one !== undefined && other !== undefined && (one === other || same(one, other));
  };
  const shorter = Math.min(old.length, now.length);
  if (old.length === now.length) return Array.from(old, (_, index): Pair => [index, index]);
  let head = 0;
  while (head < shorter && isSame(head, head)) head++;
  let tail = 0;
  while (tail < shorter - head && isSame(old.length - 1 - tail, now.length - 1 - tail)) tail++;
  const [leftEnd, rightEnd] = [old.length - tail, now.length - tail];
  const between = Math.max(leftEnd, rightEnd) - head;
  const matches =
    between > MOST_ALIGNED ? [] : align(old.slice(head, leftEnd).map(text), now.slice(head, rightEnd).map(text));
  const pairs: Pair[] = [];
  let [left, right] = [head, head];
  for (const match of [...matches, { left: leftEnd - head, right: rightEnd - head }]) {
    const [toLeft, toRight] = [head + match.left, head + match.right];
    while (left < toLeft || right < toRight)
      pairs.push([left < toLeft ? left++ : null, right < toRight ? right++ : null]);
    left = toLeft + 1;
    right = toRight + 1;
  }
  return pairs;
}

function at(list: readonly Json[], index: number | null): Json | undefined {
  return index === null ? undefined : list[index];
}

function ownOf(value: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function joined(path: string, key: string): string {
  if (!/^[\w$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Where two values stand: the name under which they are found, and that of what holds them. Members of a list have its name. */
interface ValuePlace {
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

/** For comparing runs: what differs in every run does not count. */
export const LENIENT: Leniency = { meaning: lenientMeaning, isSameName: isCallName };

/**
 * What a value means in a comparison. Times, durations, seeds, and the ids of runs and calls have no meaning of their
 * own: they differ in every run. If only one side has such a value, that is a difference.
 */
function lenientMeaning({ key, holder }: ValuePlace, value: Json): Json {
  if (typeof value === 'number') return NUMBERS.has(key) ? '«number»' : value;
  if (key === 'stats' && isJsonObject(value)) return '«stats»';
  if (typeof value !== 'string') return value;
  // Services number the calls that they ask for.
  if (IDS.has(key) || (key === 'id' && holder === 'toolCalls')) return '«id»';
  return MOMENT.test(value) ? '«time»' : uncalled(value);
}

/** True for names of members that mean the same: our runs number their calls, and keep what came of them by that. */
function isCallName(left: string, right: string): boolean {
  return CALL.test(left) && CALL.test(right);
}

const CALL = /^c\d+$/;

/** A name with the number of a call left out, such as `agent/c3/callTool` or `xstate.done.actor.c3`; other texts as they are. */
function uncalled(text: string): string {
  return text.length < 200 ? text.replaceAll(/(?<=^|[./])c\d+(?=$|[./])/g, 'c') : text;
}
