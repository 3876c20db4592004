import type { Recording } from '../../journal/format/recording.ts';
import type { StepMatter } from './frame-maker.ts';
import { playback } from '../sessions/playback.ts';
import type { Frame } from './protocol.ts';
import { PROTOCOL } from './protocol.ts';
import { recordedEnding, sessionInfo } from '../sessions/session-info.ts';

/** Everything that the page is told of a recording, as one list: what a saved page holds. */
export function framesOf(recording: Recording, { id, version, onStep }: FramesOptions): readonly Frame[] {
  const frames: Frame[] = [];
  const { head, lines } = recording;
  const player = playback({
    session: id,
    emit: (frame) => void frames.push(frame),
    ...(onStep === undefined ? {} : { onStep }),
  });
  for (const line of [head, ...lines]) player.feed(line);
  const session = sessionInfo(head, recordedEnding(lines.at(-1)), {
    id,
    kind: 'recording',
    problem: player.problem,
    can: [],
  });
  return [{ t: 'hello', protocol: PROTOCOL, version, live: false }, { t: 'session', session }, ...frames];
}

interface FramesOptions {
  /** The id of the session in the frames. */
  readonly id: string;
  /** Signalbox's own. */
  readonly version: string;
  readonly onStep?: (n: number, matter: StepMatter) => void;
}
