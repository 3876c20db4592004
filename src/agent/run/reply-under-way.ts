import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { ROOT_ID } from '../../journal/format/run-input.ts';
import type { Drive } from '../../journal/run/drive.ts';
import { agentPath, howRead } from '../../machines/events/note-events.ts';
import { createReplyStream } from '../../parsing/stream/reply-stream.ts';

interface Driven {
  readonly driven: Drive;
}

/** What the model of a run's own agent, not of one below, has streamed of the reply that it is at. */
export class ReplyUnderWay {
  #effectId = '';
  #text = '';
  #reasoning = '';

  take({ id }: Effect, { note, kind, text }: JsonObject): void {
    if (note !== 'token' || kind === 'arguments' || typeof text !== 'string' || agentPath(id) !== ROOT_ID) return;
    if (id !== this.#effectId) [this.#effectId, this.#text, this.#reasoning] = [id, '', ''];
    if (kind === 'reasoning') this.#reasoning += text;
    else this.#text += text;
  }

  /**
   * What it has said and thought, as a token of each, the first of which begins it anew; empty where the reply is over, or
   * void because the model is asked again.
   */
  said({ driven }: Driven): readonly { readonly id: string; readonly note: JsonObject }[] {
    if (!this.#isOpen(driven)) return [];
    const pieces = [
      { kind: 'reasoning', text: this.#reasoning },
      { kind: 'text', text: this.#text },
    ].filter(({ text }) => text !== '');
    return pieces.map((piece, index) => ({ id: this.#effectId, note: { note: 'token', ...piece, index } }));
  }

  /** The event that cancels the run, with what can be read of its answer. */
  cancelled(reason: string, { driven }: Driven): OutsideEvent {
    const { answer = '' } = this.#isOpen(driven)
      ? createReplyStream(howRead(driven.actor.getSnapshot().context)).push(this.#text)
      : {};
    return { type: 'run.cancelled', reason, ...(answer === '' ? {} : { partialAnswer: answer }) };
  }

  #isOpen(driven: Drive): boolean {
    return driven.openEffects().some(({ id }) => id === this.#effectId);
  }
}
