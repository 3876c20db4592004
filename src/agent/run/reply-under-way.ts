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

  take({ id }: Effect, { note, kind, text }: JsonObject): void {
    if (note !== 'token' || kind === 'reasoning' || kind === 'arguments' || typeof text !== 'string') return;
    if (id === this.#effectId) this.#text += text;
    else if (agentPath(id) === ROOT_ID) [this.#effectId, this.#text] = [id, text];
  }

  /** What it has said, as one token; null where the reply is over, or void because the model is asked again. */
  said({ driven }: Driven): { readonly id: string; readonly note: JsonObject } | null {
    const isOpen = driven.openEffects().some(({ id }) => id === this.#effectId);
    return isOpen ? { id: this.#effectId, note: { note: 'token', kind: 'text', text: this.#text, index: 0 } } : null;
  }

  /** The event that cancels the run, with what can be read of its answer. */
  cancelled(reason: string, { driven }: Driven): OutsideEvent {
    const { answer = '' } =
      this.said({ driven }) === null
        ? {}
        : createReplyStream(howRead(driven.actor.getSnapshot().context)).push(this.#text);
    return { type: 'run.cancelled', reason, ...(answer === '' ? {} : { partialAnswer: answer }) };
  }
}
