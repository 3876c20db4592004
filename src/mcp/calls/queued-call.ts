/**
 * Owns: one call of a connection: its attempts, its time, and the value or error that it ends with. Does not own: when it
 * is sent, and whether again (the mcpCall machine), and where the connection stands (the queue).
 */
import { type ActorRefFrom, createActor } from 'xstate';
import { McpError, type McpQuestion } from '../../actors/mcp/mcp-calls.ts';
import type { McpCallEvent, McpCallLoss, McpCallOutcome, mcpCallMachine } from '../../machines/mcp/mcp-call-machine.ts';
import { LinkFault } from '../wire/faults.ts';
import type { McpClock, McpLink } from '../wire/link.ts';
import { CallTime, type CallTimes } from './call-time.ts';
import {
  cancelled,
  cutCall,
  failedCall,
  isPlain,
  lostCall,
  reactionTo,
  refusedCall,
  timedOut,
  waitedTooLong,
} from './call-errors.ts';

/** The link that calls may be sent on. */
export interface OpenLink {
  readonly link: McpLink;
  readonly generation: number;
}

/** A piece of work on a link: a tool call, or any other request. */
export interface Job<T> {
  /** For texts: `'read_file'`, `the list of resources`. */
  readonly what: string;
  /**
   * May it be sent again although its first request may have arrived? Asked when that has to be decided: a call may be
   * made before it is known which tools there are.
   */
  readonly repeat: () => McpCallLoss['repeat'];
  readonly isReadOnly: () => boolean;
  readonly times: CallTimes;
  readonly signal?: AbortSignal | undefined;
  /** Receives what the server asks while the job is under way. */
  readonly onQuestion?: ((question: McpQuestion) => void) | undefined;
  /** Receives what a person typed as a secret meanwhile. */
  readonly onHidden?: ((text: string) => void) | undefined;
  /** `heard` is to be called when the server reports that it is at work. */
  readonly perform: (open: OpenLink, signal: AbortSignal, heard: () => void) => Promise<T>;
}

/** What a call needs of its queue. */
export interface CallHost {
  readonly server: string;
  readonly clock: McpClock;
  readonly machine: typeof mcpCallMachine;
  readonly patienceMs: number;
  /** Why the connection is not being attempted; null while it is. */
  readonly idle: () => McpError | null;
  /** The call has left its link, or is settled. */
  readonly onLeft: (call: QueuedCall) => void;
  readonly onWaiting: (call: QueuedCall) => void;
  /** It has waited long enough for a connection that is not being attempted. */
  readonly onDemanding: () => void;
  readonly onAnswered: (generation: number) => void;
  /** Nothing more may be sent on that link until the connection allows it. */
  readonly close: (generation: number) => void;
  readonly onDoubt: (generation: number) => void;
  readonly onLost: (generation: number, fault: LinkFault) => void;
  readonly onUnauthorized: (generation: number, fault: LinkFault) => 'again' | 'wait' | 'final';
}

/** The end of a call, as its caller has it. */
interface Settled<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: McpError): void;
}

/** The least time until a call is sent again that its server turned away. */
const LEAST_POSTPONED_MS = 500;

/** One call, from being made to being settled. */
export class QueuedCall<T = unknown> {
  readonly #id: number;
  readonly #job: Job<T>;
  readonly #host: CallHost;
  readonly #actor: ActorRefFrom<typeof mcpCallMachine>;
  readonly #time: CallTime;
  readonly #settled: Settled<T> = Promise.withResolvers<T>();
  #state = '';
  #open: OpenLink | null = null;
  #attempt = new AbortController();
  #value: { readonly of: T } | null = null;
  /** Why it was lost, refused or has failed, whichever was last. */
  #cause: unknown = null;
  /** The time limit that was met. */
  #overMs = 0;

  constructor(id: number, job: Job<T>, host: CallHost) {
    this.#id = id;
    this.#job = job;
    this.#host = host;
    const { clock, machine, patienceMs } = host;
    const isIdle = host.idle() !== null;
    const input = { call: id, patienceMs, mostRestMs: job.times.silenceMs, isIdle };
    this.#actor = createActor(machine, { input, clock });
    this.#time = new CallTime(clock, job.times, (ms) => {
      this.#overMs = ms;
      this.#happened({ type: 'time.over' });
    });
  }

  get id(): number {
    return this.#id;
  }

  get isSettled(): boolean {
    return this.#actor.getSnapshot().status === 'done';
  }

  /** The link that it is under way on; null while it waits. */
  get generation(): number | null {
    return this.#actor.getSnapshot().context.generation;
  }

  /** Makes it wait for a link. Rejects with an {@link McpError}. */
  start(): Promise<T> {
    this.#job.signal?.addEventListener('abort', this.#cancel, { once: true });
    this.#actor.subscribe(() => this.#follow());
    this.#actor.start();
    return this.#settled.promise;
  }

  /** Sends it on a link. */
  send(open: OpenLink): void {
    this.#open = open;
    this.#happened({ type: 'link.opened', generation: open.generation });
  }

  /** The link that it is under way on is gone. */
  lose(generation: number, fault: LinkFault): void {
    this.#cause = fault;
    this.#happened({ type: 'link.lost', generation, ...this.#lossBy(fault) });
  }

  refuse(error: McpError): void {
    this.#cause = error;
    this.#happened({ type: 'call.refused' });
  }

  /** Records whether the connection is being attempted. */
  noteIdle(isIdle: boolean): void {
    this.#happened({ type: isIdle ? 'connection.idle' : 'connection.tried' });
  }

  /** Stops its time until the returned function is called. */
  pause(): () => void {
    return this.#time.pause();
  }

  ask(question: McpQuestion): void {
    this.#job.onQuestion?.(question);
  }

  hide(text: string): void {
    this.#job.onHidden?.(text);
  }

  /** One attempt. `left` aborts when the machine does not wait for its outcome any more. */
  async attempt(left: AbortSignal): Promise<McpCallOutcome> {
    const open = this.#open;
    if (open === null) return { kind: 'failed' };
    this.#attempt = new AbortController();
    const heard = (): void => {
      if (!left.aborted) this.#time.heard();
    };
    try {
      const value = await this.#job.perform(open, this.#attempt.signal, heard);
      if (!left.aborted) this.#value = { of: value };
      return { kind: 'answered' };
    } catch (thrown) {
      return left.aborted ? { kind: 'failed' } : this.#outcomeOf(thrown, open.generation);
    }
  }

  /** What is settled stays so. */
  #happened(event: McpCallEvent): void {
    if (!this.isSettled) this.#actor.send(event);
  }

  readonly #cancel = (): void => this.#happened({ type: 'call.cancelled' });

  #outcomeOf(thrown: unknown, generation: number): McpCallOutcome {
    this.#cause = thrown;
    if (!(thrown instanceof LinkFault)) return { kind: 'failed' };
    switch (reactionTo(thrown)) {
      case 'final':
        return { kind: 'failed' };
      case 'later':
        return { kind: 'postponed', waitMs: Math.max(LEAST_POSTPONED_MS, Number(thrown.data.retryAfterMs)) };
      case 'refused': {
        const isFinal = this.#host.onUnauthorized(generation, thrown) === 'final';
        return { kind: 'unauthorized', isFinal, ...this.#lossBy(thrown) };
      }
      case 'lost':
        this.#host.close(generation);
        this.#host.onLost(generation, thrown);
        return { kind: 'lost', ...this.#lossBy(thrown) };
      case 'doubt':
        this.#host.close(generation);
        this.#host.onDoubt(generation);
        return { kind: 'lost', ...this.#lossBy(thrown) };
    }
  }

  #lossBy({ delivered }: LinkFault): McpCallLoss {
    return { delivered, repeat: this.#job.repeat() };
  }

  /** Does what follows from the state that the machine has come to. */
  #follow(): void {
    const { value, status } = this.#actor.getSnapshot();
    const state = typeof value === 'string' ? value : Object.entries(value).join();
    if (state === this.#state) return;
    const wasUnderWay = this.#state.startsWith('UNDER_WAY');
    this.#state = state;
    if (status === 'done') return this.#settle(state);
    if (state === 'WAITING,DEMANDING') return this.#host.onDemanding();
    if (state !== 'WAITING,PATIENT') return;
    if (wasUnderWay) this.#host.onLeft(this);
    this.#host.onWaiting(this);
  }

  #settle(state: string): void {
    const { generation } = this;
    this.#time.release();
    this.#job.signal?.removeEventListener('abort', this.#cancel);
    this.#host.onLeft(this);
    this.#attempt.abort();
    if (state === 'ANSWERED' && this.#value !== null) this.#settled.resolve(this.#value.of);
    else this.#settled.reject(this.#errorIn(state));
    if (generation === null) return;
    if (state === 'ANSWERED' || (state === 'FAILED' && isAnswer(this.#cause))) this.#host.onAnswered(generation);
    if (state === 'TIMED_OUT') this.#host.onDoubt(generation);
  }

  #errorIn(state: string): McpError {
    const { server } = this.#host;
    const { what, times } = this.#job;
    const { delivered, generation } = this.#actor.getSnapshot().context;
    const call = { server, what, times, readOnly: this.#job.isReadOnly(), delivered };
    const cause = this.#cause;
    switch (state) {
      case 'CANCELLED':
        return cancelled(server, what);
      case 'TIMED_OUT':
        if (generation !== null) return timedOut(call, this.#overMs);
        return this.#refusal(call, waitedTooLong(server, what, this.#overMs, this.#host.idle()));
      case 'REFUSED':
        return this.#refusal(call, cause instanceof McpError ? cause : this.#host.idle());
      case 'LOST':
        return cause instanceof LinkFault && (cause.kind === 'refused' || cause.kind === 'session') && !delivered
          ? refusedCall(server, what, cause)
          : lostCall(call, cause);
      default:
        return failedCall(call, cause);
    }
  }

  /** The error of a call that is not sent any more, or that is not sent again. */
  #refusal(call: Parameters<typeof lostCall>[0], error: McpError | null): McpError {
    const { attempts, generation } = this.#actor.getSnapshot().context;
    const mayBeDone = attempts > 0 && (call.delivered || generation !== null) && !call.readOnly;
    if (error?.code === 'cancelled' && mayBeDone) return cutCall(error, call.what);
    return error !== null && (attempts === 0 || isPlain(error, call.delivered)) ? error : lostCall(call, error);
  }
}

function isAnswer(cause: unknown): boolean {
  return cause instanceof LinkFault && cause.kind === 'answer';
}
