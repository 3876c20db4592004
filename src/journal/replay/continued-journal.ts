/**
 * Owns: the seam between what is recorded of a run and what happens now. Resume, fork and a replay with a live end are
 * this one journal, over different ones for what comes after.
 *
 * I1 Nothing is written and nothing is launched before the recording was played to its end.
 * I2 What was in flight continues in opening order: `none` and `idempotent` run again under the same key, `once` has
 *    an unknown outcome, timers wait for the rest of their time, and those that expired fire in due order.
 * I3 What has no start record was never launched, and starts now.
 * I4 What has changed meanwhile is delivered first, before anything starts: a call that may no longer run never does.
 * I5 A working run that was resumed too often in a short time, without any progress, is ended.
 */
import type { KnownOutcome } from '../format/cut-recording.ts';
import {
  type Effect,
  type Entry,
  type Outcome,
  type OutsideEvent,
  type Perform,
  unknownOutcome,
} from '../../actors/journal.ts';
import type { Restart } from '../../machines/contract/agent-setup.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { wrongOption } from '../../json/known-options.ts';
import { deltaWriter } from '../format/deltas.ts';
import { type InFlight, Playback, STRICT } from './playback.ts';
import { type RecordLine, entryRecord, startRecord } from '../format/record.ts';
import type { Recording } from '../format/recording.ts';
import { type Carried, type CarriedEffect, type RunJournal, journalOver } from '../run/run-journal.ts';
import type { Tolerance } from './compare.ts';

/** A run that is at work takes this many restarts shortly after each other without an entry between; the next ends it. */
const MAX_RESTARTS = 5;
/** Longer than what usually starts crashed processes again waits before it does. */
const SHORTLY_MS = 5 * 60_000;

/** How a run continues after its recording. */
export interface Continuation {
  readonly past: Recording;
  /** Names the machine's state, for the report of a divergence. */
  readonly state: () => string;
  readonly tolerance?: Tolerance;
  /** Asked after each entry, with its number: true ends the recorded part there, and never is an error. Default: at its last record. */
  readonly until?: (entry: number) => boolean;
  /**
   * `resumed`: the recorded part stands in the journal that is written on. `copied`: it is written into a new one, and
   * time continues where it stopped. `rewritten`: both, since the recorded part was changed to be resumed.
   */
  readonly kind: 'resumed' | 'copied' | 'rewritten';
  /** What is known of the outcome of an effect in flight; undefined: nothing. */
  readonly known?: (effect: Effect) => KnownOutcome | undefined;
  /**
   * What the run receives before it continues and starts effects; null: nothing. Called with the calls whose tools were running.
   */
  readonly news?: (restart: Restart) => Promise<OutsideEvent | null>;
  /** Opens the journal for what comes now. */
  readonly goOn: (carried: Carried) => RunJournal | Promise<RunJournal>;
  /** Called once, when the recorded part is over and the run continues. */
  readonly onLive: () => void;
}

/** A journal that plays a recording, and then continues with another one. */
export function continuedJournal(continuation: Continuation): RunJournal {
  const run = new ContinuedJournal(continuation);
  return journalOver(run, { abandon: () => run.abandon() });
}

class ContinuedJournal {
  readonly #continuation: Continuation;
  readonly #played: Playback;
  readonly #write: (effect: Effect) => Json;
  readonly #known: Known;
  /** The recorded part is written into the journal that comes next. */
  readonly #copies: boolean;
  readonly #copied: RecordLine[];
  /** What is written before anything new. */
  readonly #first: RecordLine[] = [];
  /** What was sent while the recording was played. */
  readonly #held: ((to: RunJournal) => void)[] = [];
  /** The age of the run where the recorded part is over; null before. */
  #age: number | null = null;
  #live: RunJournal | null = null;
  #released = false;

  constructor(continuation: Continuation) {
    const { past, state, tolerance = STRICT, kind, known = () => undefined } = continuation;
    this.#continuation = continuation;
    this.#known = known;
    this.#write = deltaWriter(past.head);
    this.#copies = kind !== 'resumed';
    this.#copied = [past.head];
    this.#played = new Playback(past, state, tolerance, {
      onStart: (effect, at) => {
        const request = effect.ms === undefined ? this.#write(effect) : null;
        if (this.#copies) this.#copied.push(startRecord(effect, at, request));
      },
      onRemark: (record) => {
        // Another run was not restarted when the one before it was.
        if (this.#copies && (record.t === 'note' || kind === 'rewritten')) this.#copied.push(record);
      },
    });
  }

  open(effect: Effect, perform: Perform): void {
    (this.#live ?? this.#played).open(effect, perform);
  }

  close(id: string): void {
    (this.#live ?? this.#played).close(id);
  }

  async next(): Promise<Entry | null> {
    if (this.#live !== null) return this.#live.next();
    const entry = this.#age === null ? (this.#nextRecorded() ?? (await this.#latestNews())) : null;
    return entry ?? (await this.#goLive()).next();
  }

  send(event: OutsideEvent, to?: string): Promise<boolean> {
    if (this.#live !== null) return this.#live.send(event, to);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#held.push((journal) => resolve(journal.send(event, to)));
    promise.catch(() => undefined);
    return promise;
  }

  at(): number {
    return this.#live?.at?.() ?? this.#age ?? this.#played.at();
  }

  isIdle(): boolean {
    return this.#live?.isIdle?.() === true;
  }

  release(): void {
    this.#released = true;
    this.#live?.release?.();
  }

  async abandon(): Promise<void> {
    const before = this.#live;
    // A run that cannot continue is over for its callers.
    this.#live ??= ENDED;
    this.#letGo(this.#live);
    await before?.abandon?.();
  }

  async end(output: Json): Promise<void> {
    const passed = this.#played.passed();
    if (this.#live === null && this.#played.end(output)) {
      const { until } = this.#continuation;
      if (until !== undefined && !until(passed)) throw unreached();
      this.#live = ENDED;
      this.#letGo(ENDED);
      return;
    }
    await (this.#live ?? (await this.#goLive())).end(output);
  }

  #nextRecorded(): Entry | null {
    const played = this.#played;
    const { until } = this.#continuation;
    if (played.passed() > 1 && until?.(played.passed()) === true) return null;
    const entry = played.next();
    if (entry === null && until !== undefined) throw unreached();
    if (entry !== null && this.#copies) {
      const record = entryRecord(entry, played.at());
      this.#copied.push(record.t === 'event' && played.wasAside() ? { ...record, aside: true } : record);
    }
    return entry;
  }

  /** The recorded part is over; returns the age of the run. */
  #restart(): number {
    if (this.#age !== null) return this.#age;
    const { kind, past } = this.#continuation;
    const then = this.#played.at();
    const age = kind === 'copied' ? then : Math.max(then, Date.now() - Date.parse(past.head.at));
    if (kind !== 'copied') this.#first.push({ t: 'restart', at: age });
    this.#age = age;
    return age;
  }

  /** What the run gets before it continues, if there is something. */
  async #latestNews(): Promise<Entry | null> {
    const at = this.#restart();
    const event = (await this.#continuation.news?.(callsInFlight(this.#played.inFlight(), this.#known))) ?? null;
    if (event === null) return null;
    this.#first.push({ t: 'event', at, event, aside: true });
    return { t: 'event', event };
  }

  async #goLive(): Promise<RunJournal> {
    const { past, kind, goOn, onLive } = this.#continuation;
    const at = this.#restart();
    const { open, overdue } = carriedOn(this.#played.inFlight(), at, this.#known);
    const wanted = this.#played.unstarted();
    const records = [...(this.#copies ? this.#copied : []), ...this.#first];
    const journal = await goOn({ at, records, write: this.#write, open, overdue });
    for (const { effect, perform } of wanted) journal.open(effect, perform);
    this.#live = journal;
    if (this.#released) journal.release?.();
    if (kind !== 'copied' && isAtWork(this.#played) && quickRestarts(past, at) >= MAX_RESTARTS)
      void journal.send(CRASH_LOOP);
    this.#letGo(journal);
    onLive();
    return journal;
  }

  #letGo(to: RunJournal): void {
    for (const send of this.#held.splice(0)) send(to);
  }
}

/** What was to run live did not: a test would pass for it unseen. */
function unreached(): Error {
  return wrongOption("replay: nothing in the recording reaches what option 'until' names, so nothing ran live.");
}

/** The journal of a run that was over before it was resumed: nothing more is written. */
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
  message: `The run was resumed ${MAX_RESTARTS} times in a row, and each time its process ended before it made progress.`,
};

/** Restarts after the last entry that the machine received, as long as each came shortly after the one before. */
function quickRestarts({ lines }: Recording, now: number): number {
  let count = 0;
  let next = now;
  for (const line of lines.toReversed()) {
    if (line.t === 'outcome' || line.t === 'timer' || (line.t === 'note' && line.note['note'] === 'released')) break;
    if (line.t === 'event' && line.event['restart'] === undefined) break;
    if (line.t !== 'restart') continue;
    if (next - line.at > SHORTLY_MS) break;
    next = line.at;
    count++;
  }
  return count;
}

/** Whether something is running that could have ended the process: a run that only waits, for a person or a time, did not. */
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
