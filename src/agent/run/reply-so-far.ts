import { createReplyStream } from '../../parsing/stream/reply-stream.ts';
import type { ParseReplyOptions } from '../../parsing/reply/reply-source.ts';

/** What a reply says so far. */
export interface SoFar {
  readonly thought: string;
  readonly answer: string;
}

/** Follows replies while they arrive, so that a user interface can show the answer and not the envelope around it. */
export interface ReplySoFar {
  /** Takes a piece; the first one of a reply, which has the index 0, begins anew with today's `options`. */
  take(piece: Piece, options: ParseReplyOptions): SoFar;
  /** What a reply that is there as a whole says. */
  whole(text: string, options: ParseReplyOptions): SoFar;
}

/** A piece of a reply as it arrives. */
export interface Piece {
  readonly text: string;
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly index: number;
}

/** Follows the replies of one agent. */
export function replySoFar(): ReplySoFar {
  let stream = createReplyStream();
  let reasoning = '';
  return {
    take: ({ text, kind, index }, options) => {
      if (index === 0) {
        stream = createReplyStream(options);
        reasoning = '';
      }
      if (kind === 'reasoning') reasoning += text;
      const { thought, answer = '' } = kind === 'text' ? stream.push(text) : stream.partial;
      return { thought: reasoning === '' ? thought : reasoning, answer };
    },
    whole: (text, options) => {
      const all = createReplyStream(options);
      all.push(text);
      all.end();
      const { thought, answer = '' } = all.partial;
      return { thought, answer };
    },
  };
}
