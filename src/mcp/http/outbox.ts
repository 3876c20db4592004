import { LinkFault } from '../wire/faults.ts';

/** Each answer is a request of HTTP with its own connection: more than these do not leave at a time. */
const AT_ONCE = 32;

/** A server for which so many more wait asks without end. */
const MOST_WAITING = 1000;

/**
 * Sends what answers a server, so many at a time. Where too many wait, `giveUp` is called for each more, which rejects: a
 * server that asks faster than it takes the answers would have the process open thousands of connections.
 */
export function createOutbox(giveUp: (fault: LinkFault) => void): (send: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (send) => {
    if (waiting.length >= MOST_WAITING) {
      const fault = new LinkFault('limit', 'it asks, and does not take what it is answered', { delivered: true });
      giveUp(fault);
      throw fault;
    }
    if (underWay < AT_ONCE) underWay += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      await send();
    } finally {
      const next = waiting.shift();
      if (next === undefined) underWay -= 1;
      else next();
    }
  };
}
