import type { ActorTrack, Life, SessionModel } from './page-model.ts';
import { innermost } from './actor-state.ts';
import { lastUpTo } from './time-scale.ts';
import { type Tone, toneOf } from './tone.ts';
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

/** One line of the timeline: actors of one kind that never live at the same time share it. */
export interface Lane {
  readonly label: string;
  readonly depth: number;
  readonly spans: readonly LaneSpan[];
}

/** The lanes of a session. Leaves are left out: their time is that of the state which invokes them. */
export function lanesOf(session: SessionModel): readonly Lane[] {
  return sharedLines(session)
    .map(({ name, depth, lives }) => ({ label: name, depth, spans: lives.flatMap((one) => spansOf(session, one)) }))
    .sort((a, b) => a.depth - b.depth);
}

function spansOf({ steps }: SessionModel, { track, life }: TrackedLife): readonly LaneSpan[] {
  const spans: LaneSpan[] = [];
  const first = 1 + lastUpTo(track.steps.length, (index) => track.steps[index], life.from - 1);
  for (let index = first; index < track.steps.length; index++) {
    const at = track.steps[index] ?? 0;
    if (life.to !== null && at > life.to) break;
    const state = innermost(steps[at]?.to ?? []).join(' + ');
    const next = track.steps[index + 1];
    const to = next === undefined || (life.to !== null && next > life.to) ? life.to : next;
    spans.push({ actor: track.info.path, state, tone: toneOf(state), from: at, to });
  }
  return spans;
}

interface TrackedLife {
  readonly track: ActorTrack;
  readonly life: Life;
}

interface SharedLine {
  readonly kind: string;
  readonly name: string;
  readonly depth: number;
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
    const { parent, path, src } = one.track.info;
    // Ids of calls are numbered; all calls of one parent are of one kind.
    const kind = `${(parent ?? '').replaceAll(/\d+/g, '#')}/${src}`;
    const free = lines.find((line) => line.kind === kind && endOf(line) < one.life.from);
    if (free === undefined) lines.push({ kind, name: src, depth: path.split('/').length - 1, lives: [one] });
    else free.lives.push(one);
  }
  return lines;
}

function endOf({ lives }: SharedLine): number {
  return lives.at(-1)?.life.to ?? Infinity;
}

/** Something on the timeline that a reader looks for. */
export interface StepMark {
  readonly position: number;
  readonly kind: 'retry' | 'error' | 'approval' | 'plan' | 'answer' | 'end';
  readonly text: string;
}

/** The marks of a run, in order: retries, errors, approvals, plans, and how it ended. */
export function stepMarks(told: readonly SaidEvent[]): readonly StepMark[] {
  return told.flatMap(({ event, step: position }): readonly StepMark[] => {
    switch (event.type) {
      case 'model.retrying':
        return [
          {
            position,
            kind: 'retry',
            text: `${event.next === undefined ? 'model retry' : `model retry with ${event.next}`}: ${event.error.message}`,
          },
        ];
      case 'recovery.step':
        return [{ position, kind: 'retry', text: `${event.tool}: ${event.step}` }];
      case 'tool.finished':
        return event.ok ? [] : [{ position, kind: 'error', text: `${event.tool}: ${event.result.error ?? 'failed'}` }];
      case 'tool.denied':
        return [{ position, kind: 'error', text: `${event.tool}: denied` }];
      case 'escalation.raised':
        return [{ position, kind: 'error', text: `escalated: ${event.reason}` }];
      case 'loop.suspected':
        return [
          { position, kind: event.verdict === 'refuse' ? 'error' : 'retry', text: `${event.tool} repeats itself` },
        ];
      case 'approval.requested':
        return [{ position, kind: 'approval', text: `${event.tool}: waits for approval` }];
      case 'plan.made':
        return [{ position, kind: 'plan', text: `plan of ${event.steps.length} steps` }];
      case 'answer':
        return [{ position, kind: 'answer', text: 'answer' }];
      case 'run.finished':
        if (event.result.success) return [];
        return [
          { position, kind: event.result.status === 'failed' ? 'error' : 'end', text: `ended: ${event.result.reason}` },
        ];
      default:
        return [];
    }
  });
}
