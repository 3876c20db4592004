/**
 * Owns: the calls of one connection that are not settled. Does not own: the connection's state, and what each call does
 * next (the mcpCall machine).
 *
 * I1 Calls that wait are sent in the order in which they began to wait; at most `MAX_WAITING` wait.
 * I2 A call is under way on one link at a time, and what is reported about a link applies only to the calls on it.
 */
import { McpError, type McpQuestion } from '../../actors/mcp/mcp-calls.ts';
import { mcpCallMachine, sendMcpCall } from '../../machines/mcp/mcp-call-machine.ts';
import type { LinkFault } from '../wire/faults.ts';
import type { McpClock } from '../wire/link.ts';
import { waitAtMost } from '../../actors/deadline.ts';
import { cancelled, queueFull } from './call-errors.ts';
import { type CallHost, type Job, type OpenLink, QueuedCall } from './queued-call.ts';

/** What the queue reports about a link that it used. */
export interface QueueListener {
  readonly onWaiting: () => void;
  /** A call has waited long enough for a connection that is not being attempted: it must be attempted now, or never. */
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

interface QueueOptions {
  readonly server: string;
  readonly clock: McpClock;
  /** How long a call waits for a connection that is not being attempted. */
  readonly patienceMs: number;
}

const MAX_WAITING = 1000;

/** The calls of one connection. */
export class CallQueue {
  readonly #server: string;
  /** By id, in the order in which they began to wait. */
  readonly #calls = new Map<number, QueuedCall>();
  readonly #host: CallHost;
  /** Looked at whenever a call leaves its link. */
  readonly #quiet = new Set<() => void>();
  #made = 0;
  #current: OpenLink | null = null;
  #idle: McpError | null = null;

  constructor({ server, clock, patienceMs }: QueueOptions, listener: QueueListener) {
    this.#server = server;
    const send = sendMcpCall({
      send: async ({ call }, signal) => this.#calls.get(call)?.attempt(signal) ?? { kind: 'failed' },
    });
    this.#host = {
      server,
      clock,
      patienceMs,
      machine: mcpCallMachine.provide({ actors: { sendMcpCall: send } }),
      idle: () => this.#idle,
      onLeft: (call) => this.#leave(call),
      onWaiting: (call) => {
        if (this.#current === null) listener.onWaiting();
        else call.send(this.#current);
      },
      onDemanding: listener.onImpatient,
      onAnswered: listener.onAnswered,
      close: (generation) => this.#close(generation),
      onDoubt: listener.onDoubt,
      onLost: listener.onLost,
      onUnauthorized: listener.onRefused,
    };
  }

  /** Rejects with an {@link McpError}. */
  submit<T>(job: Job<T>): Promise<T> {
    if (job.signal?.aborted === true) return Promise.reject(cancelled(this.#server, job.what));
    if (this.#current === null && this.#on(null).length >= MAX_WAITING)
      return Promise.reject(queueFull(this.#server, job.what, MAX_WAITING));
    const call = new QueuedCall(this.#made, job, this.#host);
    this.#made += 1;
    this.#calls.set(call.id, call);
    return call.start();
  }

  /** Calls may be sent: those that wait leave at once. */
  open(link: OpenLink): void {
    this.#note(null);
    this.#current = link;
    // A call that fails while it is sent waits again, for another link: only current ones are sent.
    for (const call of this.#on(null)) {
      if (this.#current !== link) return;
      call.send(link);
    }
  }

  /** Calls must wait. With `idle`, the connection is not being attempted: those that have waited long are rejected. */
  hold(idle: McpError | null): void {
    this.#current = null;
    this.#note(idle);
  }

  /** What was sent on that link and has no answer will get none. */
  lose(generation: number, fault: LinkFault): void {
    this.#close(generation);
    for (const call of this.#on(generation)) call.lose(generation, fault);
  }

  /** Refuses all that waits, and with `also: 'sent'` what is under way. */
  refuse(error: McpError, also?: 'sent'): void {
    const underWay = also === 'sent' ? [...this.#calls.values()].filter((call) => call.generation !== null) : [];
    for (const call of [...this.#on(null), ...underWay]) call.refuse(error);
  }

  /** Pauses the timeouts of what is under way on a link until the returned function is called. */
  pause(generation: number): () => void {
    const resumes = this.#on(generation).map((call) => call.pause());
    return () => resumes.forEach((resume) => resume());
  }

  /** Reports a question of a server to what is under way on its link. */
  ask(generation: number, question: McpQuestion): void {
    for (const call of this.#on(generation)) call.ask(question);
  }

  /** Reports to what is under way on a link which texts must be seen nowhere. */
  hide(generation: number, texts: readonly string[]): void {
    for (const call of this.#on(generation)) texts.forEach((text) => call.hide(text));
  }

  /** How many calls are under way on a link. */
  underWay(generation: number): number {
    return this.#on(generation).length;
  }

  /** Resolves when no call is under way on a link, or the time is up. */
  quietWithin(ms: number, generation: number): Promise<void> {
    return waitAtMost(ms, undefined, this.quiet(generation), this.#host.clock);
  }

  /** Resolves when no call is under way on a link. */
  quiet(generation: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.underWay(generation) > 0) return;
        this.#quiet.delete(look);
        resolve();
      };
      this.#quiet.add(look);
      look();
    });
  }

  /** The calls on a link, or with null those that wait. */
  #on(generation: number | null): readonly QueuedCall[] {
    return [...this.#calls.values()].filter((call) => call.generation === generation);
  }

  #leave(call: QueuedCall): void {
    this.#calls.delete(call.id);
    if (!call.isSettled) this.#calls.set(call.id, call);
    for (const look of this.#quiet) look();
  }

  #close(generation: number): void {
    if (this.#current?.generation === generation) this.#current = null;
  }

  /** Notes why the connection is not being attempted, or that it is. */
  #note(idle: McpError | null): void {
    const isNews = idle !== null || this.#idle !== null;
    this.#idle = idle;
    if (isNews) for (const call of this.#calls.values()) call.noteIdle(idle !== null);
  }
}
