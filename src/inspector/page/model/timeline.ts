import type { RunEvent } from '../../../machines/events/run-events.ts';
import type { ActorInfo, MachineDrawing, Tone } from '../../frames/protocol.ts';
import type { ActorTrack, Life, SessionModel } from './page-model.ts';
import { actorLabel, innermost } from './actor-state.ts';
import { lastUpTo } from './time-scale.ts';
import { toneAfter } from './tone.ts';
import type { SaidEvent } from './talk.ts';

/** A stretch of time that an actor spent in one state, from the step at `from` to before the one at `to`. */
export interface LaneSpan {
  readonly actor: string;
  readonly state: string;
  readonly tone: Tone;
  readonly from: number;
  /** Position of the step that ended it; null while it lasts. */
  readonly to: number | null;
}

/** One line of the timeline: actors of one kind and name that never live at the same time share it. */
export interface Lane {
  /** What distinguishes it from the others. */
  readonly id: string;
  readonly label: string;
  /** How many lanes it stands below. */
  readonly depth: number;
  readonly hasChildren: boolean;
  readonly spans: readonly LaneSpan[];
}

type Drawings = ReadonlyMap<string, MachineDrawing>;

/**
 * The lanes of a session as a tree, parents before their children. Leaves are left out: their time is that of the state
 * which invokes them; so is a loop detection that has found nothing.
 */
export function lanesOf(session: SessionModel, drawings: Drawings): readonly Lane[] {
  const spansIn = ({ lives }: SharedLine) => lives.flatMap((one) => spansOf(session, one, drawings));
  const lines = sharedLines(session).filter(
    (line) => line.src !== 'loopDetection' || spansIn(line).some(({ tone }) => tone !== 'go'),
  );
  const below = Map.groupBy(lines, (line) => lines.find((other) => isAbove(other, line)));
  const lanes: Lane[] = [];
  const place = (line: SharedLine, depth: number): void => {
    const children = below.get(line) ?? [];
    const id = `${line.kind}#${lines.indexOf(line)}`;
    lanes.push({ id, label: line.name, depth, hasChildren: children.length > 0, spans: spansIn(line) });
    for (const child of children) place(child, depth + 1);
  };
  for (const root of below.get(undefined) ?? []) place(root, 0);
  return lanes;
}

/** The lanes that are to be seen where some are shut: those below them are not. */
export function openLanes(lanes: readonly Lane[], shut: ReadonlySet<string>): readonly Lane[] {
  let below = Infinity;
  return lanes.filter(({ id, depth }) => {
    if (depth > below) return false;
    below = shut.has(id) ? depth : Infinity;
    return true;
  });
}

/** The spans of one life so far, and how many of its actor's steps they are made of. */
interface KeptSpans {
  readonly drawing: MachineDrawing | undefined;
  readonly spans: LaneSpan[];
  counted: number;
}

const kept = new WeakMap<ActorTrack, Map<number, KeptSpans>>();

/** The spans of a life. They continue where they ended, so a live run costs what is new in it. */
function spansOf({ steps }: SessionModel, { track, life }: TrackedLife, drawings: Drawings): readonly LaneSpan[] {
  const known = keptSpans(track, life.from, drawings.get(track.info.drawing ?? ''));
  const { spans, drawing } = known;
  const end = (to: number | null): void => {
    const last = spans.at(-1);
    if (last !== undefined && last.to !== to) spans[spans.length - 1] = { ...last, to };
  };
  for (; known.counted < track.steps.length; known.counted++) {
    const at = track.steps[known.counted] ?? 0;
    if (life.to !== null && at > life.to) break;
    const step = steps[at];
    if (step?.ignored !== undefined) continue;
    end(at);
    const state = innermost(step?.to ?? []).join(' + ');
    spans.push({ actor: track.info.path, state, tone: toneAfter(drawing, step ?? null), from: at, to: null });
  }
  end(life.to);
  return spans;
}

function keptSpans(track: ActorTrack, from: number, drawing: MachineDrawing | undefined): KeptSpans {
  const lives = kept.get(track) ?? new Map<number, KeptSpans>();
  kept.set(track, lives);
  const known = lives.get(from);
  if (known !== undefined && known.drawing === drawing) return known;
  const counted = 1 + lastUpTo(track.steps.length, (index) => track.steps[index], from - 1);
  const made = { drawing, spans: [], counted };
  lives.set(from, made);
  return made;
}

/** What a span says in its lane: the names of the innermost states, one for each region of a parallel state. */
export function shortState(state: string): string {
  const names = state.split(' + ').map((path) => path.slice(path.lastIndexOf('.') + 1));
  return names.join(' + ');
}

interface TrackedLife {
  readonly track: ActorTrack;
  readonly life: Life;
}

interface SharedLine {
  readonly kind: string;
  readonly name: string;
  readonly src: string;
  /** The path of the actor above that of its first life. */
  readonly parent: string | null;
  readonly lives: TrackedLife[];
}

/** Lines for the lives of all machines: those of one kind that never live at the same time share one. */
export function sharedLines({ actors }: SessionModel): readonly SharedLine[] {
  const lines: SharedLine[] = [];
  const lives = [...actors.values()]
    .filter(({ info }) => info.drawing !== null)
    .flatMap((track) => track.lives.map((life) => ({ track, life })))
    .sort((a, b) => a.life.from - b.life.from);
  for (const one of lives) {
    const { parent, src } = one.life.info;
    const name = actorLabel(one.life.info);
    const kind = kindOf(one.life.info, name);
    const free = lines.find((line) => line.kind === kind && endOf(line) < one.life.from);
    if (free === undefined) lines.push({ kind, name, src, parent, lives: [one] });
    else free.lives.push(one);
  }
  return lines;
}

/** Whether the actor that a line's first life belongs to is in the other line, in the life that it had then. */
function isAbove(other: SharedLine, { parent, lives: [first] }: SharedLine): boolean {
  const begun = first?.life.from ?? 0;
  return other.lives.some(
    ({ track, life }) => track.info.path === parent && life.from <= begun && begun <= (life.to ?? Infinity),
  );
}

const kinds = new WeakMap<ActorInfo, string>();

/** Ids of calls are numbered; all calls of one tool by one parent are of one kind. */
function kindOf(info: ActorInfo, name: string): string {
  const { parent, src } = info;
  const known = kinds.get(info) ?? `${(parent ?? '').replaceAll(/\d+/g, '#')}/${src}/${name}`;
  kinds.set(info, known);
  return known;
}

function endOf({ lives }: SharedLine): number {
  return lives.at(-1)?.life.to ?? Infinity;
}

/** Something on the timeline that a reader looks for. */
export interface StepMark {
  readonly position: number;
  readonly kind: 'retry' | 'error' | 'approval' | 'plan' | 'answer' | 'end';
}

/** The marks of a run, in order: retries, errors, approvals, plans, and how it ended. */
export function stepMarks(told: readonly SaidEvent[]): readonly StepMark[] {
  return told.flatMap(({ event, step: position }) => {
    const kind = markOf(event);
    return kind === null ? [] : [{ position, kind }];
  });
}

function markOf(event: RunEvent): StepMark['kind'] | null {
  switch (event.type) {
    case 'model.retrying':
    case 'recovery.step':
      return 'retry';
    case 'tool.finished':
      return event.ok ? null : 'error';
    case 'tool.denied':
    case 'escalation.raised':
      return 'error';
    case 'loop.suspected':
      return event.verdict === 'refuse' ? 'error' : 'retry';
    case 'approval.requested':
      return 'approval';
    case 'plan.made':
      return 'plan';
    case 'answer':
      return 'answer';
    case 'run.finished':
      if (event.result.success) return null;
      return event.result.status === 'failed' ? 'error' : 'end';
    default:
      return null;
  }
}
