import type { Entry } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import { STRICT, playback } from './playback.ts';
import type { Recording } from '../format/recording.ts';
import type { RunJournal } from '../run/run-journal.ts';
import type { Tolerance } from './compare.ts';

/** A journal that can be read without waiting, which `transitions` does. */
export interface ReplayJournal extends RunJournal {
  nextNow(): Entry | null;
  endNow(output: Json): void;
}

/** The journal of a run that happened already. `state` names the machine's state, for the report of a divergence. */
export function replayJournal(recording: Recording, state: () => string, tolerance: Tolerance = STRICT): ReplayJournal {
  const played = playback(recording, state, tolerance);
  const nextNow = (): Entry => {
    const entry = played.next();
    if (entry !== null) return entry;
    throw played.cutShort(state());
  };
  return {
    open: (effect, perform) => played.open(effect, perform),
    close: (id) => played.close(id),
    next: () => new Promise((resolve) => resolve(nextNow())),
    end: (output) => void played.end(output),
    nextNow,
    endNow: (output) => void played.end(output),
    at: () => played.at(),
    send: () => Promise.resolve(false),
  };
}
