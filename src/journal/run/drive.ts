/**
 * Owns: one run of one machine on a journal: starting it, telling it one entry at a time, ending it.
 * Does not own: what is done (the leaves'), in which order (the journal's), what it means (the machine's).
 *
 * I1 The machine is told one thing at a time, and is stable when `deliver` returns.
 * I2 Whatever it wants from the world is an effect with an id that follows from its actor's path alone.
 */
import { type ActorOptions, type AnyActor, type AnyActorLogic, type InspectionEvent, createActor } from 'xstate';
import { digest } from '../../json/digest.ts';
import type { Effect, Entry, Journal, Outcome, OutsideEvent } from '../../actors/journal.ts';
import { type LeafWork, attachHost, findActor } from '../../actors/leaf.ts';
import { NO_VAULT, type Vault } from '../../actors/vault.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { Recorder } from '../format/recording.ts';

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
  readonly vault?: Vault;
  /** Gets XState's inspection events. Default: none are made. */
  readonly inspect?: (event: InspectionEvent) => void;
  /** Remarks of leaves, tokens above all; by chance and no part of what is recorded. */
  readonly onNote: (effect: Effect, note: JsonObject) => void;
  /** Hears of every effect that is started. */
  readonly onStart?: (effect: Effect) => void;
}

/** A machine that is being driven. */
export interface Drive {
  readonly actor: AnyActor;
  /** Whether the actor at a path (the root without one) takes this event now. */
  accepts(event: OutsideEvent, to: string | undefined): boolean;
  /** Starts the machine; every effect that it wants at first is open when this returns. */
  start(): void;
  deliver(entry: Entry): void;
  isActive(): boolean;
}

/** Prepares a machine to be driven on a journal. */
export function drive({
  logic,
  id,
  input,
  journal,
  recorder,
  context,
  traceparent,
  work = NO_WORK,
  vault = NO_VAULT,
  inspect,
  onNote,
  onStart,
}: DriveOptions): Drive {
  const ordinals = new Map<string, number>();
  const settles = new Map<string, (out: Outcome) => void>();
  const timers = new Map<string, () => void>();
  const fresh = new Map<string, Effect>();
  let timerCount = 0;

  const open = (effect: Effect, perform: Parameters<Journal['open']>[1]): void => {
    fresh.set(effect.id, effect);
    journal.open(effect, (io) =>
      perform({
        signal: io.signal,
        get idempotencyKey() {
          return io.idempotencyKey;
        },
        note: (note) => onNote(effect, note),
      }),
    );
  };
  const close = (effectId: string): void => {
    settles.delete(effectId);
    timers.delete(effectId);
    fresh.delete(effectId);
    journal.close(effectId);
  };
  const clock: NonNullable<ActorOptions<AnyActorLogic>['clock']> = {
    setTimeout: (fire, ms) => {
      const timerId = `timer#${++timerCount}`;
      timers.set(timerId, () => fire());
      open({ id: timerId, name: 'timer', effects: 'none', request: null, digest: digest(ms), key: timerId, ms }, never);
      return timerId;
    },
    clearTimeout: (timerId) => {
      if (timers.has(timerId)) close(timerId);
    },
  };

  const actor = createActor(logic, {
    id,
    input,
    clock,
    ...(inspect === undefined ? {} : { inspect }),
    logger: () => undefined,
  });
  attachHost(actor.system, {
    context,
    ...(traceparent === undefined ? {} : { traceparent }),
    work,
    vault,
    ordinal: (path) => {
      const next = (ordinals.get(path) ?? 0) + 1;
      ordinals.set(path, next);
      return next;
    },
    open: (effect, perform, settle) => {
      settles.set(effect.id, settle);
      open(effect, perform);
    },
    close,
  });
  actor.subscribe({ error: () => undefined });

  const flush = (): void => {
    for (const effect of fresh.values()) {
      recorder?.start(effect);
      onStart?.(effect);
    }
    fresh.clear();
  };

  const target = (to: string | undefined) => (to === undefined ? actor : findActor(actor, to));

  return {
    actor,
    isActive: () => actor.getSnapshot().status === 'active',
    accepts: (event, to) => {
      const snapshot: unknown = target(to)?.getSnapshot();
      return (
        typeof snapshot === 'object' &&
        snapshot !== null &&
        Reflect.get(snapshot, 'status') === 'active' &&
        canTake(snapshot, event)
      );
    },
    start: () => {
      actor.start();
      flush();
    },
    deliver: (entry) => {
      recorder?.entry(entry);
      tell(entry);
      flush();
    },
  };

  function tell(entry: Entry): void {
    if (entry.t === 'event') {
      target(entry.to)?.send(entry.event);
      return;
    }
    if (entry.t === 'timer') {
      const fire = timers.get(entry.id);
      timers.delete(entry.id);
      return fire?.();
    }
    const settle = settles.get(entry.id);
    settles.delete(entry.id);
    settle?.(entry.out);
  }
}

function canTake(snapshot: object, event: OutsideEvent): boolean {
  const can: unknown = Reflect.get(snapshot, 'can');
  return typeof can === 'function' && Reflect.apply(can, snapshot, [event]) === true;
}

const NO_WORK: LeafWork = new Map();

const never = (): Promise<Outcome> => new Promise<Outcome>(() => undefined);

/** The output of a driven machine that is over, for the recording: without the messages, which follow from the rest. */
export function recordedOutput(output: unknown): Json {
  return isJsonObject(output) ? Object.fromEntries(Object.entries(output).filter(([key]) => key !== 'messages')) : null;
}
