import { lazyMembers } from '../../json/json.ts';
import { parseReply } from '../reply/parse-reply.ts';
import { type ParseReplyOptions, checkReplyOptions } from '../reply/reply-source.ts';
import type { Reply } from '../reply/envelope.ts';
import { Follower } from './follower.ts';
import type { PartialReply } from './partial-reply.ts';

export type { PartialReply } from './partial-reply.ts';

/** A reply that is being read while its tokens arrive. */
export interface ReplyStream {
  /** Takes the next piece and returns what is known so far. The work is proportional to the piece, not to the whole. */
  push(chunk: string): PartialReply;
  /** What is known so far; after `end`, what the whole message says. */
  readonly partial: PartialReply;
  /** Ends the message: the same reply that `parseReply` gives for the whole text, however it was cut into pieces. */
  end(): Reply;
}

/**
 * Makes a stream for one reply, so that a user interface can show thought and answer while they grow, and not the
 * envelope around them. Never throws, whatever the text; only unknown options throw a `TypeError`.
 *
 * @example
 * const stream = createReplyStream({ tools: ['add'] });
 * for await (const token of tokens) show(stream.push(token).answer);
 * const reply = stream.end();
 */
export function createReplyStream(options?: ParseReplyOptions): ReplyStream {
  checkReplyOptions('createReplyStream', options);
  const chunks: string[] = [];
  const follower = new Follower(options);
  let ended: PartialReply | undefined;
  return withPartial(
    {
      push: (chunk: string) => {
        const given: unknown = chunk;
        if (typeof given !== 'string') return follower.read();
        chunks.push(given);
        follower.take(given);
        ended = undefined;
        return follower.read();
      },
      end: () => {
        const reply = parseReply(chunks.join(''), options);
        ended = wholeOf(reply, follower.read());
        return reply;
      },
    },
    () => ended ?? follower.read(),
  );
}

const withPartial = lazyMembers<() => PartialReply, Pick<ReplyStream, 'partial'>>({ partial: (read) => read() });

/** What is known once the message is whole: all that was held back until then is decided. */
function wholeOf(reply: Reply, { phase }: PartialReply): PartialReply {
  const { thought, goal, calls, answer, plan } = reply;
  const acts = calls.length > 0 || plan !== undefined;
  const settled = acts ? 'calls' : answer === undefined ? phase : 'text';
  return {
    phase: phase === 'envelope' && (acts || answer !== undefined) ? phase : settled,
    thought,
    goal,
    calls,
    ...(answer === undefined ? {} : { answer }),
    ...(plan === undefined ? {} : { plan }),
  };
}
