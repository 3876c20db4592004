import { type RunInput, messageOf } from '../options/input-parts.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { type Mail, NO_MAIL } from '../../machines/contract/mail.ts';
import type { AnyResult, RunReason } from '../../machines/contract/run-result.ts';
import type { NextRun, RunPlan } from './run-plan.ts';
import { type Delivery, type QueueOptions, type SteerOptions, newRunId } from '../options/run-options.ts';

/** A run, as far as messages to it are concerned. */
export interface Receiver {
  /** Writes an event down and puts it in order; false when the run does not take it. */
  sendMessage(event: OutsideEvent): Promise<boolean>;
  isOver(): boolean;
  isLetGo(): boolean;
  mail(): Mail | undefined;
}

/**
 * Owns: the messages of people to one run, from the moment they are sent until their delivery is decided.
 *
 * I1 Each is answered once: delivered in a step, or not, and why.
 */
export class Messages {
  readonly #plan: Pick<RunPlan, 'run' | 'redactor'>;
  readonly #run: Receiver;
  readonly #waiting: { readonly id: string; readonly resolve: (delivery: Delivery) => void }[] = [];
  #ended: AnyResult | null = null;

  constructor(plan: Pick<RunPlan, 'run' | 'redactor'>, run: Receiver) {
    this.#plan = plan;
    this.#run = run;
  }

  steer(text: string, { id = newRunId(), interrupt = false }: SteerOptions): Promise<Delivery> {
    return this.#send({ type: 'message.steered', id, text, ...(interrupt ? { interrupt } : {}) }, id);
  }

  queue(input: RunInput, { id = newRunId(), metadata }: QueueOptions): Promise<Delivery> {
    return this.#send(queuedEvent(id, input, metadata), id);
  }

  /** The machine has come to rest: what it delivered is known. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const { delivered } = this.#run.mail() ?? NO_MAIL;
    for (const { id, step } of delivered) this.#answer(id, { delivered: true, step, runId: this.#plan.run.runId });
  }

  /** The run is over, and nothing more is delivered by it; null: it has no end, and delivers them when it is resumed. */
  async close(result: AnyResult | null): Promise<void> {
    this.settle();
    this.#ended = result;
    const kept = result === null || result.status === 'waiting';
    const queued = kept ? [] : (this.#run.mail() ?? NO_MAIL).queued;
    const waiting = [...this.#waiting];
    for (const { id } of waiting) {
      if (kept) this.#answer(id, { delivered: false, reason: 'kept' });
      else if (!queued.some((one) => one.id === id)) this.#answer(id, { delivered: false, reason: result.reason });
    }
    // The next run makes its own marks.
    const next = queued.length === 0 ? [] : (this.#plan.run.next?.(this.#plan.redactor.restore(queued)) ?? []);
    await Promise.all(
      queued.map(async ({ id }, at) => this.#answer(id, begunAs((await next[at]) ?? null, result?.reason ?? 'over'))),
    );
  }

  async #send(event: OutsideEvent, id: string): Promise<Delivery> {
    const { delivery, resolve } = later();
    this.#waiting.push({ id, resolve });
    try {
      if (await this.#run.sendMessage(event)) {
        this.settle();
        return await delivery;
      }
    } catch (error) {
      this.#forget(resolve);
      throw error;
    }
    if (this.#knows(id)) {
      this.settle();
      return delivery;
    }
    this.#forget(resolve);
    return { delivered: false, reason: this.#run.isOver() || this.#run.isLetGo() ? 'over' : 'too-many' };
  }

  /** The same message was sent before, and nothing has become of it yet, or it was delivered. */
  #knows(id: string): boolean {
    const { waiting, delivered, queued } = this.#run.mail() ?? NO_MAIL;
    if (delivered.some((one) => one.id === id)) return true;
    return this.#ended === null && [...waiting, ...queued].some((one) => one.id === id);
  }

  #answer(id: string, delivery: Delivery): void {
    for (const one of this.#waiting.filter((waiting) => waiting.id === id)) {
      this.#forget(one.resolve);
      one.resolve(delivery);
    }
  }

  #forget(resolve: (delivery: Delivery) => void): void {
    const index = this.#waiting.findIndex((one) => one.resolve === resolve);
    if (index !== -1) this.#waiting.splice(index, 1);
  }
}

/** Sends a run a message for the run after it. */
export function queuedEvent(
  id: string,
  input: RunInput,
  metadata?: JsonObject,
): OutsideEvent & { readonly id: string } {
  return { type: 'message.queued', ...messageOf(id, input, metadata) };
}

function begunAs(next: NextRun, reason: RunReason | 'over'): Delivery {
  if (next === null) return { delivered: false, reason };
  return next === 'kept' ? { delivered: false, reason: next } : { delivered: true, step: 1, runId: next.runId };
}

function later() {
  const { promise, resolve } = Promise.withResolvers<Delivery>();
  return { delivery: promise, resolve };
}
