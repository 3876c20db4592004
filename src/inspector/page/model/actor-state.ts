import type { StepInfo } from '../../frames/protocol.ts';
import { lastUpTo } from './time/last-up-to.ts';
import type { ActorTrack, Life, SessionModel } from './session-model.ts';

/** How one actor stands after the step at a position. */
export interface ActorState {
  readonly path: string;
  readonly track: ActorTrack;
  readonly alive: boolean;
  /** Its latest step up to the position in the life it is in; null when it has not moved. */
  readonly step: StepInfo | null;
  readonly position: number;
  /** All active states, ancestors included. */
  readonly active: ReadonlySet<string>;
}

/** The actors that live after the step at `position`, and those that ended with it, parents before children. */
export function actorsAt(session: SessionModel, position: number): readonly ActorState[] {
  const states: ActorState[] = [];
  for (const track of session.actors.values()) {
    const life = lifeAt(track.lives, position);
    if (life !== null && (life.to === null || life.to >= position))
      states.push(stateIn(session, track, life, position));
  }
  return states;
}

/** How one actor stands at `position`, dead or alive; null when it was not born yet. */
export function actorAt(session: SessionModel, path: string, position: number): ActorState | null {
  const track = session.actors.get(path);
  const life = track === undefined ? null : lifeAt(track.lives, position);
  return track === undefined || life === null ? null : stateIn(session, track, life, position);
}

/** A set of dotted paths with all their ancestors; the root, an empty path, is left out. */
export function withAncestors(paths: readonly string[]): ReadonlySet<string> {
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
    alive: life.to === null || life.to > position,
    step,
    position: at ?? -1,
    active: withAncestors(step?.to ?? []),
  };
}

function lifeAt(lives: readonly Life[], position: number): Life | null {
  for (let at = lives.length - 1; at >= 0; at--) {
    const life = lives[at];
    if (life !== undefined && life.from <= position) return life;
  }
  return null;
}
