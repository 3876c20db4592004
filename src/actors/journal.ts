import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import type { Effects } from '../tools/spec.ts';

/** Why a leaf failed: a stable code, a message for people, and data such as a status or issues. */
export interface LeafError {
  readonly code: string;
  readonly message: string;
  readonly data?: Json;
}

/** What a leaf yielded. Always JSON, success or failure. */
export type Outcome = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: LeafError };

/** Something that a machine requests from outside: a leaf's work, or a timer. */
export interface Effect {
  /** Actor path and ordinal, `agent/llmCall/callLlm#1`; a timer is `timer#3`. */
  readonly id: string;
  readonly name: string;
  readonly effects: Effects;
  /** Frozen and held by reference. */
  readonly request: Json;
  /** What a replay compares. */
  readonly digest: string;
  /** Actor path and digest of the final arguments; behind the run's id it is the idempotency key. */
  readonly key: string;
  /** Set for a timer: how long it runs, in milliseconds. */
  readonly ms?: number;
}

/** The key of a leaf's effect, of its id, which is actor path and ordinal, and of its digest. */
export function effectKey(id: string, digest: string): string {
  return `${id.slice(0, id.lastIndexOf('#'))}@${digest}`;
}

/** The outcome of an effect that an earlier process began and that must not be repeated. */
export function unknownOutcome({ name, request }: Effect): Outcome {
  const tool = isJsonObject(request) && typeof request['tool'] === 'string' ? `'${request['tool']}'` : name;
  const message = `The process ended while ${tool} was running, and it must not be repeated: nobody knows whether it took effect.`;
  return { ok: false, error: { code: 'unknown-outcome', message } };
}

/** A timer of at least this many milliseconds is long: a run that waits for nothing shorter can be parked. */
export const LONG_TIMER_MS = 60_000;

/** What a leaf may use while it works. */
export interface PerformIo {
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  /** Leaves a remark in the journal, which decides nothing. */
  readonly note: (note: JsonObject) => void;
}

/**
 * The remarks of an effect as a function that can be handed on. Made here and not where it is assigned to a property: there V8
 * makes a function in its old generation, where it keeps the whole run until the next full collection.
 */
export function noteIn(io: PerformIo): PerformIo['note'] {
  return (note) => io.note(note);
}

/** The scope of one effect. Its key, which needs the digest of the request, is computed on first use. */
export class EffectIo implements PerformIo {
  readonly signal: AbortSignal;
  readonly note: PerformIo['note'];
  readonly #key: () => string;

  constructor(signal: AbortSignal, note: PerformIo['note'], key: () => string) {
    this.signal = signal;
    this.note = note;
    this.#key = key;
  }

  // A class, because V8 gives every literal with a getter its own map.
  get idempotencyKey(): string {
    return this.#key();
  }
}

/** The work behind an effect. Never rejects. */
export type Perform = (io: PerformIo) => Promise<Outcome>;

/**
 * All that a machine ever receives, and the remarks of leaves in between, which it does not. `to` is an actor path; without it
 * the event goes to the root.
 */
export type Entry =
  | { readonly t: 'outcome'; readonly id: string; readonly out: Outcome }
  | { readonly t: 'timer'; readonly id: string }
  | { readonly t: 'note'; readonly id: string; readonly note: JsonObject }
  | { readonly t: 'event'; readonly event: OutsideEvent; readonly to?: string };

/** An event from outside: JSON with a type. */
export type OutsideEvent = { readonly type: string } & JsonObject;

/** The port between the machines and time: it fixes the order of everything that crosses the boundary, and records it. */
export interface Journal {
  /** Registers an effect while the machine moves. Launches nothing and throws nothing. `fired`: fires a timer before its time. */
  open(effect: Effect, perform: Perform, fired?: Promise<unknown>): void;
  /** Aborts an effect: its outcome is neither delivered nor written. */
  close(id: string): void;
  /** Launches what is new, waits, fixes the order durably and returns the next entry; null when there is none to come. */
  next(): Promise<Entry | null>;
  /** Called once, when the machine is done. */
  end(output: Json): void | Promise<void>;
}

const names = new WeakMap<object, string>();

/**
 * The name of a run without a journal, in place of its id: nothing else in any process has it, so that two
 * runs never share an idempotency key. A run that is restored keeps the one it had.
 */
export function runName(run: object, kept?: string): string {
  const name = names.get(run) ?? kept ?? freshName();
  names.set(run, name);
  return name;
}

function freshName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => (byte % 32).toString(32)).join('');
}

/** Performs an effect at once, for a machine in a caller's own actor system; gives what stops it. */
export function performDirectly(
  run: object,
  { effect, perform, settle }: { readonly effect: Effect; readonly perform: Perform; settle(out: Outcome): void },
): () => void {
  const controller = new AbortController();
  const io = new EffectIo(
    controller.signal,
    () => undefined,
    // The id of a root actor changes when it is restored.
    () => `${runName(run)}:${effect.key.slice(effect.key.indexOf('/') + 1)}`,
  );
  void perform(io).then((out) => {
    if (!controller.signal.aborted) settle(out);
  });
  return () => controller.abort(new Error(`${effect.name} is no longer needed: its state was left.`));
}

/** Keeps secrets from whoever must not see them. */
export interface Redactor {
  /** Puts a mark in the place of every secret, at any depth. */
  redact<T>(value: T): T;
  /** Puts the secrets back. Marks of other redactors stay as they are. */
  restore<T>(value: T): T;
  /** The first mark in a value that this redactor cannot resolve; null when there is none. */
  lostMark(value: unknown): string | null;
}

/** A redactor without secrets: for replays, which have only marks, and for machines without a run. */
export const NO_REDACTOR: Redactor = { redact: (value) => value, restore: (value) => value, lostMark: () => null };
