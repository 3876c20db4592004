import { isJsonObject } from '../parsing/json.ts';
import type { LinkFault, McpProgress } from './link.ts';
import type { WireMessage } from './wire.ts';

/** What is known of one request on the wire. */
export interface Ticket {
  readonly id: unknown;
  readonly method: string;
  readonly sentAs: WireMessage;
  /** False as long as the server cannot have begun with it. */
  delivered: boolean;
  /** Where its stream can be taken up again after it broke; null where it cannot. */
  resumeAt: string | null;
  /** How often that was tried in vain. */
  failedResumes: number;
  answer: WireMessage | null;
  onProgress: ((progress: McpProgress) => void) | null;
  /** Rejects when the link learns that no answer will come. */
  readonly lost: Promise<never>;
  readonly lose: (fault: LinkFault) => void;
}

/** The requests of one link that have no answer yet. */
export interface Tickets {
  /** To be called with each message that leaves; gives the ticket of a request. */
  sent(message: WireMessage): Ticket | null;
  /** To be called with each message that arrives. True when that was all: nobody else needs it. */
  received(message: WireMessage): boolean;
  /** The ticket that {@link sent} gave last: a request is written while it is made. */
  latest(): Ticket | null;
  find(id: unknown): Ticket | null;
  forget(ticket: Ticket): void;
  /** Its progress is told until the signal aborts, also after its answer if that is a task. */
  follow(ticket: Ticket, until: AbortSignal): void;
  open(): readonly Ticket[];
}

/**
 * Keeps book of what is under way on a link: whether it can have reached the server and whether its answer came. The SDK
 * tells neither, and reports a timeout, an abort and a lost session with the same code.
 */
export function createTickets(): Tickets {
  const open = new Map<unknown, Ticket>();
  const followed = new Map<unknown, Ticket>();
  let latest: Ticket | null = null;
  return {
    sent(message) {
      if (typeof message.method !== 'string' || message.id === undefined) return null;
      const { promise: lost, reject: lose } = Promise.withResolvers<never>();
      lost.catch(() => undefined);
      latest = {
        id: message.id,
        method: message.method,
        sentAs: message,
        delivered: true,
        resumeAt: null,
        failedResumes: 0,
        answer: null,
        onProgress: null,
        lost,
        lose,
      };
      open.set(message.id, latest);
      return latest;
    },
    received(message) {
      // The SDK delivers progress a moment late, after the answer that came right behind it; then it is lost.
      if (message.method === 'notifications/progress') return tellProgress([open, followed], message.params);
      if (message.method !== undefined) return false;
      const ticket = open.get(message.id);
      if (ticket === undefined) return false;
      ticket.answer = message;
      open.delete(message.id);
      if (!isJsonObject(message.result) || message.result.task === undefined) followed.delete(message.id);
      return false;
    },
    latest: () => latest,
    find: (id) => open.get(id) ?? null,
    forget(ticket) {
      if (open.get(ticket.id) === ticket) open.delete(ticket.id);
    },
    follow(ticket, until) {
      if (until.aborted) return;
      followed.set(ticket.id, ticket);
      until.addEventListener('abort', () => followed.delete(ticket.id), { once: true });
    },
    open: () => [...open.values()],
  };
}

function tellProgress(tickets: readonly ReadonlyMap<unknown, Ticket>[], params: unknown): boolean {
  if (!isJsonObject(params) || typeof params.progress !== 'number') return false;
  const { progress, total, message } = params;
  const told = {
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
  try {
    const { progressToken } = params;
    tickets
      .find((some) => some.has(progressToken))
      ?.get(progressToken)
      ?.onProgress?.(told);
  } catch {
    // What a listener does wrong must not stop the reading of messages.
  }
  return true;
}
