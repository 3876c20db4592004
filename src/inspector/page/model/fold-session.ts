import type { RecordLine } from '../../../journal/format/record.ts';
import type { ActorInfo, Frame, SessionInfo, StepInfo } from '../../frames/protocol.ts';
import { foldTalk } from './talk/fold-talk.ts';
import { lastUpTo } from './time/last-up-to.ts';
import type { ActorTrack, Life, SessionModel } from './session-model.ts';
import type { Told } from './talk/talk.ts';

/** The frames that belong to one session. */
type SessionFrame = Exclude<Frame, { t: 'hello' | 'drawing' | 'session' }>;

/** A session while it is made. */
export interface SessionFold {
  readonly model: SessionModel;
  describe(info: SessionInfo): void;
  add(frame: SessionFrame): void;
}

interface Track extends ActorTrack {
  readonly lives: Life[];
  readonly steps: number[];
}

/** Folds the frames of one session, in order. What was heard already (a stream that was resumed too early) is ignored. */
export function foldSession(first: SessionInfo): SessionFold {
  const steps: StepInfo[] = [];
  const told: Told[] = [];
  const records: RecordLine[] = [];
  const actors = new Map<string, Track>();
  const talk = foldTalk();
  let info = first;
  let dropped = 0;
  let lastAt = 0;
  let lastSeq = -1;

  const born = (actor: ActorInfo): void => {
    const track = actors.get(actor.path) ?? { info: actor, lives: [], steps: [] };
    const last = track.lives.at(-1);
    if (last !== undefined && last.to === null && track.info.drawing === actor.drawing) return;
    track.lives.push({ from: steps.length, to: null });
    actors.set(actor.path, { ...track, info: actor });
  };

  const gone = (path: string): void => {
    const lives = actors.get(path)?.lives;
    const last = lives?.at(-1);
    if (lives !== undefined && last !== undefined && last.to === null)
      lives[lives.length - 1] = { ...last, to: steps.length - 1 };
  };

  const stepped = (step: StepInfo): void => {
    const last = steps.at(-1);
    if (last !== undefined && step.n <= last.n) return;
    actors.get(step.actor)?.steps.push(steps.length);
    steps.push(step);
    lastAt = Math.max(lastAt, step.at);
  };

  const heard = (one: Told): void => {
    const { type, seq } = one.event;
    // Tokens and news of servers have the number of the event before them.
    const numbered = type !== 'model.token' && type !== 'mcp.changed' && type !== 'mcp.log';
    if (numbered && seq <= lastSeq) return;
    if (numbered) lastSeq = seq;
    if (type !== 'model.token') told.push(one);
    lastAt = Math.max(lastAt, one.at);
    talk.add(one);
  };

  const add = (frame: SessionFrame): void => {
    switch (frame.t) {
      case 'actor':
        return born(frame.actor);
      case 'actor-gone':
        return gone(frame.path);
      case 'step':
        return stepped(frame.step);
      case 'event':
        return heard({ event: frame.event, at: frame.at, step: placeOf(steps, frame.step) });
      case 'record':
        records[frame.line] = frame.record;
        return;
      case 'gap':
        dropped += frame.dropped;
    }
  };

  return {
    model: {
      get info() {
        return info;
      },
      actors,
      steps,
      told,
      talk: talk.talk,
      records,
      get dropped() {
        return dropped;
      },
      get lastAt() {
        return lastAt;
      },
    },
    describe: (newer) => {
      info = newer;
    },
    add,
  };
}

/** Where in the list the step with number `n` stands, or the last one before it; -1 before the first. */
export function placeOf(steps: readonly StepInfo[], n: number): number {
  return lastUpTo(steps.length, (index) => steps[index]?.n, n);
}
