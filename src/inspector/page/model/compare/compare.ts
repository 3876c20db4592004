import type { RecordLine } from '../../../../journal/format/record.ts';
import type { Json } from '../../../../json/json.ts';
import { align } from './align.ts';
import { jsonDiff } from './json-diff.ts';
import { LENIENT } from '../not-counted.ts';
import { type ComparedRun, rolesOf } from '../talk/roles.ts';

/** One line of a comparison: positions of steps, that of the left run beside that of the right one. */
export type ComparedRow =
  /** The same move, on the same. */
  | { readonly kind: 'same'; readonly left: number; readonly right: number }
  /** The same move, but what came in was something else; `what` is where that begins. */
  | { readonly kind: 'data'; readonly left: number; readonly right: number; readonly what: string }
  /** Other moves, which have nothing to do with each other than their place. */
  | { readonly kind: 'apart'; readonly left: number; readonly right: number }
  | { readonly kind: 'left'; readonly left: number; readonly right: null }
  | { readonly kind: 'right'; readonly left: null; readonly right: number };

/** Two runs side by side. */
export interface Comparison {
  /** The first row that is not the same on both sides; null when there is none. */
  readonly first: number | null;
  readonly rows: readonly ComparedRow[];
  /** How many rows are not the same. */
  readonly differing: number;
  /** Who made each step, in words that mean the same in both runs. */
  readonly roles: { readonly left: readonly string[]; readonly right: readonly string[] };
}

/**
 * Lays two runs side by side. Steps are alike when the same actor goes to the same states on the same event; which of them
 * stand beside each other is found over the whole length, so that a retry on one side is a few lines on that side and all
 * that follows is in line again. What came from outside is compared too, times, durations and ids aside.
 */
export function compareRuns(left: ComparedRun, right: ComparedRun): Comparison {
  const roles = { left: rolesOf(left), right: rolesOf(right) };
  const matches = align(keysOf(left, roles.left), keysOf(right, roles.right));
  const rows: ComparedRow[] = [];
  let [l, r] = [0, 0];
  for (const match of [...matches, { left: left.steps.length, right: right.steps.length }]) {
    while (l < match.left && r < match.right) rows.push({ kind: 'apart', left: l++, right: r++ });
    while (l < match.left) rows.push({ kind: 'left', left: l++, right: null });
    while (r < match.right) rows.push({ kind: 'right', left: null, right: r++ });
    if (match.left === left.steps.length) break;
    const what = differenceOf(left, l, right, r);
    const places = { left: l++, right: r++ };
    rows.push(what === null ? { kind: 'same', ...places } : { kind: 'data', ...places, what });
  }
  const first = rows.findIndex(({ kind }) => kind !== 'same');
  const differing = rows.filter(({ kind }) => kind !== 'same').length;
  return { first: first === -1 ? null : first, rows, differing, roles };
}

function keysOf({ steps }: ComparedRun, roles: readonly string[]): readonly string[] {
  return steps.map(({ event, to }, index) => `${roles[index]}|${event}|${to.join()}`);
}

/**
 * Where what came in with two steps differs, null where it does not. All else that they differ in follows from this, and
 * from what came in before.
 */
function differenceOf(left: ComparedRun, l: number, right: ComparedRun, r: number): string | null {
  const [one, other] = [broughtBy(left, l), broughtBy(right, r)];
  if (one === null || other === null) return null;
  const [first] = jsonDiff(one, other, 1, LENIENT);
  return first === undefined ? null : first.path;
}

/** What the first step after an entry of the recording was told; null for steps that only follow from it. */
function broughtBy({ steps, records }: ComparedRun, position: number): Json {
  const entry = steps[position]?.entry ?? null;
  if (entry === null || steps[position - 1]?.entry === entry) return null;
  const record = records[entry];
  return record === undefined ? null : brought(record);
}

function brought(record: RecordLine): Json {
  switch (record.t) {
    case 'run': {
      const { agent, input, instructions, toolCalling, toolset, history, options } = record;
      return plain({ agent, input, instructions, toolCalling, toolset, history, options });
    }
    case 'outcome':
      return record.ok ? { output: record.value } : plain({ error: record.error });
    case 'event':
      return plain(record.event);
    default:
      return null;
  }
}

/** A value that was read from JSON, as JSON. */
function plain(value: object): Json {
  const json: Json = JSON.parse(JSON.stringify(value));
  return json;
}
