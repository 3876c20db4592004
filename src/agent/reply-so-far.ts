import { type ReplyStream, createReplyStream } from '../parsing/reply-stream.ts';

/** What a reply says so far. */
export interface SoFar {
  readonly thought: string;
  readonly answer: string;
}

/** Follows replies while they arrive, so that a user interface can show the answer and not the envelope around it. */
export function replySoFar(): { take(text: string, kind: 'text' | 'reasoning' | 'arguments', index: number): SoFar } {
  let stream: ReplyStream = createReplyStream();
  let reasoning = '';
  return {
    take: (text, kind, index) => {
      if (index === 0) {
        stream = createReplyStream();
        reasoning = '';
      }
      if (kind === 'reasoning') reasoning += text;
      const { thought, answer = '' } = kind === 'text' ? stream.push(text) : stream.partial;
      return { thought: reasoning === '' ? thought : reasoning, answer };
    },
  };
}
