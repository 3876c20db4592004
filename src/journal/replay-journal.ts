/**
 * Owns: playing a recording back, and noticing where the machine leaves it.
 *
 * I1 Nothing is performed and nothing is waited for; entries come in file order.
 * I2 Starts are compared one by one, in order, before the next entry is given.
 * I3 A divergence is thrown by `next` or `end`, never into the machine.
 */
import type { Effect, Entry } from '../actors/journal.ts';
import { digest } from '../actors/digest.ts';
import type { Json } from '../parsing/json.ts';
import { deltaReader } from './deltas.ts';
import { type Divergence, ReplayDivergenceError, firstDifference } from './divergence.ts';
import { type RecordLine, type StartRecord, recordedEntry } from './record.ts';
import { type Recording, lineNumber } from './recording.ts';
import type { RunJournal } from './run-journal.ts';

/** A journal that can be read without waiting, which `transitions` does. */
export interface ReplayJournal extends RunJournal {
  nextNow(): Entry | null;
  endNow(output: Json): void;
}

/** The journal of a run that happened already. `state` names the machine's state, for the report of a divergence. */
export function replayJournal(recording: Recording, state: () => string): ReplayJournal {
  const { lines } = recording;
  const restore = deltaReader();
  const fresh = new Map<string, Effect>();
  let cursor = 0;

  const diverged = (expected: string, actual: string, difference = ''): ReplayDivergenceError => {
    const divergence: Divergence = {
      entry: lineNumber(recording, cursor),
      state: state(),
      expected,
      actual,
      difference,
    };
    return new ReplayDivergenceError(divergence);
  };

  const line = (): RecordLine | undefined => {
    while (lines[cursor]?.t === 'note') cursor++;
    return lines[cursor];
  };

  const compareStarts = (): void => {
    for (const effect of fresh.values()) {
      const recorded = line();
      if (recorded?.t !== 'start') throw diverged(describe(recorded), `${effect.id} is started`);
      const request = recorded.request === undefined ? null : restore(recorded.id, recorded.request);
      compareStart(recorded, request, effect);
      cursor++;
    }
    fresh.clear();
  };

  const compareStart = (recorded: StartRecord, request: Json, effect: Effect): void => {
    if (recorded.id !== effect.id || recorded.name !== effect.name)
      throw diverged(describe(recorded), `${effect.id} is started`);
    if (recorded.digest === effect.digest && recorded.ms === effect.ms) return;
    const difference =
      recorded.ms === effect.ms ? firstDifference(request, effect.request) : `/ms: ${recorded.ms} → ${effect.ms}`;
    throw diverged(
      `${recorded.id} with digest ${recorded.digest}`,
      `${effect.id} with digest ${effect.digest}`,
      difference,
    );
  };

  const nextNow = (): Entry | null => {
    compareStarts();
    const recorded = line();
    if (recorded === undefined)
      throw diverged('nothing more: the recording ends here, before its run did', `the machine waits in ${state()}`);
    const entry = recordedEntry(recorded);
    if (entry === null) throw diverged(describe(recorded), `the machine waits in ${state()}`);
    cursor++;
    return entry;
  };

  const endNow = (output: Json): void => {
    compareStarts();
    const recorded = line();
    if (recorded === undefined) return;
    if (recorded.t !== 'end') throw diverged(describe(recorded), 'the run is over');
    if (digest(recorded.output) !== digest(output))
      throw diverged('the recorded result', 'another result', firstDifference(recorded.output, output));
  };

  return {
    open: (effect) => void fresh.set(effect.id, effect),
    close: (id) => void fresh.delete(id),
    next: () => new Promise((resolve) => resolve(nextNow())),
    end: endNow,
    nextNow,
    endNow,
    send: () => Promise.resolve(false),
  };
}

function describe(record: RecordLine | undefined): string {
  if (record === undefined) return 'nothing more: the recording ends here';
  switch (record.t) {
    case 'start':
      return `${record.id} is started`;
    case 'outcome':
      return `the outcome of ${record.id}`;
    case 'timer':
      return `${record.id} fires`;
    case 'event':
      return `the event ${record.event.type}`;
    case 'end':
      return 'the run is over';
    default:
      return `a record of the kind ${record.t}`;
  }
}
