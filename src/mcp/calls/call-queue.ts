/**
 * Owns: the calls of one connection, from being asked for to being settled. Does not own: the connection's state.
 *
 * I1 A call is settled exactly once; what comes later is dropped.
 * I2 A call is sent at most twice, and a second time only after the first was lost with its link; turned away until later,
 *    it was not sent. One that only goes on with what the server has begun goes on as often as its time allows.
 * I3 A call that may not be repeated is never sent again once a request of it may have reached the server.
 * I4 Calls that wait are sent in the order in which they were made; at most `MAX_WAITING` wait.
 */
import { type CallTimes, createPostponer, limitCall } from './call-limits.ts';
import { McpError, type McpQuestion } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault, toMcpError } from '../wire/faults.ts';
import type { McpClock, McpLink } from '../wire/link.ts';
import {
  cancelled,
  finalError,
  isPlain,
  lostCall,
  queueFull,
  reactionTo,
  refusedCall,
  timedOut,
  waitedTooLong,
} from './call-errors.ts';

/** A piece of work on a link: a tool call, or any other request. */
interface Job<T> {
  /** For texts: `'read_file'`, `the list of resources`. */
  readonly what: string;
  /**
   * May it be sent again although its first request may have arrived? Asked when that has to be decided: a call may be
   * made before it is known which tools there are.
   */
  readonly mayRepeat: () => boolean;
  readonly isReadOnly: () => boolean;
  /** True once nothing is begun by sending it again: the server has given it an id. Default: never. */
  readonly goesOn?: () => boolean;
  readonly times: CallTimes;
  readonly signal?: AbortSignal | undefined;
  /** Hears what the server asks while the job is under way. */
  readonly onQuestion?: ((question: McpQuestion) => void) | undefined;
  /** Hears what a person typed as a secret meanwhile. */
  readonly onHidden?: ((text: string) => void) | undefined;
  /** `heard` is to be called when the server tells that it is at work. */
  readonly perform: (open: OpenLink, signal: AbortSignal, heard: () => void) => Promise<T>;
}

/** What the queue tells about a link that it used. */
interface QueueListener {
  readonly onWaiting: () => void;
  /** A call has waited long enough for a connection that nobody is trying: it is to be tried now, or never. */
  readonly onImpatient: () => void;
  readonly onAnswered: (generation: number) => void;
  readonly onDoubt: (generation: number) => void;
  /** The link is useless, and a new one is needed. */
  readonly onLost: (generation: number, fault: LinkFault) => void;
  /**
   * Our token was refused, or lacks a scope, so the call was not carried out. `again`: there is another token by now;
   * `wait`: one is being got; `final`: there is none to be had.
   */
  readonly onRefused: (generation: number, fault: LinkFault) => 'again' | 'wait' | 'final';
}

/** The link that calls may be sent on. */
interface OpenLink {
  readonly link: McpLink;
  readonly generation: number;
}

/** The calls of one connection. */
export interface CallQueue {
  /** Rejects with an {@link McpError}. */
  submit<T>(job: Job<T>): Promise<T>;
  /** Calls may be sent: those that wait leave at once. */
  open(link: OpenLink): void;
  /** Calls must wait. With `idle`, nothing is being tried at the moment: those that have waited long are refused. */
  hold(idle: boolean, error: McpError | null): void;
  /** What was sent on that link and has no answer will get none. */
  lose(generation: number, fault: LinkFault): void;
  /** Refuses all that waits, and with `also: 'sent'` what is under way. */
  refuse(error: McpError, also?: 'sent'): void;
  /** Stops the time of what is under way on a link until the returned function is called. */
  rest(generation: number): () => void;
  /** Tells what is under way on a link of a question of its server. */
  tell(generation: number, question: McpQuestion): void;
  /** Tells what is under way on a link which texts must be seen nowhere. */
  hide(generation: number, texts: readonly string[]): void;
  /** How many calls are under way on a link. */
  underWay(generation: number): number;
  /** Resolves when no call is under way on a link. */
  quiet(generation: number): Promise<void>;
}

interface Call {
  readonly send: (open: OpenLink) => void;
  readonly lose: (fault: LinkFault) => void;
  readonly refuse: (error: McpError) => void;
  readonly rest: () => () => void;
  readonly tell: (question: McpQuestion) => void;
  readonly hide: (text: string) => void;
  /** Null while it waits. */
  generation: number | null;
  patient: boolean;
}

/** Time, and how much of it a call spends on waiting for a connection that is not even being tried. */
interface QueueOptions {
  readonly clock: McpClock;
  readonly patienceMs: number;
}

const MAX_WAITING = 1000;

/** Makes the queue of one connection. */
export function createCallQueue(server: string, options: QueueOptions, listener: QueueListener): CallQueue {
  const { clock, patienceMs } = options;
  const waiting = new Set<Call>();
  const sent = new Set<Call>();
  const quietly = new Set<() => void>();
  let current: OpenLink | null = null;
  let idle: McpError | null = null;

  const underWay = (generation: number): number => [...sent].filter((call) => call.generation === generation).length;

  const submit = <T>(job: Job<T>): Promise<T> => {
    if (job.signal?.aborted === true) return Promise.reject(cancelled(server, job.what));
    if (current === null && waiting.size >= MAX_WAITING)
      return Promise.reject(queueFull(server, job.what, MAX_WAITING));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let attempts = 0;
    let delivered = false;
    let attempt = new AbortController();

    const told = () => ({ server, what: job.what, readOnly: job.isReadOnly(), delivered });
    const leave = (): void => {
      if (sent.delete(call)) for (const look of quietly) look();
    };
    const settle = (): void => {
      waiting.delete(call);
      leave();
      limits.release();
      clock.clearTimeout(patience);
      clock.clearTimeout(resting);
      job.signal?.removeEventListener('abort', onAbort);
      attempt.abort();
    };
    const fail = (error: McpError): void => {
      if (isSettled()) return;
      settle();
      reject(error);
    };
    const isSettled = (): boolean => !waiting.has(call) && !sent.has(call);
    const lost = (fault: LinkFault): void => {
      delivered ||= fault.delivered;
      if (job.goesOn?.() === true || (attempts < 2 && (!delivered || job.mayRepeat()))) return wait();
      fail(fault.kind === 'refused' && !delivered ? refusedCall(server, job.what, fault) : lostCall(told(), fault));
    };
    const wait = (): void => {
      leave();
      call.generation = null;
      call.patient = true;
      waiting.add(call);
      clock.clearTimeout(patience);
      patience = clock.setTimeout(losePatience, patienceMs);
      if (current !== null) return call.send(current);
      listener.onWaiting();
    };
    /** Sends it again when the server says, unless that is not within the call's time. */
    const postpone = (fault: LinkFault): void => {
      const ms = restFor(fault.data.retryAfterMs);
      if (ms === null) return fail(refusedCall(server, job.what, fault));
      const mine = attempt;
      attempts -= 1;
      resting = clock.setTimeout(() => {
        if (attempt === mine && sent.has(call)) wait();
      }, ms);
    };
    const call: Call = {
      generation: null,
      patient: true,
      refuse: (error) => fail(attempts === 0 || isPlain(error, delivered) ? error : lostCall(told(), error)),
      lose: lost,
      rest: () => limits.rest(),
      tell: (question) => job.onQuestion?.(question),
      hide: (text) => job.onHidden?.(text),
      send(open) {
        attempts += 1;
        waiting.delete(call);
        sent.add(call);
        call.generation = open.generation;
        const mine = new AbortController();
        attempt = mine;
        const isMine = (): boolean => attempt === mine && call.generation === open.generation && sent.has(call);
        const heard = (): void => {
          if (isMine()) limits.heard();
        };
        job.perform(open, mine.signal, heard).then(
          (value) => {
            if (!isMine()) return;
            settle();
            resolve(value);
            listener.onAnswered(open.generation);
          },
          (thrown: unknown) => {
            if (isMine()) onFault(thrown, open.generation);
          },
        );
      },
    };
    const onFault = (thrown: unknown, generation: number): void => {
      const fault = thrown instanceof LinkFault ? thrown : null;
      switch (fault === null ? 'final' : reactionTo(fault)) {
        case 'final':
          fail(finalError(server, job.what, thrown));
          return fault?.kind === 'answer' ? listener.onAnswered(generation) : undefined;
        case 'lost':
          if (fault === null) return;
          if (current?.generation === generation) current = null;
          listener.onLost(generation, fault);
          return lost(fault);
        case 'refused':
          return fault === null ? undefined : refusedToken(fault, generation);
        case 'later':
          return fault === null ? undefined : postpone(fault);
        case 'doubt':
          if (fault === null) return;
          if (current?.generation === generation) current = null;
          listener.onDoubt(generation);
          return lost(fault);
      }
    };
    const refusedToken = (fault: LinkFault, generation: number): void => {
      const isFinal = listener.onRefused(generation, fault) === 'final' || attempts > 1;
      return isFinal ? fail(toMcpError(server, fault)) : lost(fault);
    };
    const onAbort = (): void => fail(cancelled(server, job.what));
    const onTimeout = (ms: number): void => {
      const { generation } = call;
      if (generation === null) call.refuse(waitedTooLong(server, job.what, ms, idle));
      else fail(timedOut(server, { ...told(), times: job.times }, ms));
      if (generation !== null) listener.onDoubt(generation);
    };
    const losePatience = (): void => {
      call.patient = false;
      if (idle === null || call.generation !== null) return;
      // One that broke in the middle gets a last attempt at once: the server may have come back meanwhile.
      if (attempts > 0) return listener.onImpatient();
      call.refuse(idle);
    };
    const limits = limitCall(clock, job.times, onTimeout);
    let [patience, resting]: [unknown, unknown] = [null, null];
    const restFor = createPostponer(job.times);
    job.signal?.addEventListener('abort', onAbort, { once: true });
    wait();
    return promise;
  };

  return {
    submit,
    open(link) {
      idle = null;
      current = link;
      // A call that fails while it is sent waits again, for another link: only those of now are sent.
      const batch = [...waiting];
      for (const call of batch) {
        if (current !== link) return;
        call.send(link);
      }
    },
    hold(isIdle, error) {
      current = null;
      idle = isIdle
        ? (error ?? new McpError('not-connected', server, `MCP server '${server}' is not connected.`))
        : null;
      if (idle === null) return;
      const impatient = [...waiting].filter((call) => !call.patient);
      for (const call of impatient) call.refuse(idle);
    },
    lose(generation, fault) {
      if (current?.generation === generation) current = null;
      const stranded = [...sent].filter((call) => call.generation === generation);
      for (const call of stranded) call.lose(fault);
    },
    refuse(error, also) {
      for (const call of [...waiting, ...(also === 'sent' ? sent : [])]) call.refuse(error);
    },
    rest(generation) {
      const wakes = [...sent].filter((call) => call.generation === generation).map((call) => call.rest());
      return () => wakes.forEach((wake) => wake());
    },
    tell(generation, question) {
      for (const call of sent) if (call.generation === generation) call.tell(question);
    },
    hide(generation, texts) {
      for (const call of sent) if (call.generation === generation) texts.forEach(call.hide);
    },
    underWay: (generation) => underWay(generation),
    quiet: (generation) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (underWay(generation) > 0) return;
          quietly.delete(look);
          resolve();
        };
        quietly.add(look);
        look();
      }),
  };
}
