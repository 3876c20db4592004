import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { ROOT_ID } from '../../journal/format/run-input.ts';
import type { Drive } from '../../journal/run/drive.ts';
import { agentPath, howRead } from '../../machines/events/note-events.ts';
import { createReplyStream } from '../../parsing/stream/reply-stream.ts';

interface Driven {
  readonly driven: Drive;
}

/** What the models of a run have streamed of the replies that they are at: that of its own agent, and those below. */
export class ReplyUnderWay {
  /** By the effects of their requests. Those that are over stay until another reply begins. */
  #replies: Map<string, { text: string; reasoning: string }> | null = null;

  take({ id }: Effect, { note, kind, text }: JsonObject, live: Driven | null): void {
    if (note !== 'token' || kind === 'arguments' || typeof text !== 'string') return;
    const replies = (this.#replies ??= new Map());
    const reply = replies.get(id) ?? { text: '', reasoning: '' };
    if (!replies.has(id)) {
      const open = new Set(live?.driven.openEffects().map((effect) => effect.id));
      for (const other of replies.keys()) if (!open.has(other)) replies.delete(other);
      replies.set(id, reply);
    }
    if (kind === 'reasoning') reply.reasoning += text;
    else reply.text += text;
  }

  /**
   * What each of them has said and thought, as a token of each, the first of which begins it anew; without those that are
   * over, or void because the model is asked again.
   */
  said({ driven }: Driven): readonly { readonly id: string; readonly note: JsonObject }[] {
    return driven.openEffects().flatMap(({ id }) => {
      const { text = '', reasoning = '' } = this.#replies?.get(id) ?? {};
      const pieces = [
        { kind: 'reasoning', text: reasoning },
        { kind: 'text', text },
      ].filter((piece) => piece.text !== '');
      return pieces.map((piece, index) => ({ id, note: { note: 'token', ...piece, index } }));
    });
  }

  /** The event that cancels the run, with what can be read of the answer of its own agent. */
  cancelled(reason: string, { driven }: Driven): OutsideEvent {
    const open = driven.openEffects().find(({ id }) => this.#replies?.has(id) === true && agentPath(id) === ROOT_ID);
    const text = this.#replies?.get(open?.id ?? '')?.text ?? '';
    const { answer = '' } = createReplyStream(howRead(driven.actor.getSnapshot().context)).push(text);
    return { type: 'run.cancelled', reason, ...(answer === '' ? {} : { partialAnswer: answer }) };
  }
}
