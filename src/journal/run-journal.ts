import type { Journal, OutsideEvent } from '../actors/journal.ts';
import type { RunRecord } from './record.ts';

/** A journal that also takes events from outside. */
export interface RunJournal extends Journal {
  /**
   * Puts an event from outside in order. Resolves true once it is durable, false when its target does not take it any
   * more: it is over, or was never there.
   */
  send(event: OutsideEvent, to?: string): Promise<boolean>;
}

/** What a journal is told of the run that it keeps. */
export interface RunHead {
  readonly head: RunRecord;
  /** Whether the actor at a path (the root without one) takes this event now. */
  readonly accepts: (event: OutsideEvent, to: string | undefined) => boolean;
}

/** A place where runs are kept: the option `journal` of an agent. */
export interface JournalStore {
  /** Begins the record of one run. Throws when it cannot be kept there. */
  open(run: RunHead): RunJournal;
}
