import type { Recording } from '../../src/journal/format/recording.ts';
import type { StepSource } from '../../src/inspector/frames/initial-snapshot.ts';
import { framePlayer } from '../../src/inspector/frames/frame-player.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { PROTOCOL } from '../../src/inspector/frames/protocol.ts';
import { recordedEnding, sessionInfo } from '../../src/inspector/sessions/session.ts';

/** Everything that the page is told of a recording, as one list: what a saved page holds. */
export function framesOf(recording: Recording, { id, version, onStep }: FramesOptions): readonly Frame[] {
  const frames: Frame[] = [];
  const { head, lines } = recording;
  const player = framePlayer({
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
  readonly onStep?: (n: number, source: StepSource) => void;
}
