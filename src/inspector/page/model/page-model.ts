import type { RecordLine } from '../../../journal/format/record.ts';
import {
  type ActorInfo,
  type Frame,
  type MachineDrawing,
  PROTOCOL,
  type SessionInfo,
  type StepInfo,
  isNumbered,
} from '../../frames/protocol.ts';
import { foldTalk } from './fold-talk.ts';
import { TalkDraft } from './talk-draft.ts';
import type { SaidEvent, TalkLog } from './talk.ts';
import { lastUpTo } from './time-scale.ts';

/** All that the page knows. It takes frames in the order in which the server sent them; one that comes twice changes nothing. */
export class PageModel {
  /** What the server reported about itself, and which sessions it had then; null before that. */
  server: {
    readonly version: string;
    readonly newer: boolean;
    readonly sessions: ReadonlySet<string>;
  } | null = null;
  readonly #drawings = new Map<string, MachineDrawing>();
  readonly drawings: ReadonlyMap<string, MachineDrawing> = this.#drawings;
  readonly #sessions = new Map<string, SessionModel>();
  /** In order of appearance. */
  readonly sessions: ReadonlyMap<string, SessionModel> = this.#sessions;
  /** Those that the server has dropped. */
  readonly #gone = new Set<string>();
  /** Whether a session is being viewed: it then stays, although the server has dropped it. */
  isShown: (id: string) => boolean = () => false;
  /** Called for each session that is dropped. */
  onDropped: (id: string) => void = () => undefined;

  /** Whether the server has dropped a session. */
  isGone(id: string): boolean {
    return this.#gone.has(id);
  }

  /** Drops sessions that the server has dropped and no one is viewing. */
  forgetGone(): void {
    for (const id of this.#gone) {
      if (this.isShown(id)) continue;
      this.#sessions.delete(id);
      this.#gone.delete(id);
      this.onDropped(id);
    }
  }

  /** What a server that was connected again does not have is gone, with the process or since: nothing can be done with it. */
  #keepOnly(ids: ReadonlySet<string>): void {
    for (const [id, session] of this.#sessions) {
      if (ids.has(id)) continue;
      this.#gone.add(id);
      const { info } = session;
      session.info = { ...info, status: info.status === 'running' ? 'interrupted' : info.status, waiting: 0, can: [] };
    }
    this.forgetGone();
  }

  /** How an actor is drawn; undefined for one that is not, or is not known. */
  drawingOf(actor: Pick<ActorInfo, 'drawing'> | undefined): MachineDrawing | undefined {
    return this.#drawings.get(actor?.drawing ?? '');
  }

  /** Takes in one frame. Frames of a session that was never announced are dropped. */
  add(frame: Frame): void {
    switch (frame.t) {
      case 'hello': {
        const { version, protocol } = frame;
        const sessions = new Set(frame.sessions);
        this.server = { version, newer: protocol > PROTOCOL, sessions };
        this.#keepOnly(sessions);
        return;
      }
      case 'drawing':
        this.#drawings.set(frame.drawing.hash, frame.drawing);
        return;
      case 'session': {
        const { session } = frame;
        this.#gone.delete(session.id);
        const known = this.#sessions.get(session.id);
        if (known?.info.at === session.at) known.info = session;
        else {
          // Another process may give the id of a run to one that begins anew.
          if (known !== undefined) this.onDropped(session.id);
          this.#sessions.set(session.id, new SessionModel(session));
        }
        return;
      }
      case 'session-gone':
        this.#gone.add(frame.session);
        this.forgetGone();
        return;
      default:
        this.#sessions.get(frame.session)?.add(frame);
    }
  }
}

/** One life of an actor: an invoked child is created again each time its state is entered, always under the same path. */
export interface Life {
  /** What the actor is in it: the steps of a plan run one tool after another under one path. */
  readonly info: ActorInfo;
  /** Position in the session's `steps` at which it appeared; it may already have moved there. */
  readonly from: number;
  /** Position after which it was gone; null while it lives. */
  readonly to: number | null;
}

/** All lives of one actor path, and the positions of all its steps, in order. */
export interface ActorTrack {
  /** What it is in its latest life. */
  readonly info: ActorInfo;
  readonly lives: readonly Life[];
  readonly steps: readonly number[];
}

interface GrowingTrack extends ActorTrack {
  readonly lives: Life[];
  readonly steps: number[];
}

/** The frames that belong to one session. */
type SessionFrame = Exclude<Frame, { t: 'hello' | 'drawing' | 'session' | 'session-gone' }>;

/**
 * One run, recording or actor system as the page knows it. The lists only ever grow (tokens aside), so that a view may
 * keep its place in them; they are one and the same lists after every frame, because copying them for each would cost
 * the square of a run's length. Frames that were already received (a stream resumed too early) are ignored.
 */
export class SessionModel {
  info: SessionInfo;
  /** Why its recording cannot be played to its end; null: it can. */
  problem: string | null = null;
  /** How much of its recording was read, from 0 to 1. */
  read = 0;
  /** Frames that the server left out because this viewer was too slow. */
  dropped = 0;
  /** The latest time that was received, in milliseconds from the session's beginning. */
  lastAt = 0;
  readonly #actors = new Map<string, GrowingTrack>();
  readonly actors: ReadonlyMap<string, ActorTrack> = this.#actors;
  readonly #steps: StepInfo[] = [];
  /** Positions in this list are what every view counts in; `StepInfo.n` is only what the server is asked with. */
  readonly steps: readonly StepInfo[] = this.#steps;
  readonly #told: SaidEvent[] = [];
  /** All events without tokens: the conversation at any step is rebuilt from them. */
  readonly told: readonly SaidEvent[] = this.#told;
  readonly #records: RecordLine[] = [];
  readonly records: readonly RecordLine[] = this.#records;
  readonly #talk = new TalkDraft();
  /** The conversation as of now, tokens included. */
  readonly talk: TalkLog = this.#talk;
  #lastSeq = -1;

  constructor(info: SessionInfo) {
    this.info = info;
    if (info.kind === 'system') this.read = 1;
  }

  add(frame: SessionFrame): void {
    switch (frame.t) {
      case 'actor':
        return this.#born(frame.actor);
      case 'actor-gone':
        return this.#gone(frame.path);
      case 'step':
        return this.#stepped(frame.step);
      case 'event': {
        // The step with that number, or the last one before it; -1 before the first.
        const step = lastUpTo(this.#steps.length, (index) => this.#steps[index]?.n, frame.step);
        const agent = frame.agent === undefined ? {} : { agent: frame.agent };
        return this.#heard({ event: frame.event, at: frame.at, step, ...agent });
      }
      case 'record':
        this.#records[frame.line] = frame.record;
        return;
      case 'read':
        this.read = frame.share;
        return;
      case 'problem':
        this.problem = frame.problem;
        return;
      case 'gap':
        this.dropped += frame.dropped;
    }
  }

  #born(info: ActorInfo): void {
    const track = this.#actors.get(info.path) ?? { info, lives: [], steps: [] };
    const last = track.lives.at(-1);
    if (last !== undefined && last.to === null && track.info.drawing === info.drawing) return;
    track.lives.push({ info, from: this.#steps.length, to: null });
    this.#actors.set(info.path, { ...track, info });
  }

  #gone(path: string): void {
    const lives = this.#actors.get(path)?.lives ?? [];
    const last = lives.at(-1);
    if (last !== undefined && last.to === null) lives[lives.length - 1] = { ...last, to: this.#steps.length - 1 };
  }

  #stepped(step: StepInfo): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && step.n <= last.n) return;
    this.#actors.get(step.actor)?.steps.push(this.#steps.length);
    this.#steps.push(step);
    this.lastAt = Math.max(this.lastAt, step.at);
  }

  #heard(said: SaidEvent): void {
    const { event, at } = said;
    if (isNumbered(event)) {
      if (event.seq <= this.#lastSeq) return;
      this.#lastSeq = event.seq;
    }
    if (event.type !== 'model.token' && event.type !== 'tool.progress') this.#told.push(said);
    this.lastAt = Math.max(this.lastAt, at);
    foldTalk(this.#talk, said);
  }
}
