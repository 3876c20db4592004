import type { Recording } from '../../src/journal/format/recording.ts';
import { recordingLines } from '../../src/journal/format/recording.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { PROTOCOL } from '../../src/inspector/frames/protocol.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
import { recordedEnding } from '../../src/inspector/sessions/file-session.ts';
import { sessionInfo } from '../../src/inspector/sessions/journal-session.ts';

/** Everything that the page shows of a recording, as one list. */
export function framesOf(recording: Recording, { id, version }: FramesOptions): readonly Frame[] {
  const frames: Frame[] = [];
  const { head, lines } = recording;
  const player = new JournalPlayer(id, (frame) => void frames.push(frame));
  for (const line of recordingLines(recording).trim().split('\n')) player.take(line);
  const session = sessionInfo(head, recordedEnding(lines.at(-1)), { id, kind: 'recording', problem: null, can: [] });
  return [{ t: 'hello', protocol: PROTOCOL, version, sessions: [session.id] }, { t: 'session', session }, ...frames];
}

interface FramesOptions {
  /** The id of the session in the frames. */
  readonly id: string;
  /** Signalbox's own. */
  readonly version: string;
}
