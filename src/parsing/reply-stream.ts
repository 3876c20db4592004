import { parseReply } from './reply/parse-reply.ts';
import type { ParseReplyOptions } from './reply/reply-source.ts';
import type { Reply } from './reply.ts';
import { EnvelopeLexer } from './stream/envelope-lexer.ts';
import { PartialEnvelope, type PartialReply } from './stream/partial-reply.ts';
import { TextFollower } from './stream/text-follower.ts';

export type { PartialReply } from './stream/partial-reply.ts';

/** A reply that is being read while its tokens arrive. */
export interface ReplyStream {
  /** Takes the next piece and returns what is known so far. The work is proportional to the piece, not to the whole. */
  push(chunk: string): PartialReply;
  /** What is known so far. */
  readonly partial: PartialReply;
  /** Ends the message: the same reply that `parseReply` gives for the whole text, however it was cut into pieces. */
  end(): Reply;
}

/**
 * Makes a stream for one reply, so that a user interface can show thought and answer while they grow, and not the
 * envelope around them. Never throws.
 *
 * @example
 * const stream = createReplyStream({ tools: ['add'] });
 * for await (const token of tokens) show(stream.push(token).answer);
 * const reply = stream.end();
 */
export function createReplyStream(options?: ParseReplyOptions): ReplyStream {
  const chunks: string[] = [];
  const follower = new Follower();
  return {
    push(chunk) {
      const given: unknown = chunk;
      if (typeof given !== 'string') return follower.read();
      chunks.push(given);
      follower.take(given);
      return follower.read();
    },
    get partial() {
      return follower.read();
    },
    end: () => parseReply(chunks.join(''), options),
  };
}

/** Follows the message: text until an object begins, then the object, then text again when it was no envelope. */
class Follower {
  private readonly text = new TextFollower();
  private lexer: EnvelopeLexer | undefined;
  private envelope: PartialEnvelope | undefined;
  private readonly object: string[] = [];
  private settled = false;

  take(chunk: string): void {
    let i = 0;
    while (i < chunk.length && !this.settled) {
      if (this.lexer === undefined) {
        const at = this.text.take(chunk, i);
        if (at < chunk.length && this.text.phase !== 'calls') {
          this.lexer = new EnvelopeLexer();
          this.envelope = new PartialEnvelope(this.lexer);
          this.object.push('{');
        }
        i = at + 1;
      } else {
        const from = i;
        i = this.lexer.take(chunk, from);
        this.object.push(chunk.slice(from, i));
        if (this.lexer.state !== 'open') this.leaveObject();
      }
    }
  }

  /** The envelope is settled once it ended; anything else was part of the prose. */
  private leaveObject(): void {
    if (this.envelope?.isEnvelope === true) {
      this.settled = true;
      return;
    }
    this.lexer = undefined;
    this.envelope = undefined;
    this.text.append(this.object.join(''));
    this.object.length = 0;
  }

  read(): PartialReply {
    const thought = this.text.thinking;
    if (this.envelope?.isEnvelope === true) return this.envelope.read(thought);
    const { phase } = this.text;
    const answer = this.lexer === undefined && phase === 'text' ? this.text.answer : undefined;
    return { phase, thought, goal: '', calls: [], ...(answer === undefined || answer === '' ? {} : { answer }) };
  }
}
