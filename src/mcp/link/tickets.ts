import { isJsonObject } from '../../json/json.ts';
import { LinkFault, type McpClock, type McpProgress } from './link.ts';
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
  /**
   * To be called with each message as it came, before all else. True when it answers a request and cannot be read as an
   * answer: the request has failed, and nobody else needs it. An answer that no request asked for is noted: see
   * {@link STRANGER_MS}.
   */
  refused(message: WireMessage): boolean;
  /** To be called with each message that arrives. True when that was all: nobody else needs it. */
  received(message: WireMessage): boolean;
  /** The ticket that {@link sent} gave last: a request is written while it is made. */
  latest(): Ticket | null;
  /** Rejects when the request `initialize` is lost: the SDK makes that one itself and waits for nothing but its answer. */
  readonly greetingLost: Promise<never>;
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
export function createTickets(clock: McpClock): Tickets {
  const open = new Map<unknown, Ticket>();
  const followed = new Map<unknown, Ticket>();
  let latest: Ticket | null = null;
  const { promise: greetingLost, reject: loseGreeting } = Promise.withResolvers<never>();
  greetingLost.catch(() => undefined);
  /** Answers of late that no request asked for. */
  let strangers = 0;

  const meetStranger = (message: WireMessage): void => {
    const waiting = [...open.values()].filter(({ method }) => method !== 'ping');
    strangers += 1;
    clock.setTimeout(() => {
      const left = waiting.filter((ticket) => open.get(ticket.id) === ticket);
      const known = strangers;
      strangers -= 1;
      if (left.length > known) return;
      for (const ticket of left) refuse(ticket, strangeAnswer(message));
    }, STRANGER_MS);
  };
  const refuse = (ticket: Ticket, why: string): void => {
    open.delete(ticket.id);
    ticket.lose(new LinkFault('answer', why, { delivered: true }));
  };

  return {
    refused(message) {
      if (message.method !== undefined) return false;
      const ticket = open.get(message.id);
      const why = ticket === undefined ? null : badAnswer(message);
      if (ticket !== undefined && why !== null) refuse(ticket, why);
      if (ticket === undefined && !isOurs(message.id, latest)) meetStranger(message);
      return why !== null;
    },
    sent(message) {
      if (typeof message.method !== 'string' || message.id === undefined) return null;
      const { promise: lost, reject: lose } = Promise.withResolvers<never>();
      lost.catch(message.method === 'initialize' ? loseGreeting : () => undefined);
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
    greetingLost,
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

/**
 * How long the right answer may take after one that no request asked for. Then that one is taken for it, unless more
 * requests wait than there were such answers: which of them it was meant for nobody knows.
 */
const STRANGER_MS = 1000;

/** Whether a request had this id; one with a late or a second answer did. */
function isOurs(id: unknown, latest: Ticket | null): boolean {
  const newest = latest?.id;
  const given = typeof id === 'string' && id.trim() !== '' ? Number(id) : id;
  return (
    typeof newest === 'number' && typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= newest
  );
}

/** Why a message is no answer in JSON-RPC; null when it is one. */
export function badAnswer({ result, error }: WireMessage): string | null {
  if (result !== undefined && error !== undefined) return 'its answer has both a result and an error';
  if (isJsonObject(result)) return null;
  if (error === undefined) {
    const what = result === undefined ? 'without a result' : `with \`result: ${excerpt(result)}\`, which is no object`;
    return `it answered ${what}`;
  }
  if (isJsonObject(error) && Number.isInteger(error.code) && typeof error.message === 'string') return null;
  return `it answered with an error that has no code and message: ${excerpt(error)}`;
}

/** What is said of an answer under an id that no request had. */
export function strangeAnswer({ id, error }: WireMessage): string {
  const said = isJsonObject(error) && typeof error.message === 'string' ? `: ${error.message.slice(0, 200)}` : '';
  return `it answered under the id ${excerpt(id ?? null)}, which no request has${said}`;
}

function excerpt(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 100);
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
