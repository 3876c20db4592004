import type { RunJournal } from '../run/run-journal.ts';
import type { Playback } from './playback.ts';

/** The journal of a run that happened already: it is played, and whoever waits beyond its last record is told that it was cut. */
export function replayJournal(played: Playback): RunJournal {
  return {
    open: (effect, perform) => played.open(effect, perform),
    close: (id) => played.close(id),
    next: () =>
      new Promise((resolve) => {
        const entry = played.next();
        if (entry === null) throw played.cutShort();
        resolve(entry);
      }),
    end: (output) => void played.end(output),
    at: () => played.at(),
    send: () => Promise.resolve(false),
  };
}
