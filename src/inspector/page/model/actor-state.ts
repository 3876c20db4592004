import { agentAbove } from '../../frames/names.ts';
import type { ActorInfo, StepInfo } from '../../frames/protocol.ts';
import { lastUpTo } from './time-scale.ts';
import type { ActorTrack, Life, SessionModel } from './page-model.ts';
import type { TalkLog } from './talk.ts';

/** How one actor stands after the step at a position. */
export interface ActorState {
  readonly path: string;
  readonly track: ActorTrack;
  /** What it is in the life it is in. */
  readonly info: ActorInfo;
  readonly alive: boolean;
  /** Its latest step up to the position in the life it is in; null before its first transition. */
  readonly step: StepInfo | null;
  readonly position: number;
  /** All active states, ancestors included. */
  readonly active: ReadonlySet<string>;
}

/** The actors that live after the step at `position`, and those that ended with it, parents before children. */
export function actorsAt(session: SessionModel, position: number): readonly ActorState[] {
  return [...session.actors.values()].flatMap((track) => {
    const life = track.lives.findLast(({ from }) => from <= position);
    const isThere = life !== undefined && (life.to === null || life.to >= position);
    return isThere ? [stateIn(session, track, life, position)] : [];
  });
}

/** A set of dotted paths with all their ancestors; the root, an empty path, is left out. */
function withAncestors(paths: readonly string[]): ReadonlySet<string> {
  const all = new Set<string>();
  for (const path of paths)
    for (let at = path; at !== ''; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') all.add(at);
  return all;
}

/** The innermost of a set of dotted paths: those that hold no other. */
export function innermost(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => path !== '' && !paths.some((other) => other.startsWith(`${path}.`)));
}

function stateIn(session: SessionModel, track: ActorTrack, life: Life, position: number): ActorState {
  const most = Math.min(position, life.to ?? position);
  const at = track.steps[lastUpTo(track.steps.length, (index) => track.steps[index], most)] ?? null;
  const step = at === null || at < life.from ? null : (session.steps[at] ?? null);
  return {
    path: track.info.path,
    track,
    info: life.info,
    alive: life.to === null || life.to > position,
    step,
    position: at ?? -1,
    active: withAncestors(step?.to ?? []),
  };
}

/** What an actor is called: its own name, else that of its kind where its id is only a number, else its id. */
export function actorLabel({ name, path, src }: Pick<ActorInfo, 'name' | 'path' | 'src'>): string {
  const id = path.slice(path.lastIndexOf('/') + 1);
  if (name !== undefined) return name;
  return src === 'llmCall' ? 'model' : src === 'toolCall' || src === 'childAgent' ? src : id;
}

/** An actor as people read it, with the agents above it: `chief › researcher › search`. `position` is a step of its life. */
export function actorText(session: SessionModel | null, path: string, position: number): string {
  return crumbsOf(path)
    .map((at) => labelAt(session, at, position))
    .join(' › ');
}

/** What the actor at a path is called in the life that it is in at a step; the end of the path where it is not known. */
export function labelAt(session: SessionModel | null, path: string, position: number): string {
  const life = session?.actors.get(path)?.lives.findLast(({ from }) => from <= position);
  return actorLabel(life?.info ?? { path, src: '' });
}

/** The paths of an actor and of all above it, without the calls in which child agents work: they have the agent's name. */
export function crumbsOf(path: string): readonly string[] {
  const parts = path.split('/');
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  return paths.filter((_, index) => parts[index + 1] !== 'childAgent');
}

/**
 * Which actor's chart to show if none was chosen: that of the agent which moved, or which one of its calls and questions
 * belongs to; in other actor systems that of the actor which moved.
 */
export function movedActor(session: SessionModel, step: StepInfo | undefined): string | null {
  if (step === undefined) return null;
  if (session.info.kind !== 'system') return agentAbove(step.actor) || null;
  return session.actors.get(step.actor)?.info.drawing == null ? null : step.actor;
}

/**
 * What an actor is about, in one word or two: the tool of a call, else its own id. `whole` is the conversation as far as it
 * is known, in which a call has its name before it has any output; `shown` the one at the step that is looked at.
 */
export function actorTitle(
  { info, path }: ActorState,
  { whole, shown }: { readonly whole: TalkLog; readonly shown: TalkLog },
): string {
  if (info.name !== undefined) return info.name;
  const id = path.slice(path.lastIndexOf('/') + 1);
  const call = whole.items.findLast((item) => item.kind === 'call' && item.callId === id);
  if (call?.kind === 'call') return call.tool;
  const plan = id === 'step' ? shown.items.findLast((item) => item.kind === 'plan') : undefined;
  if (plan?.kind !== 'plan') return id;
  return plan.steps.find(({ status }) => status === 'running')?.tool ?? id;
}

/** What an actor has used of its drawing so far, over all its lives. */
interface VisitCounts {
  /** How often each state was entered. */
  readonly visits: ReadonlyMap<string, number>;
  /** The transitions that were ever taken. */
  readonly taken: ReadonlySet<string>;
}

/** Of an actor before its first transition. */
export const NO_VISITS: VisitCounts = { visits: new Map(), taken: new Set() };

interface Counted extends VisitCounts {
  readonly visits: Map<string, number>;
  readonly taken: Set<string>;
  /** How many of the actor's steps are counted, and up to which position. */
  counted: number;
  position: number;
}

const kept = new WeakMap<readonly number[], Counted>();

/** What an actor has used up to `position`. Counting continues where it ended, so a live run costs what is new in it. */
export function visitsAt(session: SessionModel, path: string, position: number): VisitCounts {
  const steps = session.actors.get(path)?.steps ?? [];
  let counts = kept.get(steps);
  if (counts === undefined || counts.position > position) {
    counts = { visits: new Map(), taken: new Set(), counted: 0, position: -1 };
    kept.set(steps, counts);
  }
  for (let at = steps[counts.counted]; at !== undefined && at <= position; at = steps[++counts.counted])
    count(counts, session.steps[at]);
  counts.position = position;
  return counts;
}

function count({ visits, taken }: Counted, step: StepInfo | undefined): void {
  if (step === undefined) return;
  const before = withAncestors(step.from);
  for (const state of withAncestors(step.to)) if (!before.has(state)) visits.set(state, (visits.get(state) ?? 0) + 1);
  for (const transition of step.transitions) taken.add(transition);
}
