/**
 * Owns: the seam between what is recorded of a run and what happens now. Resume, fork and a replay with a live end are
 * this one journal, over different ones for what comes after.
 *
 * I1 Nothing is written and nothing is launched before the recording was played to its end.
 * I2 What was in flight goes on in opening order: `none` and `idempotent` run again under the same key, `once` has an
 *    unknown outcome, timers wait what is left of their time, and those that ran out fire in the order of being due.
 * I3 What has no start record was never launched, and starts now.
 * I4 What has changed meanwhile is told first, before anything starts: a call that may not run any more never does.
 * I5 A run that is at work and was taken up again too often in a short time, without anything new coming of it, is ended.
 */
import type { KnownOutcome } from '../format/cut-recording.ts';
import type { Effect, Entry, Outcome, OutsideEvent, Perform } from '../../actors/journal.ts';
import type { Restart } from '../../machines/contract/agent-setup.ts';
import { isJsonObject } from '../../json/json.ts';
import { deltaWriter } from '../format/deltas.ts';
import { type InFlight, type Playback, STRICT, playback } from './playback.ts';
import { type RecordLine, entryRecord, startRecord } from '../format/record.ts';
import type { Recording } from '../format/recording.ts';
import type { Carried, CarriedEffect, RunJournal } from '../run/run-journal.ts';
import type { Tolerance } from './compare.ts';

/** A run that is at work takes this many restarts shortly after each other without an entry between; the next ends it. */
const MAX_RESTARTS = 5;
/** Longer than what usually starts crashed processes again waits before it does. */
const SHORTLY_MS = 5 * 60_000;

/** How a run goes on behind its recording. */
export interface Continuation {
  readonly past: Recording;
  /** Names the machine's state, for the report of a divergence. */
  readonly state: () => string;
  readonly tolerance?: Tolerance;
  /** Asked after each entry, with its number: true ends the recorded part there. Default: at its last record. */
  readonly until?: (entry: number) => boolean;
  /**
   * `resumed`: the recorded part stands in the journal that is written on. `copied`: it is written into a new one, and
   * time goes on where it stopped. `rewritten`: both, since the recorded part was changed to be resumed.
   */
  readonly kind: 'resumed' | 'copied' | 'rewritten';
  /** What is known of the outcome of an effect in flight; undefined: nothing. */
  readonly known?: (effect: Effect) => KnownOutcome | undefined;
  /**
   * What the run is told before it goes on, and is written before whatever it wants now; null: nothing. It is given the calls
   * whose tools were running.
   */
  readonly news?: (restart: Restart) => Promise<OutsideEvent | null>;
  /** Opens the journal for what comes now. */
  readonly goOn: (carried: Carried) => RunJournal | Promise<RunJournal>;
  /** Called once, when the recorded part is over and the run goes on. */
  readonly onLive: () => void;
}

/** A journal that plays a recording, and then goes on with another one. */
export function continuedJournal(continuation: Continuation): RunJournal {
  const { past, state, tolerance = STRICT, until, kind, known = () => undefined, goOn, onLive } = continuation;
  const write = deltaWriter(past.head);
  const copies = kind !== 'resumed';
  const copied: RecordLine[] = [past.head];
  const played = playback(past, state, tolerance, (effect, at) => {
    const request = effect.ms === undefined ? write(effect) : null;
    if (copies) copied.push(startRecord(effect, at, request));
  });
  /** What was sent meanwhile. */
  const held: ((to: RunJournal) => void)[] = [];
  const first: RecordLine[] = [];
  let age: number | null = null;
  let live: RunJournal | null = null;
  let released = false;

  /** The recorded part is over; gives the age of the run. */
  const restart = (): number => {
    if (age !== null) return age;
    age = kind === 'copied' ? played.at() : Math.max(played.at(), Date.now() - Date.parse(past.head.at));
    if (kind !== 'copied') first.push({ t: 'restart', at: age });
    return age;
  };

  /** What the run is told before it goes on, if there is something. */
  const latestNews = async (): Promise<Entry | null> => {
    const at = restart();
    const event = (await continuation.news?.(callsInFlight(played.inFlight(), known))) ?? null;
    if (event === null) return null;
    first.push({ t: 'event', at, event, aside: true });
    return { t: 'event', event };
  };

  const goLive = async (): Promise<RunJournal> => {
    const at = restart();
    const { open, overdue } = carriedOn(played.inFlight(), at, known);
    const wanted = played.unstarted();
    const journal = await goOn({ at, records: [...(copies ? copied : []), ...first], write, open, overdue });
    for (const { effect, perform } of wanted) journal.open(effect, perform);
    live = journal;
    if (released) journal.release?.();
    if (kind !== 'copied' && isAtWork(played) && quickRestarts(past, at) >= MAX_RESTARTS) void journal.send(CRASH_LOOP);
    letGo(journal);
    onLive();
    return journal;
  };

  const letGo = (to: RunJournal): void => {
    for (const send of held.splice(0)) send(to);
  };

  const nextRecorded = (): Entry | null => {
    if (played.passed() > 1 && until?.(played.passed()) === true) return null;
    const entry = played.next();
    if (entry !== null && copies) copied.push(entryRecord(entry, played.at()));
    return entry;
  };

  return {
    open: (effect, perform) => (live ?? played).open(effect, perform),
    close: (id) => (live ?? played).close(id),
    next: async () => {
      if (live !== null) return live.next();
      const entry = age === null ? (nextRecorded() ?? (await latestNews())) : null;
      return entry ?? (await goLive()).next();
    },
    send: (event: OutsideEvent, to?: string) => {
      if (live !== null) return live.send(event, to);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      held.push((journal) => resolve(journal.send(event, to)));
      promise.catch(() => undefined);
      return promise;
    },
    at: () => live?.at?.() ?? age ?? played.at(),
    release: () => {
      released = true;
      live?.release?.();
    },
    abandon: async () => {
      const before = live;
      // What cannot be gone on with is over for those who talk to it.
      live ??= ENDED;
      letGo(live);
      await before?.abandon?.();
    },
    end: async (output) => {
      if (live === null && played.end(output)) {
        live = ENDED;
        letGo(ENDED);
        return;
      }
      await (live ?? (await goLive())).end(output);
    },
  };
}

/** The journal of a run that was over before it was taken up: nothing is written any more. */
const ENDED: RunJournal = {
  open: () => undefined,
  close: () => undefined,
  next: () => Promise.resolve(null),
  end: () => undefined,
  send: () => Promise.resolve(false),
};

const CRASH_LOOP: OutsideEvent = {
  type: 'run.abandoned',
  code: 'crash-loop',
  message: `The run was taken up ${MAX_RESTARTS} times in a row and each time ended with its process before anything came of it.`,
};

/** Restarts behind the last thing that the machine was told, as long as each came shortly after the one before. */
function quickRestarts({ lines }: Recording, now: number): number {
  let count = 0;
  let next = now;
  for (const line of lines.toReversed()) {
    const isNews = line.t === 'event' && line.event['restart'] !== undefined;
    if (line.t === 'outcome' || line.t === 'timer' || (line.t === 'event' && !isNews)) break;
    if (line.t !== 'restart') continue;
    if (next - line.at > SHORTLY_MS) break;
    next = line.at;
    count++;
  }
  return count;
}

/** Whether something goes on that could have ended the process: a run that only waits, for a person or a time, did not. */
function isAtWork(played: Playback): boolean {
  const wanted = [...played.inFlight(), ...played.unstarted()];
  return wanted.some(({ effect }) => effect.ms === undefined && effect.name !== 'askApproval');
}

function callsInFlight(inFlight: readonly InFlight[], known: Known): Restart {
  const calls = inFlight.flatMap(({ effect }) => {
    const callId = effect.name === 'callTool' && isJsonObject(effect.request) ? effect.request['callId'] : undefined;
    return typeof callId === 'string' ? [{ callId, effect }] : [];
  });
  const settled = calls.filter(({ effect }) => effect.effects === 'once' || known(effect) !== undefined);
  return { begun: calls.map(({ callId }) => callId), notRepeated: settled.map(({ callId }) => callId) };
}

function carriedOn(inFlight: readonly InFlight[], age: number, known: Known): Pick<Carried, 'open' | 'overdue'> {
  const leaves = inFlight.filter(({ effect }) => effect.ms === undefined);
  const timers = inFlight.flatMap(({ effect, perform, at }) =>
    effect.ms === undefined ? [] : [{ effect, perform, leftMs: at + effect.ms - age }],
  );
  const settled = leaves
    .flatMap(({ effect }) => ({ effect, was: known(effect) }))
    .flatMap(({ effect, was }) => (was === undefined ? [] : [{ effect, ...was }]))
    .toSorted((a, b) => a.order - b.order)
    .map(({ effect, out }): CarriedEffect => ({ effect, perform: always(out) }));
  const done = new Set(settled.map(({ effect }) => effect.id));
  const again = inFlight.flatMap(({ effect, perform, at }): readonly CarriedEffect[] => {
    if (done.has(effect.id)) return [];
    if (effect.ms !== undefined) return at + effect.ms > age ? [{ effect, perform, leftMs: at + effect.ms - age }] : [];
    return [{ effect, perform: effect.effects === 'once' ? always(unknownOutcome(effect)) : perform }];
  });
  const overdue = timers.filter(({ leftMs }) => leftMs <= 0).toSorted((a, b) => a.leftMs - b.leftMs);
  return { open: [...settled, ...again], overdue: overdue.map(({ effect }) => effect.id) };
}

type Known = NonNullable<Continuation['known']>;

function always(out: Outcome): Perform {
  return () => Promise.resolve(out);
}

function unknownOutcome({ name, request }: Effect): Outcome {
  const tool = isJsonObject(request) && typeof request['tool'] === 'string' ? `'${request['tool']}'` : name;
  const message = `The process ended while ${tool} was running, and it must not be repeated: nobody knows whether it took effect.`;
  return { ok: false, error: { code: 'unknown-outcome', message } };
}
