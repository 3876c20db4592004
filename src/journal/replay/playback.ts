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
import {
  type NoteRecord,
  type RecordLine,
  type RestartRecord,
  type RunRecord,
  type StartRecord,
  recordedEntry,
} from '../format/record.ts';
import { type Recording, lineNumber } from '../format/recording.ts';
import { type Tolerance, isTolerated } from './compare.ts';

/** An effect that the machine requests. */
export interface Wanted {
  readonly effect: Effect;
  readonly perform: Perform;
}

/** An effect that was started and has not settled; `at` is when, in milliseconds from the run's beginning. */
export interface InFlight extends Wanted {
  readonly at: number;
}

export const STRICT: Tolerance = { allow: [], now: null };
/** For lines of a run that is under way in this version: they may come without digests. */
export const LIVE_LINES: Tolerance = { ...STRICT, noDigests: true };

/** Who receives what is passed beside the entries. */
interface Passing {
  readonly onStart?: (effect: Effect, at: number) => void;
  /** What means nothing to the machine. */
  readonly onRemark?: (record: RestartRecord | NoteRecord) => void;
}

/** A recording that is being played. `state` names the machine's state, for the report of a divergence. */
export class Playback {
  readonly #recording: Recording;
  readonly #state: () => string;
  readonly #tolerance: Tolerance;
  readonly #passing: Passing;
  readonly #requests: RecordedRequests;
  readonly #fresh = new Map<string, Wanted>();
  readonly #running = new Map<string, InFlight>();
  #cursor = 0;
  #now = 0;
  #afterReply = false;

  constructor(recording: Recording, state: () => string, tolerance: Tolerance = STRICT, passing: Passing = {}) {
    this.#recording = recording;
    this.#state = state;
    this.#tolerance = tolerance;
    this.#passing = passing;
    this.#requests = new RecordedRequests(recording.head);
  }

  open(effect: Effect, perform: Perform): void {
    this.#fresh.set(effect.id, { effect, perform });
  }

  close(id: string): void {
    this.#fresh.delete(id);
    this.#running.delete(id);
  }

  /** The next recorded entry, once the starts before it were compared; null where the recording stops. */
  next(): Entry | null {
    this.#compareStarts();
    const note = this.#note();
    if (note !== null) return note;
    const recorded = this.#line();
    if (recorded === undefined) return null;
    const entry = recordedEntry(recorded);
    if (entry === null) throw this.#diverged(describeRecord(recorded), `the machine waits in ${this.#state()}`);
    this.#pass(recorded);
    this.#afterReply = entry.t === 'outcome' && this.#running.get(entry.id)?.effect.name === 'callLlm';
    if (entry.t === 'outcome' || entry.t === 'timer') this.#running.delete(entry.id);
    return entry;
  }

  /** Compares how the run ended; true when the recording has an end, and it is this one. */
  end(output: Json): boolean {
    this.#compareStarts();
    const recorded = this.#line();
    if (recorded === undefined) return false;
    if (recorded.t !== 'end') throw this.#diverged(describeRecord(recorded), 'the run is over');
    if (digest(recorded.output) !== digest(output))
      throw this.#diverged('the recorded result', 'another result', recorded.output, output);
    this.#pass(recorded);
    const more = this.#line();
    if (more !== undefined) throw this.#diverged(`more behind its end: ${describeRecord(more)}`, 'the run is over');
    return true;
  }

  /** Whether the latest entry came before effects that the machine had wanted were started. */
  wasAside(): boolean {
    const latest = this.#recording.lines[this.#cursor - 1];
    return latest?.t === 'event' && latest.aside === true;
  }

  /** The number of the record that was passed last: its line in a file. 1 is the head. */
  passed(): number {
    return this.#cursor === 0 ? 1 : lineNumber(this.#recording, this.#cursor - 1);
  }

  /** What was started and has not settled, in order of opening. */
  inFlight(): readonly InFlight[] {
    return [...this.#running.values()];
  }

  /** What the machine requested and was never started, in order of opening. */
  unstarted(): readonly Wanted[] {
    return [...this.#fresh.values()];
  }

  /** When the last record was made that was passed, in milliseconds from the run's beginning. */
  at(): number {
    return this.#now;
  }

  /** The error for a recording that stops before its run did. */
  cutShort(): ReplayDivergenceError {
    const [wanted] = this.#fresh.values();
    return this.#diverged(
      'nothing more: the recording ends here, before its run did',
      wanted === undefined ? `the machine waits in ${this.#state()}` : describeStart(wanted.effect),
    );
  }

  /** The remark that comes next, if it is one of a leaf. */
  #note(): Entry | null {
    const { lines } = this.#recording;
    let recorded = lines[this.#cursor];
    for (; isPassedOver(recorded); recorded = lines[this.#cursor]) {
      const note = recorded === undefined ? null : recordedEntry(recorded);
      if (recorded !== undefined && note !== null) this.#pass(recorded);
      if (note !== null) return note;
      this.#passOver();
    }
    return null;
  }

  #line(): RecordLine | undefined {
    const { lines } = this.#recording;
    while (isPassedOver(lines[this.#cursor])) this.#passOver();
    return lines[this.#cursor];
  }

  #passOver(): void {
    const record = this.#recording.lines[this.#cursor];
    this.#cursor++;
    if (record?.t === 'restart' || record?.t === 'note') this.#passing.onRemark?.(record);
  }

  #pass(record: RecordLine): void {
    this.#cursor++;
    if (record.t !== 'run') this.#now = record.at;
  }

  #compareStarts(): void {
    for (const wanted of this.#fresh.values()) {
      const recorded = this.#line();
      if (recorded === undefined || (recorded.t === 'event' && recorded.aside === true)) return;
      this.#compareStart(recorded, wanted.effect);
      this.#pass(recorded);
      this.#fresh.delete(wanted.effect.id);
      this.#running.set(wanted.effect.id, { ...wanted, at: this.#now });
      this.#passing.onStart?.(wanted.effect, this.#now);
    }
  }

  #compareStart(recorded: RecordLine, effect: Effect): void {
    if (recorded.t !== 'start' || recorded.id !== effect.id || recorded.name !== effect.name)
      throw this.#diverged(describeRecord(recorded), describeStart(effect));
    this.#requests.pass(recorded);
    const isLeftOut = recorded.digest === '' && this.#tolerance.noDigests === true;
    if ((isLeftOut || recorded.digest === effect.digest) && recorded.ms === effect.ms) return;
    const request = this.#requests.latest();
    if (isTolerated(request, effect.request, this.#tolerance, this.#recording.head)) return;
    const [expected, actual] = [recorded, effect].map((one) => `${one.id} with digest ${one.digest}`);
    throw this.#diverged(expected ?? '', actual ?? '', ...compared(recorded, request, effect));
  }

  #diverged(expected: string, actual: string, recorded?: Json, asked?: Json): ReplayDivergenceError {
    const difference = firstDifference(recorded, asked);
    return new ReplayDivergenceError({
      entry: lineNumber(this.#recording, this.#cursor),
      state: this.#state(),
      expected,
      actual,
      difference,
      diff: difference === '' ? '' : readableDiff(recorded, asked),
      cause: likelyCause({
        recorded: this.#tolerance.recorded ?? this.#recording.head,
        now: this.#tolerance.now,
        difference,
        atEnd: this.#recording.lines[this.#cursor] === undefined,
        afterReply: this.#afterReply,
      }),
    });
  }
}

/**
 * The requests of the starts that were passed. They are restored on demand: while the digests agree they are not read,
 * and each would be as long as the whole conversation.
 */
class RecordedRequests {
  readonly #restore: (id: string, written: Json) => Json;
  #unread: StartRecord[] = [];
  #latest: Json = null;

  constructor(head: RunRecord) {
    this.#restore = deltaReader(head);
  }

  pass(start: StartRecord): void {
    this.#unread.push(start);
  }

  /** The request of the start that was passed last; null for a timer. */
  latest(): Json {
    for (const { id, request } of this.#unread)
      this.#latest = request === undefined ? null : this.#restore(id, request);
    this.#unread = [];
    return this.#latest;
  }
}

function isPassedOver(record: RecordLine | undefined): boolean {
  return record?.t === 'note' || record?.t === 'restart';
}

function compared(recorded: StartRecord, request: Json, effect: Effect): readonly [Json, Json] {
  return recorded.ms === effect.ms
    ? [request, effect.request]
    : [{ ms: recorded.ms ?? null }, { ms: effect.ms ?? null }];
}

/** `agent/c1/callTool#1 (callTool of 'weigh') is started`. */
function describeStart({ id, name, request }: { id: string; name: string; request?: Json }): string {
  const tool: unknown = Reflect.get(Object(request), 'tool');
  return `${id} (${name}${typeof tool === 'string' ? ` of '${tool}'` : ''}) is started`;
}

/** A record in words, for the report of a divergence. */
function describeRecord(record: RecordLine | undefined): string {
  if (record === undefined) return 'nothing more: the recording ends here';
  switch (record.t) {
    case 'start':
      return describeStart(record);
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
