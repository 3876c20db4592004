import type { ModelIo, ModelReply, ModelToken } from '../../actors/model.ts';

/** Measures how fast a reply comes. */
export interface Pace {
  /** Wraps a listener so that its tokens are timed. One that throws does not break the reply. */
  listener(onToken: NonNullable<ModelIo['onToken']>): (token: ModelToken) => void;
  /** The reply with the figures that the server did not give itself. */
  measured(reply: ModelReply): ModelReply;
}

/** Replies that come in less time than this come in one piece: nothing can be said of their speed. */
const SHORTEST_MS = 5;

/** Begins to measure: the request goes out now. */
export function createPace(): Pace {
  const startedAt = performance.now();
  let firstAt = 0;
  let lastAt = 0;
  return {
    listener: (onToken) => (token) => {
      lastAt = performance.now();
      if (firstAt === 0) firstAt = lastAt;
      try {
        onToken(token);
      } catch {
        // The listener's own trouble.
      }
    },
    measured(reply) {
      const spentMs = lastAt - firstAt;
      if (firstAt === 0 || spentMs < SHORTEST_MS) return reply;
      const tokens = reply.usage?.outputTokens;
      const speed = tokens === undefined ? {} : { tokensPerSecond: (tokens / spentMs) * 1000 };
      return { ...reply, stats: { timeToFirstTokenMs: firstAt - startedAt, ...speed, ...reply.stats } };
    },
  };
}
