/**
 * Owns: one run of one machine on a journal: starting it, delivering one entry at a time, ending it. Does
 * not own: what is done (leaves), in which order (journal), what it means (machine).
 *
 * I1 The machine receives one entry at a time, and is stable when `deliver` returns.
 * I2 Everything that it requests from outside is an effect with an id that follows from its actor's path alone.
 */
import { type ActorOptions, type AnyActor, type AnyActorLogic, type InspectionEvent, createActor } from 'xstate';
import { digest } from '../../json/digest.ts';
import {
  type Effect,
  EffectIo,
  type Entry,
  type Journal,
  type Outcome,
  type OutsideEvent,
  type Perform,
} from '../../actors/journal.ts';
import { type LeafHost, type LeafWork, NO_WORK, attachHost, findActor } from '../../actors/leaf.ts';
import { NO_REDACTOR, type Redactor } from '../../actors/redactor.ts';
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
  /** Notes of leaves, mainly tokens; nondeterministic, and mostly not recorded. */
  readonly onNote: (effect: Effect, note: JsonObject) => void;
  /** Records what a model streams, one note a second. Default false. */
  readonly recordTokens?: boolean | undefined;
  /** Called for every effect that is started. */
  readonly onStart?: (effect: Effect) => void;
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

class DrivenMachine implements Drive {
  readonly actor: AnyActor;
  readonly #options: DriveOptions;
  readonly #ordinals = new Map<string, number>();
  readonly #settles = new Map<string, { readonly effect: Effect; readonly settle: (out: Outcome) => void }>();
  readonly #timers = new Map<string, { readonly effect: Effect; readonly fire: () => void }>();
  /** What was opened since the machine moved last. */
  readonly #fresh = new Map<string, Effect>();
  #timerCount = 0;

  constructor(options: DriveOptions) {
    const { logic, id, input, inspect } = options;
    this.#options = options;
    this.actor = createActor(logic, {
      id,
      input,
      clock: this.#clock(),
      ...(inspect === undefined ? {} : { inspect }),
      logger: () => undefined,
    });
    attachHost(this.actor.system, this.#host());
    this.actor.subscribe({ error: () => undefined });
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
    return [...this.#settles.values(), ...this.#timers.values()].map(({ effect }) => effect);
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

  #clock(): NonNullable<ActorOptions<AnyActorLogic>['clock']> {
    return {
      setTimeout: (fire, ms) => {
        const id = `timer#${++this.#timerCount}`;
        const effect: Effect = { id, name: 'timer', effects: 'none', request: null, digest: digest(ms), key: id, ms };
        this.#timers.set(id, { effect, fire: () => fire() });
        this.#open(effect, never);
        return id;
      },
      clearTimeout: (timerId) => {
        if (this.#timers.has(timerId)) this.#close(timerId);
      },
    };
  }

  #host(): LeafHost {
    const { context, traceparent, work = NO_WORK, redactor = NO_REDACTOR } = this.#options;
    return {
      context,
      ...(traceparent === undefined ? {} : { traceparent }),
      work,
      redactor,
      started: new Map(),
      ordinal: (path) => {
        const next = (this.#ordinals.get(path) ?? 0) + 1;
        this.#ordinals.set(path, next);
        return next;
      },
      open: (effect, perform, settle) => {
        this.#settles.set(effect.id, { effect, settle });
        this.#open(effect, perform);
      },
      close: (effectId) => this.#close(effectId),
    };
  }

  #open(effect: Effect, perform: Perform): void {
    const { journal, onNote, recordTokens = false, redactor = NO_REDACTOR } = this.#options;
    this.#fresh.set(effect.id, effect);
    journal.open(effect, (io) => {
      const record = (note: JsonObject): void => io.note(redactor.redact(note));
      const streamed = recordTokens ? new StreamedText(record) : null;
      const noted = (note: JsonObject): void => {
        onNote(effect, note);
        if (isRecorded(note)) record(note);
        else streamed?.take(note);
      };
      const outcome = perform(new EffectIo(io.signal, noted, () => io.idempotencyKey));
      return streamed === null ? outcome : outcome.finally(() => streamed.write());
    });
  }

  #close(effectId: string): void {
    this.#settles.delete(effectId);
    this.#timers.delete(effectId);
    this.#fresh.delete(effectId);
    this.#options.journal.close(effectId);
  }

  #pass(entry: Entry): void {
    if (entry.t === 'note') return;
    if (entry.t === 'event') {
      this.#target(entry.to)?.send(entry.event);
      return;
    }
    if (entry.t === 'timer') {
      const timer = this.#timers.get(entry.id);
      this.#timers.delete(entry.id);
      return timer?.fire();
    }
    const open = this.#settles.get(entry.id);
    this.#settles.delete(entry.id);
    open?.settle(entry.out);
  }

  #reportStarts(): void {
    const { recorder, onStart } = this.#options;
    for (const effect of this.#fresh.values()) {
      recorder?.start(effect);
      onStart?.(effect);
    }
    this.#fresh.clear();
  }

  #target(to: string | undefined) {
    return to === undefined ? this.actor : findActor(this.actor, to);
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

const never = (): Promise<Outcome> => new Promise<Outcome>(() => undefined);

/** The output of a driven machine that is over, for the recording: without the messages, which follow from the rest. */
export function recordedOutput(output: unknown): Json {
  return isJsonObject(output) ? Object.fromEntries(Object.entries(output).filter(([key]) => key !== 'messages')) : null;
}
