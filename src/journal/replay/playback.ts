/**
 * Owns: playing the records of a run to its machine, and noticing where the machine leaves them.
 *
 * I1 Nothing is performed and nothing is waited for; entries come in file order.
 * I2 Starts are compared one by one, in order, before the next entry is given.
 * I3 A divergence is thrown by `next` or `end`, never into the machine.
 */
import { digest } from '../../json/digest.ts';
import type { Effect, Entry, Perform } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import { deltaReader } from '../format/deltas.ts';
import { firstDifference, likelyCause, readableDiff, ReplayDivergenceError } from './divergence.ts';
import { type RecordLine, type StartRecord, recordedEntry } from '../format/record.ts';
import { type Recording, lineNumber } from '../format/recording.ts';
import { type Tolerance, isTolerated } from './compare.ts';

/** An effect that the machine wants. */
export interface Wanted {
  readonly effect: Effect;
  readonly perform: Perform;
}

/** An effect that was started and has not settled; `at` is when, in milliseconds from the run's beginning. */
export interface InFlight extends Wanted {
  readonly at: number;
}

/** A recording that is being played. */
export interface Playback {
  open(effect: Effect, perform: Perform): void;
  close(id: string): void;
  /** The next recorded entry, once the starts before it were compared; null where the recording stops. */
  next(): Entry | null;
  /** Compares how the run ended; true when the recording has an end, and it is this one. */
  end(output: Json): boolean;
  /** The number of the record that was passed last: its line in a file. 1 is the head. */
  passed(): number;
  /** What was started and has not settled, in order of opening. */
  inFlight(): readonly InFlight[];
  /** What the machine wants and was never started, in order of opening. */
  unstarted(): readonly Wanted[];
  /** When the last record was made that was passed, in milliseconds from the run's beginning. */
  at(): number;
  /** The error for a recording that stops before its run did. */
  cutShort(state: string): ReplayDivergenceError;
}

export const STRICT: Tolerance = { allow: [], now: null };

/** Plays a recording. `state` names the machine's state, for the report of a divergence. */
export function playback(
  recording: Recording,
  state: () => string,
  tolerance: Tolerance = STRICT,
  onStart: (effect: Effect, at: number) => void = () => undefined,
): Playback {
  const { head, lines } = recording;
  const restore = deltaReader(head);
  const fresh = new Map<string, Wanted>();
  const running = new Map<string, InFlight>();
  let cursor = 0;
  let now = 0;
  let afterReply = false;

  const diverged = (expected: string, actual: string, recorded?: Json, asked?: Json): ReplayDivergenceError => {
    const difference = firstDifference(recorded, asked);
    return new ReplayDivergenceError({
      entry: lineNumber(recording, cursor),
      state: state(),
      expected,
      actual,
      difference,
      diff: difference === '' ? '' : readableDiff(recorded, asked),
      cause: likelyCause({
        recorded: head,
        now: tolerance.now,
        difference,
        atEnd: lines[cursor] === undefined,
        afterReply,
      }),
    });
  };

  const line = (): RecordLine | undefined => {
    while (isPassedOver(lines[cursor])) cursor++;
    return lines[cursor];
  };

  const pass = (record: RecordLine): void => {
    cursor++;
    if (record.t !== 'run') now = record.at;
  };

  const compareStarts = (): void => {
    for (const wanted of fresh.values()) {
      const recorded = line();
      if (recorded === undefined || (recorded.t === 'event' && recorded.aside === true)) return;
      compareStart(recorded, wanted.effect);
      pass(recorded);
      fresh.delete(wanted.effect.id);
      running.set(wanted.effect.id, { ...wanted, at: now });
      onStart(wanted.effect, now);
    }
  };

  const compareStart = (recorded: RecordLine, effect: Effect): void => {
    if (recorded.t !== 'start' || recorded.id !== effect.id || recorded.name !== effect.name)
      throw diverged(describeRecord(recorded), `${effect.id} (${effect.name}) is started`);
    const request = recorded.request === undefined ? null : restore(recorded.id, recorded.request);
    if (recorded.digest === effect.digest && recorded.ms === effect.ms) return;
    if (isTolerated(request, effect.request, tolerance, head.instructions)) return;
    const [expected, actual] = [recorded, effect].map((one) => `${one.id} with digest ${one.digest}`);
    throw diverged(expected ?? '', actual ?? '', ...compared(recorded, request, effect));
  };

  return {
    open: (effect, perform) => void fresh.set(effect.id, { effect, perform }),
    close: (id) => {
      fresh.delete(id);
      running.delete(id);
    },
    next: () => {
      compareStarts();
      const recorded = line();
      if (recorded === undefined) return null;
      const entry = recordedEntry(recorded);
      if (entry === null) throw diverged(describeRecord(recorded), `the machine waits in ${state()}`);
      pass(recorded);
      afterReply = entry.t === 'outcome' && running.get(entry.id)?.effect.name === 'callLlm';
      if (entry.t !== 'event') running.delete(entry.id);
      return entry;
    },
    end: (output) => {
      compareStarts();
      const recorded = line();
      if (recorded === undefined) return false;
      if (recorded.t !== 'end') throw diverged(describeRecord(recorded), 'the run is over');
      if (digest(recorded.output) !== digest(output))
        throw diverged('the recorded result', 'another result', recorded.output, output);
      pass(recorded);
      return true;
    },
    passed: () => (cursor === 0 ? 1 : lineNumber(recording, cursor - 1)),
    inFlight: () => [...running.values()],
    unstarted: () => [...fresh.values()],
    at: () => now,
    cutShort: (waitsIn) => {
      const [wanted] = fresh.values();
      return diverged(
        'nothing more: the recording ends here, before its run did',
        wanted === undefined ? `the machine waits in ${waitsIn}` : `${wanted.effect.id} is started`,
      );
    },
  };
}

function isPassedOver(record: RecordLine | undefined): boolean {
  return record?.t === 'note' || record?.t === 'restart';
}

function compared(recorded: StartRecord, request: Json, effect: Effect): readonly [Json, Json] {
  return recorded.ms === effect.ms
    ? [request, effect.request]
    : [{ ms: recorded.ms ?? null }, { ms: effect.ms ?? null }];
}

/** A record in words, for the report of a divergence. */
function describeRecord(record: RecordLine | undefined): string {
  if (record === undefined) return 'nothing more: the recording ends here';
  switch (record.t) {
    case 'start':
      return `${record.id} (${record.name}) is started`;
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
