import { type RunInput, messageOf } from '../options/input-parts.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { type Mail, NO_MAIL } from '../../machines/contract/mail.ts';
import type { AnyResult, RunReason } from '../../machines/contract/run-result.ts';
import type { NextRun, NextRuns } from './run-plan.ts';
import { type Delivery, type QueueOptions, type SteerOptions, newRunId } from '../options/run-options.ts';

/** A run, as far as messages to it are concerned. */
interface Receiver {
  readonly runId: string;
  /** Writes an event down and puts it in order; false when the run does not take it. */
  readonly send: (event: OutsideEvent) => Promise<boolean>;
  readonly isOver: () => boolean;
  readonly mail: () => Mail | undefined;
  readonly next: NextRuns;
}

/**
 * Owns: the messages of people to one run, from the moment they are sent until their delivery is decided.
 *
 * I1 Each is answered once: delivered in a step, or not, and why.
 */
export class Messages {
  readonly #run: Receiver;
  readonly #waiting = new Map<string, ((delivery: Delivery) => void)[]>();
  #ended: AnyResult | null = null;

  constructor(run: Receiver) {
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
    if (this.#waiting.size === 0) return;
    const { delivered } = this.#run.mail() ?? NO_MAIL;
    for (const id of this.#waiting.keys()) {
      const found = delivered.find((one) => one.id === id);
      if (found !== undefined) this.#answer(id, { delivered: true, step: found.step, runId: this.#run.runId });
    }
  }

  /** The run is over, and nothing more is delivered by it; null: it has no end, and delivers them when it is resumed. */
  async close(result: AnyResult | null): Promise<void> {
    this.settle();
    this.#ended = result;
    const kept = result === null || result.status === 'waiting';
    const queued = kept ? [] : (this.#run.mail() ?? NO_MAIL).queued;
    for (const id of this.#waiting.keys()) {
      if (kept) this.#answer(id, { delivered: false, reason: 'kept' });
      else if (!queued.some((one) => one.id === id)) this.#answer(id, { delivered: false, reason: result.reason });
    }
    const next = queued.length === 0 ? [] : this.#run.next(queued);
    await Promise.all(
      queued.map(async ({ id }, at) => this.#answer(id, begunAs((await next[at]) ?? null, result?.reason ?? 'over'))),
    );
  }

  async #send(event: OutsideEvent, id: string): Promise<Delivery> {
    const { delivery, resolve } = later();
    this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), resolve]);
    try {
      if (await this.#run.send(event)) {
        this.settle();
        return await delivery;
      }
    } catch (error) {
      this.#forget(id, resolve);
      throw error;
    }
    if (this.#knows(id)) {
      this.settle();
      return delivery;
    }
    this.#forget(id, resolve);
    return { delivered: false, reason: this.#run.isOver() ? 'over' : 'too-many' };
  }

  /** The same message was sent before, and nothing has become of it yet, or it was delivered. */
  #knows(id: string): boolean {
    const { waiting, delivered, queued } = this.#run.mail() ?? NO_MAIL;
    if (delivered.some((one) => one.id === id)) return true;
    return this.#ended === null && [...waiting, ...queued].some((one) => one.id === id);
  }

  #answer(id: string, delivery: Delivery): void {
    const waiting = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    for (const resolve of waiting) resolve(delivery);
  }

  #forget(id: string, resolve: (delivery: Delivery) => void): void {
    const left = (this.#waiting.get(id) ?? []).filter((one) => one !== resolve);
    if (left.length === 0) this.#waiting.delete(id);
    else this.#waiting.set(id, left);
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
