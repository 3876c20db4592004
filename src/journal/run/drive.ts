/**
 * Owns: one run of one machine on a journal: starting it, delivering one entry at a time, ending it. Does
 * not own: what is done (leaves), in which order (journal), what it means (machine).
 *
 * I1 The machine receives one entry at a time, and is stable when `deliver` returns.
 * I2 Everything that it requests from outside is an effect with an id that follows from its actor's path alone.
 */
import { type AnyActor, type AnyActorLogic, type AnyActorRef, type InspectionEvent, createActor } from 'xstate';
import { digest } from '../../json/digest.ts';
import {
  type Effect,
  type Entry,
  type Journal,
  type Outcome,
  type OutsideEvent,
  type Perform,
  type PerformIo,
  NO_REDACTOR,
  type Redactor,
} from '../../actors/journal.ts';
import { type LeafHost, type LeafWork, NO_WORK, attachHost, findActor } from '../../actors/leaf.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { Recorder } from '../format/recorder.ts';

interface DriveOptions {
  readonly logic: AnyActorLogic;
  readonly id: string;
  readonly input: unknown;
  readonly journal: Journal;
  readonly recorder: Recorder | null;
  /** The value given to `run(input, { context })`. */
  readonly context: unknown;
  /** The trace that the run belongs to. */
  readonly traceparent?: string | undefined;
  /** What the leaves do in this run; those that are missing do what they were made with. */
  readonly work?: LeafWork;
  /** Default: one that knows no secret. */
  readonly redactor?: Redactor;
  /** Gets XState's inspection events. Default: none are made. */
  readonly inspect?: (event: InspectionEvent) => void;
  readonly observer?: DriveObserver;
  /** Records what a model streams, one note a second. Default false. */
  readonly recordTokens?: boolean | undefined;
}

/** Who is told what the leaves of a machine do. */
export interface DriveObserver {
  /** Called for every effect that is started. */
  onStart(effect: Effect): void;
  /** Notes of leaves, mainly tokens; nondeterministic, and mostly not recorded. */
  onNote(effect: Effect, note: JsonObject): void;
}

/** A machine that is being driven. */
export interface Drive {
  readonly actor: AnyActor;
  /** Whether the actor at a path (the root without one) takes this event now. */
  accepts(event: OutsideEvent, to: string | undefined): boolean;
  /** Starts the machine; all of its initial effects are open when this returns. */
  start(): void;
  deliver(entry: Entry): void;
  isActive(): boolean;
  /** What it waits for. */
  openEffects(): readonly Effect[];
}

/** Prepares a machine to be driven on a journal. */
export function drive(options: DriveOptions): Drive {
  return new DrivenMachine(options);
}

const NOTHING: readonly never[] = [];

class DrivenMachine implements Drive, LeafHost {
  readonly actor: AnyActor;
  readonly context: unknown;
  readonly traceparent?: string;
  readonly work: LeafWork;
  readonly redactor: Redactor;
  readonly started = new Map<AnyActorRef, string>();
  readonly observer: DriveObserver | undefined;
  readonly #options: DriveOptions;
  readonly #ordinals = new Map<string, number>();
  readonly #settles = new Map<string, { readonly effect: Effect; readonly settle: (out: Outcome) => void }>();
  #timers: readonly { readonly effect: Effect; readonly fire: () => void }[] = NOTHING;
  /** What was opened since the machine moved last. */
  #fresh: readonly Effect[] = NOTHING;
  #timerCount = 0;

  constructor(options: DriveOptions) {
    const { logic, id, input, inspect, context, traceparent, work = NO_WORK, redactor = NO_REDACTOR } = options;
    this.#options = options;
    this.context = context;
    if (traceparent !== undefined) this.traceparent = traceparent;
    this.work = work;
    this.redactor = redactor;
    this.observer = options.observer;
    this.actor = createActor(logic, {
      id,
      input,
      clock: this,
      ...(inspect === undefined ? {} : { inspect }),
      logger: ignore,
    });
    attachHost(this.actor.system, this);
    this.actor.subscribe(IGNORING);
  }

  isActive(): boolean {
    return this.actor.getSnapshot().status === 'active';
  }

  accepts(event: OutsideEvent, to: string | undefined): boolean {
    const snapshot: unknown = this.#target(to)?.getSnapshot();
    return (
      typeof snapshot === 'object' &&
      snapshot !== null &&
      Reflect.get(snapshot, 'status') === 'active' &&
      canTake(snapshot, event)
    );
  }

  openEffects(): readonly Effect[] {
    return [...this.#settles.values(), ...this.#timers].map(({ effect }) => effect);
  }

  start(): void {
    this.actor.start();
    this.#reportStarts();
  }

  deliver(entry: Entry): void {
    this.#options.recorder?.entry(entry);
    this.#pass(entry);
    this.#reportStarts();
  }

  /** For XState, whose clock this is. */
  setTimeout(fire: () => void, ms: number): string {
    const id = `timer#${++this.#timerCount}`;
    const effect: Effect = { id, name: 'timer', effects: 'none', request: null, digest: digest(ms), key: id, ms };
    this.#timers = [...this.#timers, { effect, fire }];
    this.#open(effect, never);
    return id;
  }

  clearTimeout(timerId: string): void {
    if (this.#timers.some(({ effect }) => effect.id === timerId)) this.close(timerId);
  }

  ordinal(path: string): number {
    const next = (this.#ordinals.get(path) ?? 0) + 1;
    this.#ordinals.set(path, next);
    return next;
  }

  open(effect: Effect, perform: Perform, settle: (out: Outcome) => void): void {
    this.#settles.set(effect.id, { effect, settle });
    this.#open(effect, perform);
  }

  #open(effect: Effect, perform: Perform): void {
    this.#fresh = [...this.#fresh, effect];
    this.#options.journal.open(effect, (io) => this.#perform(effect, perform, io));
  }

  #perform(effect: Effect, perform: Perform, io: PerformIo): ReturnType<Perform> {
    const noted = new NotedIo(io, effect, this);
    if (this.#options.recordTokens !== true) return perform(noted);
    const streamed = (noted.streamed = new StreamedText((note) => noted.record(note)));
    return perform(noted).finally(() => streamed.write());
  }

  close(effectId: string): void {
    this.#settles.delete(effectId);
    this.#timers = this.#timers.filter(({ effect }) => effect.id !== effectId);
    this.#fresh = this.#fresh.filter(({ id }) => id !== effectId);
    this.#options.journal.close(effectId);
  }

  #pass(entry: Entry): void {
    if (entry.t === 'note') return;
    if (entry.t === 'event') {
      this.#target(entry.to)?.send(entry.event);
      return;
    }
    if (entry.t === 'timer') {
      const timer = this.#timers.find(({ effect }) => effect.id === entry.id);
      this.#timers = this.#timers.filter((one) => one !== timer);
      return timer?.fire();
    }
    const open = this.#settles.get(entry.id);
    this.#settles.delete(entry.id);
    open?.settle(entry.out);
  }

  #reportStarts(): void {
    const { recorder } = this.#options;
    for (const effect of this.#fresh) {
      recorder?.start(effect);
      this.observer?.onStart(effect);
    }
    this.#fresh = NOTHING;
  }

  #target(to: string | undefined) {
    return to === undefined ? this.actor : findActor(this.actor, to);
  }
}

/** What the work of an effect gets: what it remarks is told to the observer, and some of it recorded. */
class NotedIo implements PerformIo {
  readonly signal: AbortSignal;
  streamed: StreamedText | null = null;
  readonly #io: PerformIo;
  readonly #effect: Effect;
  readonly #of: Pick<DrivenMachine, 'observer' | 'redactor'>;

  constructor(io: PerformIo, effect: Effect, of: Pick<DrivenMachine, 'observer' | 'redactor'>) {
    this.signal = io.signal;
    this.#io = io;
    this.#effect = effect;
    this.#of = of;
  }

  get idempotencyKey(): string {
    return this.#io.idempotencyKey;
  }

  note(note: JsonObject): void {
    this.#of.observer?.onNote(this.#effect, note);
    if (isRecorded(note)) this.record(note);
    else this.streamed?.take(note);
  }

  record(note: JsonObject): void {
    this.#io.note(this.#of.redactor.redact(note));
  }
}

const A_SECOND_MS = 1000;

/** What a model streams, by its kind and call, until a second is over: then it is one note. */
class StreamedText {
  readonly #record: (note: JsonObject) => void;
  readonly #texts = new Map<string, string>();
  #writtenAt = performance.now();

  constructor(record: (note: JsonObject) => void) {
    this.#record = record;
  }

  take({ note, kind, text, callIndex }: JsonObject): void {
    if (note !== 'token' || typeof kind !== 'string' || typeof text !== 'string') return;
    const name = typeof callIndex === 'number' && callIndex > 0 ? `${kind}#${callIndex}` : kind;
    this.#texts.set(name, `${this.#texts.get(name) ?? ''}${text}`);
    if (performance.now() - this.#writtenAt >= A_SECOND_MS) this.write();
  }

  write(): void {
    this.#writtenAt = performance.now();
    if (this.#texts.size > 0) this.#record({ note: 'tokens', ...Object.fromEntries(this.#texts) });
    this.#texts.clear();
  }
}

/** Whether a remark is recorded: what a server asked in the middle of a call, and what it was answered, is in no outcome. */
export function isRecorded({ note }: JsonObject): boolean {
  return note === 'question';
}

function canTake(snapshot: object, event: OutsideEvent): boolean {
  const can: unknown = Reflect.get(snapshot, 'can');
  return typeof can === 'function' && Reflect.apply(can, snapshot, [event]) === true;
}

const ignore = (): undefined => undefined;

/** Without one, XState would throw the error of a machine at the process. */
const IGNORING = { error: ignore };

const never = (): Promise<Outcome> => new Promise<Outcome>(() => undefined);

/** The output of a driven machine that is over, for the recording: without the messages, which follow from the rest. */
export function recordedOutput(output: unknown): Json {
  return isJsonObject(output) ? Object.fromEntries(Object.entries(output).filter(([key]) => key !== 'messages')) : null;
}
