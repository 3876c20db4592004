import { LinkFault } from '../wire/faults.ts';
import { type PendingRequest, type PendingRequests, isPing } from '../wire/pending-requests.ts';
import type { LinkIo } from '../wire/link.ts';
import { observedFetch } from './observed-fetch.ts';

/** Detects over HTTP what no single request would: that the server has gone while a call waits for its answer. */
interface HttpWatch {
  readonly fetch: typeof fetch;
  /** To be called when a request leaves: the heart is felt only while something is under way. */
  requestSent(): void;
  /** Why nothing can come any more; null while it can. */
  dead(): LinkFault | null;
  /** The server is not to be used any more, for this reason; the first counts. */
  giveUp(fault: LinkFault): void;
  stop(): void;
}

interface Watched {
  readonly requests: PendingRequests;
  readonly io: LinkIo;
  /** `vital`: without the stream of the server's messages nothing works, as with SSE. */
  readonly listening: 'vital' | 'extra';
  readonly ping: (signal: AbortSignal) => Promise<void>;
}

/** How long a ping may take. */
const PING_MS = 2500;

/**
 * How often it is looked whether anything came in, while a request waits for its answer. A ping follows a second of
 * silence, and its own answer counts as a sound: so there is one at most every two seconds.
 */
const HEARTBEAT_MS = 1000;
/** What the last bytes of a stream take through the parser. */
const SETTLE_MS = 20;
/** How often the SDK tries to resume a stream. */
const RESUME_TRIES = 2;

/** Makes the watch of one HTTP link. A failed ping and a broken stream raise doubt; the connection's machine decides. */
export function createHttpWatch({ requests, io, listening, ping }: Watched): HttpWatch {
  let timer: unknown = null;
  let heard = false;
  let stopped = false;
  let dead: LinkFault | null = null;

  const waiting = (): readonly PendingRequest[] => requests.open().filter((pending) => !isPing(pending));
  const schedule = (): void => {
    if (timer !== null || stopped) return;
    heard = false;
    timer = io.clock.setTimeout(beat, HEARTBEAT_MS);
  };
  const beat = (): void => {
    timer = null;
    if (stopped || waiting().length === 0) return;
    if (heard) return schedule();
    const limit = new AbortController();
    const timeout = io.clock.setTimeout(() => limit.abort(), PING_MS);
    ping(limit.signal)
      .catch((fault: unknown) => {
        // Silence proves nothing: many a server does one thing at a time.
        if (fault instanceof LinkFault && fault.kind !== 'aborted' && !stopped) io.onDoubt(fault.message);
      })
      .finally(() => {
        io.clock.clearTimeout(timeout);
        if (waiting().length > 0) schedule();
      });
  };
  const giveUp = (pending: PendingRequest): void => {
    pending.lose(
      new LinkFault('unreachable', 'the stream that would have brought its answer has ended', { delivered: true }),
    );
  };
  const onStreamEnd = (requestId: unknown): void => {
    setTimeout(() => {
      const pending = requests.find(requestId);
      if (pending === null || stopped) return;
      if (pending.resumeAt === null) giveUp(pending);
      io.onDoubt('a stream broke before the answer came');
    }, SETTLE_MS).unref();
  };
  const onListenEnd = (fault: LinkFault): void => {
    if (stopped) return;
    // A stream that brought too much would bring it again.
    if (listening === 'extra' && fault.kind !== 'limit') return io.onDoubt(fault.message);
    dead ??= fault;
    for (const pending of requests.open()) pending.lose(fault);
    io.onDown(fault);
  };
  const onResumeFailed = (resumeAt: string, final: boolean): void => {
    const pending = waiting().find((open) => open.resumeAt === resumeAt);
    if (pending !== undefined) {
      pending.failedResumes += 1;
      if (final || pending.failedResumes >= RESUME_TRIES) giveUp(pending);
    }
    if (!stopped) io.onDoubt('a stream could not be taken up again');
  };
  const onTraffic = (): void => {
    heard = true;
  };
  return {
    fetch: observedFetch({
      requests,
      limits: io.limits,
      answersInPlace: listening === 'extra',
      isOver: () => stopped,
      onTraffic,
      onStreamEnd,
      onListenEnd,
      onResumeFailed,
    }),
    requestSent: schedule,
    giveUp: (fault) => (dead === null ? onListenEnd(fault) : undefined),
    dead: () => dead,
    stop() {
      stopped = true;
      if (timer !== null) io.clock.clearTimeout(timer);
    },
  };
}
