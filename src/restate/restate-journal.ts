/**
 * Owns: the order in which a run on Restate receives entries. Does not own: what is sent to it from outside (`restate-agent.ts`).
 *
 * I1 Every command is issued in `next` or `end`, synchronously and in order of opening; nothing else is awaited than the
 *    race over what is open, in insertion order.
 * I2 Nothing here depends on the attempt but what stands in a durable step: times, outcomes, and which attempt begins a
 *    `once` effect.
 * I3 A `once` effect is launched only by the attempt that a durable step names; another one gives it an unknown outcome.
 * I4 A dead attempt journals nothing: its work is aborted and its steps never settle.
 */
import { RestatePromise, type WorkflowContext, type internal } from '@restatedev/restate-sdk';
import type { Effect, Entry, Outcome, OutsideEvent, Perform } from '../actors/journal.ts';
import { unknownOutcome } from '../actors/journal.ts';
import { redactedEvent } from '../actors/redactor.ts';
import { type EngineHead, type EngineView, WAITS } from '../agent/run/engine-port.ts';
import { lineWriter } from '../journal/format/blobs.ts';
import { deltaWriter } from '../journal/format/deltas.ts';
import { type RecordLine, entryRecord, startRecord } from '../journal/format/record.ts';
import type { CarriedEffect, RunJournal } from '../journal/run/run-journal.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import type { RunStatus } from '../machines/contract/run-result.ts';

/** The context of a workflow's `run`, as the SDK gives it. */
export type EngineContext = WorkflowContext & internal.ContextInternal;

/** An event from outside in its slot. With a `callId` it goes to the actor that waits for a word on that call. */
export type SentEvent = {
  readonly at: number;
  readonly event: OutsideEvent;
  readonly callId?: string;
  readonly to?: string;
};

/** A part of a run's recording in the state of its workflow: JSON lines, and where the run stood behind them. */
export interface RecordedPart {
  readonly text: string;
  readonly view: EngineView & { readonly status: RunStatus | 'running' };
}

/** The names of what a workflow keeps. Slots of events, answers and parts are numbered from 0. */
export const KEPT = {
  part: (number: number) => `part/${String(number).padStart(8, '0')}`,
  /** How many slots of events are used up; not there before the run has begun. */
  taken: 'taken',
  slot: (number: number) => `event/${number}`,
  answer: (number: number) => `answer/${number}`,
  over: 'over',
} as const;

/** What a durable step of an effect keeps. */
interface Done {
  readonly at: number;
  readonly out: Outcome;
  /** What is recorded of it besides its outcome, and when it was noted. */
  readonly notes?: readonly (readonly [at: number, note: JsonObject])[];
}

type Won =
  | { readonly t: 'done'; readonly id: string; readonly done: Done }
  | { readonly t: 'fence'; readonly id: string; readonly by: string }
  | { readonly t: 'timer'; readonly id: string }
  | { readonly t: 'sent'; readonly sent: SentEvent }
  | { readonly t: 'cancelled' };

interface Open extends CarriedEffect {
  readonly controller: AbortController;
  readonly at: number;
  /** Null: an event from outside will close it. */
  promise: RestatePromise<Won> | null;
}

/** The journal of a run that a workflow of Restate drives. Its recording is kept in the workflow's state, part by part. */
export function restateJournal(ctx: EngineContext, run: EngineHead): RunJournal {
  const journal = new RestateJournal(ctx, run);
  return {
    open: (effect, perform) => journal.open(effect, perform),
    close: (id) => journal.close(id),
    next: () => journal.next(),
    end: (output) => journal.end(output),
    at: () => journal.at(),
    release: () => journal.release(),
    abandon: async () => journal.release(),
    // What this process emits itself is not in the engine's journal.
    send: () => Promise.resolve(false),
  };
}

class RestateJournal {
  readonly #ctx: EngineContext;
  readonly #run: EngineHead;
  readonly #began: number;
  readonly #attempt = crypto.randomUUID();
  readonly #write: (effect: Effect) => Json;
  readonly #lines = lineWriter();
  readonly #fresh = new Map<string, CarriedEffect>();
  readonly #open = new Map<string, Open>();
  /** What was performed in this attempt, and needs no reserving. */
  readonly #performed = new Set<string>();
  /** The ids of the messages that were taken. */
  readonly #messages = new Set<unknown>();
  readonly #over = Promise.withResolvers<null>();
  #records: RecordLine[];
  #parts = 0;
  #slots = 0;
  #slot: RestatePromise<Won> | null = null;
  #at = 0;
  #isOver = false;

  constructor(ctx: EngineContext, run: EngineHead) {
    this.#ctx = ctx;
    this.#run = run;
    this.#began = Date.parse(run.head.at);
    this.#write = deltaWriter(run.head);
    this.#records = [run.head];
    const { attemptCompletedSignal: ended } = ctx.request();
    if (ended.aborted) this.release();
    ended.addEventListener('abort', () => this.release(), { once: true });
  }

  at(): number {
    return this.#at;
  }

  open(effect: Effect, perform: Perform): void {
    this.#fresh.set(effect.id, { effect, perform });
  }

  close(id: string): void {
    if (this.#fresh.delete(id)) return;
    this.#open.get(id)?.controller.abort(new Error('It is no longer needed: its state was left.'));
    this.#open.delete(id);
  }

  async next(): Promise<Entry | null> {
    if (this.#isOver) return null;
    const opened = this.#recordStarts();
    if (this.#parts === 0) this.#ctx.set(KEPT.taken, 0);
    this.#keep({ ...this.#run.view(), status: 'running' });
    for (const one of opened) this.#launch(one);
    for (;;) {
      this.#slot ??= this.#nextSlot();
      const waited = [...this.#open.values()].flatMap(({ promise }) => (promise === null ? [] : [promise]));
      const cancelled = this.#ctx.cancellation().map((): Won => ({ t: 'cancelled' }));
      const won = await Promise.race([RestatePromise.race([...waited, this.#slot, cancelled]), this.#over.promise]);
      if (won === null || this.#isOver) return null;
      const entry = this.#entryOf(won);
      if (entry === null) continue;
      this.#records.push(entryRecord(entry, this.#at));
      return entry;
    }
  }

  async end(output: Json): Promise<void> {
    if (this.#isOver) return;
    this.#recordStarts();
    this.#records.push({ t: 'end', at: this.#at, output });
    this.#keep({ ...this.#run.view(), pending: [], status: statusOf(output) });
    for (const { controller } of this.#open.values()) controller.abort(new Error('The run is over.'));
    await Promise.race([this.#ctx.promise<boolean>(KEPT.over).resolve(true), this.#over.promise]);
  }

  /** The attempt is over: the run is another one's now. */
  release(): void {
    this.#isOver = true;
    for (const { controller } of this.#open.values()) controller.abort(new Error('The attempt is over.'));
    this.#over.resolve(null);
  }

  #recordStarts(): readonly CarriedEffect[] {
    const opened = [...this.#fresh.values()];
    this.#fresh.clear();
    for (const { effect } of opened) {
      const request = effect.ms === undefined ? this.#write(effect) : null;
      this.#records.push(startRecord(effect, this.#at, request));
    }
    return opened;
  }

  #keep(view: RecordedPart['view']): void {
    const text = this.#records.map((record) => this.#lines(record)).join('');
    this.#records = [];
    this.#ctx.set<RecordedPart>(KEPT.part(this.#parts++), { text, view });
  }

  #launch({ effect, perform }: CarriedEffect): void {
    const { id } = effect;
    const open: Open = { effect, perform, controller: new AbortController(), at: this.#at, promise: null };
    this.#open.set(id, open);
    if (effect.ms !== undefined) {
      open.promise = this.#ctx.sleep(effect.ms, id).map((): Won => ({ t: 'timer', id }));
    } else if (effect.effects === 'once') {
      const fence = this.#ctx.run(`${id} is begun`, () => this.#attempt);
      open.promise = fence.map((by, failure): Won => ({ t: 'fence', id, by: given(by, failure) }));
    } else this.#perform(open);
  }

  #perform(open: Open, known?: Outcome): void {
    const { id, key } = open.effect;
    const { signal } = open.controller;
    const idempotencyKey = `${this.#run.head.runId}:${key}`;
    const work = async (): Promise<Done> => {
      this.#performed.add(id);
      const notes: (readonly [number, JsonObject])[] = [];
      const note = (said: JsonObject): void => void notes.push([Date.now(), said]);
      const out = known ?? (signal.aborted ? ABORTED : await open.perform({ signal, idempotencyKey, note }));
      if (this.#isOver) return new Promise<never>(() => undefined);
      return { at: Date.now(), out, ...(notes.length === 0 ? {} : { notes }) };
    };
    open.promise = this.#ctx.run(id, work).map((done, failure): Won => ({ t: 'done', id, done: given(done, failure) }));
  }

  #nextSlot(): RestatePromise<Won> {
    const promise = this.#ctx.promise<SentEvent>(KEPT.slot(this.#slots)).get();
    return promise.map((sent, failure): Won => ({ t: 'sent', sent: given(sent, failure) }));
  }

  /** What the machine receives; null: nothing. */
  #entryOf(won: Won): Entry | null {
    if (won.t === 'cancelled') return this.#accepted(CANCELLED, undefined);
    if (won.t === 'sent') return this.#taken(won.sent);
    const open = this.#open.get(won.id);
    if (open === undefined) return null;
    if (won.t === 'fence') {
      this.#perform(open, won.by === this.#attempt ? undefined : unknownOutcome(open.effect));
      return null;
    }
    if (won.t === 'done' && !won.done.out.ok && won.done.out.error.code === WAITS) {
      open.promise = null;
      return null;
    }
    this.#open.delete(won.id);
    if (won.t === 'timer') {
      this.#passTo(open.at + (open.effect.ms ?? 0));
      return { t: 'timer', id: won.id };
    }
    for (const [at, note] of won.done.notes ?? []) {
      this.#passTo(at - this.#began);
      this.#records.push(entryRecord({ t: 'note', id: won.id, note }, this.#at));
    }
    this.#passTo(won.done.at - this.#began);
    if (!this.#performed.has(won.id)) this.#run.reserve(won.done);
    return { t: 'outcome', id: won.id, out: won.done.out };
  }

  /** An event from outside, and the answer to its sender. */
  #taken({ at, event, callId, to: path }: SentEvent): Entry | null {
    this.#slot = null;
    const number = this.#slots++;
    const to = callId === undefined ? path : this.#run.waiting(callId);
    const sent = redactedEvent(event, this.#run);
    const entry = callId !== undefined && to === undefined ? null : this.#accepted(sent, to);
    if (entry !== null) this.#passTo(at - this.#began);
    // A message that is sent again, as where the answer was lost, is one: it was taken.
    const isTaken = entry !== null || this.#messages.has(event['id']);
    if (entry !== null && 'id' in event) this.#messages.add(event['id']);
    this.#ctx.set(KEPT.taken, this.#slots);
    void this.#ctx.promise<boolean>(KEPT.answer(number)).resolve(isTaken);
    return entry;
  }

  #accepted(event: OutsideEvent, to: string | undefined): Entry | null {
    if (!this.#run.accepts(event, to)) return null;
    return to === undefined ? { t: 'event', event } : { t: 'event', event, to };
  }

  #passTo(at: number): void {
    this.#at = Math.max(this.#at, Math.round(at));
  }
}

const CANCELLED: OutsideEvent = { type: 'run.cancelled', reason: 'The invocation was cancelled.' };

/** No one is notified: what was aborted is closed. */
const ABORTED: Outcome = { ok: false, error: { code: 'aborted', message: 'It was no longer needed.' } };

function given<T>(value: T | undefined, failure: Error | undefined): T {
  if (value === undefined) throw failure ?? new Error('A durable step gave nothing.');
  return value;
}

function statusOf(output: Json): RunStatus {
  const status = isJsonObject(output) ? output.status : undefined;
  return STATUSES.find((one) => one === status) ?? 'failed';
}

const STATUSES: readonly RunStatus[] = ['answered', 'stopped', 'failed', 'cancelled'];
