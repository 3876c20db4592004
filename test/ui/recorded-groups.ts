import { readFileSync, readdirSync } from 'node:fs';
import { type Recording, lineNumber, readRecording } from '../../src/journal/format/recording.ts';
import { type EventGroup, GroupPlayer } from '../../src/ui/base/event-groups.ts';

/** The committed recordings, by name. */
export const RECORDINGS = readdirSync('test/recordings').filter((file) => file.endsWith('.jsonl'));

export function committed(file: string): Recording {
  return readRecording(readFileSync(`test/recordings/${file}`, 'utf8'));
}

/** All groups of a recording. */
export function groupsOf(recording: Recording): readonly EventGroup[] {
  const player = new GroupPlayer();
  const lines = [recording.head, ...recording.lines];
  return lines.flatMap((line, index) => {
    const number = index === 0 ? 1 : lineNumber(recording, index - 1);
    return player.feed({ number, line }) ?? [];
  });
}
