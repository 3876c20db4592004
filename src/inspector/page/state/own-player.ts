import type { Frame } from '../../frames/protocol.ts';
import { JournalPlayer } from '../player/journal-player.ts';

/** Makes a player in this thread, for a saved page; the build takes it from the script that stands before the page's. */
export function ownPlayer(session: string, emit: (frame: Frame) => void): JournalPlayer {
  return new JournalPlayer(session, emit);
}
