import type { OutsideEvent } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import type { RunJournal } from '../run/run-journal.ts';

/**
 * An engine under test. It runs bodies of this process on its journal; where one throws a {@link LostAttempt}, as a crash
 * would end it, the engine gives it a journal with its past and runs it from its beginning.
 */
export interface TestedEngine {
  /** Runs a body under an id; returns its result. */
  run(runId: string, body: EngineBody): Promise<Json>;
  /** Sends an event to a run from outside. True once the run has taken it, false if it is over. */
  send(runId: string, event: OutsideEvent): Promise<boolean>;
  /** The engine's own way to cancel a run; left out where it has none. */
  cancel?(runId: string): Promise<void>;
}

/** What drives a journal in one attempt. It takes what the journal gives, and depends on nothing else. */
export type EngineBody = (journal: RunJournal) => Promise<Json>;

/** Ends an attempt as a crash does. */
export class LostAttempt extends Error {
  override readonly name = 'LostAttempt';
}
