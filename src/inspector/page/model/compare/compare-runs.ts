import type { RecordLine } from '../../../../journal/format/record.ts';
import { type Json, plainJson } from '../../../../json/json.ts';
import { align } from './align.ts';
import { jsonDiff, LENIENT } from './json-diff.ts';
import { lastUpTo } from '../time-scale.ts';
import type { ActorTrack, SessionModel } from '../page-model.ts';

/** One line of a comparison: positions of steps, that of the left run beside that of the right one. */
export type ComparedRow =
  /** The same transition, with the same data. */
  | { readonly kind: 'same'; readonly left: number; readonly right: number }
  /** The same transition with other data; `what` is where that begins. */
  | { readonly kind: 'data'; readonly left: number; readonly right: number; readonly what: string }
  /** Other transitions, which share nothing but their position. */
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

/** What came in with the first step after an entry of the recording; null for steps that only follow from it. */
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
      return plainJson({ agent, input, instructions, toolCalling, toolset, history, options });
    }
    case 'outcome':
      return record.ok ? { output: record.value } : plainJson({ error: record.error });
    case 'event':
      return plainJson(record.event);
    default:
      return null;
  }
}

/**
 * The positions of the two steps that a row is about. `without`: the side that has no such transition, if one has none. Where that
 * begins, and the same actor continues `next` on that side too, its transition is here as what happened instead.
 */
export function pairAt({ rows, roles }: Comparison, index: number) {
  const row = rows[index];
  if (row === undefined) return { left: null, right: null, without: null, next: null };
  const { left, right } = row;
  if (left !== null && right !== null) return { left, right, without: null, next: null };
  const [has, lacks] = left === null ? (['right', 'left'] as const) : (['left', 'right'] as const);
  const at = (rows.slice(0, index).findLast((one) => one[lacks] !== null)?.[lacks] ?? -1) + 1;
  const begins = rows[index - 1]?.kind !== row.kind;
  const instead = begins && roles[lacks][at] === roles[has][row[has] ?? -1] ? at : null;
  const next = at < roles[lacks].length ? at : null;
  return left === null ? { left: instead, right, without: 'A', next } : { left, right: instead, without: 'B', next };
}

/** What a comparison needs to know of a run. */
export type ComparedRun = Pick<SessionModel, 'steps' | 'actors' | 'told' | 'records'>;

/** An actor in one of its lives. */
interface Player {
  readonly role: string;
  /** The tools that lead to it from the root, joined with `/`. */
  readonly tools: string;
}

/**
 * Who made each step, in words that mean the same in another run: a call is named by its tool, because its id only counts
 * calls, and one retry more would shift all that follow. Of calls of one tool that run side by side the second is `·2`.
 */
export function rolesOf({ steps, actors, told }: ComparedRun): readonly string[] {
  const toolAt = toolsOf(told);
  const players = new Map<string, Player[]>();
  const going = new Map<string, { readonly until: number }[]>();
  const beginnings = [...actors.values()]
    .flatMap((track) => track.lives.map((life, index) => ({ track, life, index })))
    .toSorted(
      (one, other) => one.life.from - other.life.from || one.track.info.path.length - other.track.info.path.length,
    );
  for (const { track, life, index } of beginnings) {
    const { path, parent, src } = track.info;
    const above = parent === null ? undefined : players.get(parent)?.[lifeAt(actors.get(parent), life.from)];
    const until = life.to ?? steps.length;
    const tool =
      src === 'toolCall' ? toolAt(above?.tools ?? '', path.slice(path.lastIndexOf('/') + 1), life.from, until) : null;
    const name = `${above === undefined ? '' : `${above.role}/`}${tool ?? src}`;
    const beside = (going.get(name) ?? []).filter((one) => one.until >= life.from);
    going.set(name, [...beside, { until }]);
    const role = beside.length === 0 ? name : `${name}·${beside.length + 1}`;
    const tools = tool === null ? (above?.tools ?? '') : joined(above?.tools ?? '', tool);
    const lives = players.get(path) ?? [];
    lives[index] = { role, tools };
    players.set(path, lives);
  }
  return steps.map(({ actor }, position) => players.get(actor)?.[lifeAt(actors.get(actor), position)]?.role ?? actor);
}

/** Finds the tool of a call: by its id, or, of a step in a plan, by what was called while it ran. */
function toolsOf(told: ComparedRun['told']) {
  const byId = new Map<string, string>();
  const calls: { readonly step: number; readonly child: string; readonly tool: string }[] = [];
  for (const { event, step } of told) {
    if (!('callId' in event) || !('tool' in event)) continue;
    const child = event.child ?? '';
    byId.set(`${child}|${event.callId}`, event.tool);
    calls.push({ step, child, tool: event.tool });
  }
  return (child: string, id: string, from: number, until: number): string | null => {
    const known = byId.get(`${child}|${id}`);
    if (known !== undefined) return known;
    for (let at = lastUpTo(calls.length, (index) => calls[index]?.step, from - 1) + 1; at < calls.length; at++) {
      const call = calls[at];
      if (call === undefined || call.step > until) return null;
      if (call.child === child) return call.tool;
    }
    return null;
  };
}

function lifeAt(track: ActorTrack | undefined, position: number): number {
  const lives = track?.lives ?? [];
  return lastUpTo(lives.length, (index) => lives[index]?.from, position);
}

function joined(one: string, other: string): string {
  return one === '' ? other : `${one}/${other}`;
}

/** One line of a list in which long stretches of what is the same are folded. */
export type FoldedRow = { readonly kind: 'row'; readonly index: number } | ({ readonly kind: 'fold' } & Fold);

/** Rows that one line folds. */
export interface Fold {
  readonly from: number;
  readonly count: number;
}

/** So many rows stay in sight before and after each that counts. */
const AROUND = 3;
/** Stretches of fewer rows are not folded. */
const LEAST = 5;

interface FoldOptions {
  readonly count: number;
  /** True for rows that must be seen. */
  readonly counts: (index: number) => boolean;
  /** The folds that were opened. */
  readonly opened: readonly Fold[];
}

/** Folds the stretches of rows that are far from any that counts. Where none counts, all are shown. */
export function foldRows({ count, counts, opened }: FoldOptions): readonly FoldedRow[] {
  const near = new Uint8Array(count);
  let any = false;
  for (let index = 0; index < count; index++) {
    if (!counts(index)) continue;
    any = true;
    near.fill(1, Math.max(0, index - AROUND), Math.min(count, index + AROUND + 1));
  }
  for (const { from, count: many } of opened) near.fill(1, from, Math.min(count, from + many));
  const rows: FoldedRow[] = [];
  for (let index = 0; index < count;) {
    let end = index;
    while (end < count && near[end] === 0) end++;
    if (any && end - index >= LEAST) rows.push({ kind: 'fold', from: index, count: end - index });
    else for (let at = index; at < end; at++) rows.push({ kind: 'row', index: at });
    for (; end < count && near[end] === 1; end++) rows.push({ kind: 'row', index: end });
    index = end;
  }
  return rows;
}
