import type { RecordLine } from '../../../journal/format/record.ts';
import type { ActorInfo, SessionInfo, StepInfo } from '../../frames/protocol.ts';
import type { Told, Talk } from './talk/talk.ts';

/** One life of an actor: an invoked child is born anew each time its state is entered, always under the same path. */
export interface Life {
  /** Position in the session's `steps` at which it appeared; it may already have moved there. */
  readonly from: number;
  /** Position after which it was gone; null while it lives. */
  readonly to: number | null;
}

/** All lives of one actor path, and the positions of all its steps, in order. */
export interface ActorTrack {
  readonly info: ActorInfo;
  readonly lives: readonly Life[];
  readonly steps: readonly number[];
}

/**
 * One run, recording or actor system as the page knows it. The lists only ever grow (tokens aside), so that a view may
 * keep its place in them; they are one and the same lists after every frame, because copying them for each would cost the
 * square of a run's length.
 */
export interface SessionModel {
  readonly info: SessionInfo;
  readonly actors: ReadonlyMap<string, ActorTrack>;
  /** Positions in this list are what every view counts in; `StepInfo.n` is only what the server is asked with. */
  readonly steps: readonly StepInfo[];
  /** Everything that was said, without tokens: the conversation at any step is made anew from it. */
  readonly told: readonly Told[];
  /** The conversation as of now, tokens included. */
  readonly talk: Talk;
  readonly records: readonly RecordLine[];
  /** Frames that the server left out because this viewer was too slow. */
  readonly dropped: number;
  /** The latest time that was heard of, in milliseconds from the session's beginning. */
  readonly lastAt: number;
}
