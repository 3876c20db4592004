import type { SessionModel } from '../session-model.ts';
import { innermost } from '../actor-state.ts';
import { lastUpTo } from './last-up-to.ts';
import { type Tone, toneOf } from '../tone.ts';

/** A stretch of time that an actor spent in one state, from the step at `from` to before the one at `to`. */
export interface Span {
  readonly actor: string;
  readonly state: string;
  readonly tone: Tone;
  readonly from: number;
  /** Position of the step that ended it; null while it lasts. */
  readonly to: number | null;
}

/** One line of the timeline: actors of one kind that never live at the same time share it. */
export interface Lane {
  readonly label: string;
  readonly depth: number;
  readonly spans: readonly Span[];
}

interface Draft {
  readonly kind: string;
  readonly label: string;
  readonly depth: number;
  readonly spans: Span[];
  busyUntil: number;
}

/** The lanes of a session. Leaves are left out: their time is that of the state which invokes them. */
export function lanesOf(session: SessionModel): readonly Lane[] {
  const drafts: Draft[] = [];
  const lives = [...session.actors.values()]
    .filter((track) => track.info.drawing !== null)
    .flatMap((track) => track.lives.map((life) => ({ track, life })))
    .sort((a, b) => a.life.from - b.life.from);
  for (const { track, life } of lives) {
    const kind = `${parentKind(track.info.parent)}/${track.info.src}`;
    let lane = drafts.find((draft) => draft.kind === kind && draft.busyUntil <= life.from);
    if (lane === undefined) {
      const depth = track.info.path.split('/').length - 1;
      lane = { kind, label: track.info.src, depth, spans: [], busyUntil: 0 };
      drafts.push(lane);
    }
    lane.busyUntil = life.to === null ? Infinity : life.to + 1;
    const first = 1 + lastUpTo(track.steps.length, (index) => track.steps[index], life.from - 1);
    for (let index = first; index < track.steps.length; index++) {
      const at = track.steps[index] ?? 0;
      if (life.to !== null && at > life.to) break;
      const state = innermost(session.steps[at]?.to ?? []).join(' + ');
      const next = track.steps[index + 1];
      const to = next === undefined || (life.to !== null && next > life.to) ? life.to : next;
      lane.spans.push({ actor: track.info.path, state, tone: toneOf(state), from: at, to });
    }
  }
  return drafts.sort((a, b) => a.depth - b.depth);
}

/** Ids of calls are numbered; all calls of one parent are of one kind. */
function parentKind(parent: string | null): string {
  return (parent ?? '').replaceAll(/\d+/g, '#');
}
