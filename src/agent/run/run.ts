import type { ApprovalOptions, Delivery, QueueOptions, SteerOptions } from '../options/run-options.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { RunEvent, Transition } from '../../machines/events/run-events.ts';
import type { AgentPath, AgentState, ErrorEntry, PendingCall, RunResult } from '../../machines/contract/run-result.ts';
import type { PlanStep } from '../../parsing/calls/call-forms.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { RunInput } from '../options/input-parts.ts';
import { checkApproval, checkMessage, checkQueued, checkReason } from '../options/check-options.ts';
import { RunError, ToolExecutionError } from '../options/agent-errors.ts';

/** Where a run is at this moment. */
export interface RunState<TLast = ToolResult> {
  readonly state: AgentState;
  /** The same with the states inside it, as a dotted path: `PLANNING.ASKING`. */
  readonly path: AgentPath;
  readonly plan: readonly PlanStep[] | null;
  /** Position in the plan, from 0. */
  readonly currentStep: number;
  readonly totalPlanSteps: number;
  readonly planIterations: number;
  readonly stepsTaken: number;
  readonly lastResult: TLast | null;
  readonly errorHistory: readonly ErrorEntry[];
}

/** A call that waits for a person, or an MCP server for one to sign in. */
export interface PendingApproval extends PendingCall {
  /**
   * Set if it is not a call that waits, but an MCP server for a person to sign in: open its `url`. `reject` ends the
   * wait. If the browser does not return by itself, `approve(callId, { args: { address } })` takes its final address.
   */
  readonly login?: PendingLogin;
}

/** An MCP server that waits for a person to sign in. */
export interface PendingLogin {
  readonly server: string;
  /** Where to sign in. */
  readonly url: string;
  /** The requested scopes. */
  readonly scopes: readonly string[];
  /** `loopback`: a browser on this machine answers by itself. `paste`: the browser's final address must be passed back. */
  readonly answer: 'loopback' | 'paste';
}

/** The event with which a person approves a call. */
export function approvalGiven({ always = false, args, reason }: ApprovalOptions): OutsideEvent {
  return { type: 'approval.given', always, args: args ?? null, ...(reason === undefined ? {} : { reason }) };
}

/**
 * One run of an agent. It has started already; await it for its result, iterate it for its events, both as late and as
 * often as you like.
 *
 * @example
 * const run = agent.run('What is in this folder?');
 * for await (const event of run) console.log(event.type);
 * const { result } = await run;
 */
export interface Run<TEvent = RunEvent, TLast = ToolResult, TOutput = null>
  extends PromiseLike<RunResult<TOutput>>, AsyncIterable<TEvent> {
  readonly runId: string;
  readonly state: RunState<TLast>;
  then<T = RunResult<TOutput>, E = never>(
    onFulfilled?: ((result: RunResult<TOutput>) => T | PromiseLike<T>) | null,
    onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<T | E>;
  catch<T = never>(onRejected?: ((reason: unknown) => T | PromiseLike<T>) | null): Promise<RunResult<TOutput> | T>;
  finally(onFinally?: (() => void) | null): Promise<RunResult<TOutput>>;
  /**
   * The answer: the value of `outputSchema`, or without a schema its text. Throws a `RunError` for any other ending, a
   * `ToolExecutionError` after `throwException`.
   */
  orThrow(): Promise<[TOutput] extends [null] ? string : TOutput>;
  /**
   * Ends the run as `cancelled`. Resolves true when it took effect, false when the run was over. Rejects, like `approve`
   * and `reject`, with the cause if the journal cannot write it: the run then ends here as failed, with that code.
   */
  cancel(reason?: string): Promise<boolean>;
  /**
   * Releases the run, to be resumed later here or in another process: running work is aborted, no end is written, the
   * lock is freed, and the result has the status `waiting`. Resolves false, and the run continues, if its journal
   * cannot resume it; also if the run was over.
   */
  release(): Promise<boolean>;
  /**
   * Sends the model a message before its next turn; running tools are not interrupted. Resolves once the model has
   * received it, or can no longer receive it. It is recorded first: a resumed run still delivers it. A message that
   * arrives together with a finished answer makes the run continue while steps are left.
   *
   * @example const { delivered } = await run.steer('In metric units, please.');
   */
  steer(text: string, options?: SteerOptions): Promise<Delivery>;
  /** Keeps a message for the run after this one, which starts with it. Resolves when that run has begun, or never will. */
  queue(input: RunInput, options?: QueueOptions): Promise<Delivery>;
  /** Approves a waiting call, optionally with edited arguments, which are validated again. False: it does not wait. */
  approve(callId: string, options?: ApprovalOptions): Promise<boolean>;
  /** Denies a waiting call; the model receives the reason. False: it does not wait. */
  reject(callId: string, reason?: string): Promise<boolean>;
  readonly pending: readonly PendingApproval[];
  /** The recording so far, as JSON lines. */
  recording(): string;
  /** Every transition of every machine so far. */
  transitions(): readonly Transition[];
}

/** What a run's handle is made from. */
export interface RunControls {
  readonly runId: string;
  readonly done: Promise<RunResult<unknown>>;
  state(): RunState;
  /** Whether the answer has a schema. */
  isTyped(): boolean;
  read(): AsyncIterator<RunEvent, undefined>;
  cancel(reason: string): Promise<boolean>;
  release(): Promise<boolean>;
  approve(callId: string, options: ApprovalOptions): Promise<boolean>;
  reject(callId: string, reason: string): Promise<boolean>;
  steer(text: string, options: SteerOptions): Promise<Delivery>;
  queue(input: RunInput, options: QueueOptions): Promise<Delivery>;
  pending(): readonly PendingApproval[];
  recording(): string;
  transitions(): readonly Transition[];
}

/** Rejections of this promise are marked as handled, so that not awaiting it is safe. */
function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}

const ignore = (): undefined => undefined;

/** A run with any answer. */
export type SomeRun = Run<RunEvent, ToolResult, unknown>;

/** A run whose type does not include its answer's type: the options that it was started with do. */
export type AnyRun = Run<RunEvent, ToolResult, never>;

/**
 * The handle of a run. An un-awaited run never causes an unhandled rejection. The options that the run was started with
 * determine the answer's type; the handle accepts any.
 */
export function runHandle(controls: RunControls): AnyRun {
  return new RunHandle(controls);
}

/**
 * Its functions can be taken off (`const { cancel } = run`): each is made when it is read, as most runs need few of them. It
 * is a class for its getters: each object with getters of its own has a hidden class of its own, and V8 keeps what those
 * refer to, the whole run, until the next full collection.
 */
class RunHandle implements AnyRun {
  readonly runId: string;
  readonly #controls: RunControls;

  constructor(controls: RunControls) {
    this.runId = controls.runId;
    this.#controls = controls;
    void unawaited(controls.done);
  }

  get #done(): Promise<RunResult<never>> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    return this.#controls.done as Promise<RunResult<never>>;
  }

  get state(): RunState {
    return this.#controls.state();
  }

  get pending(): readonly PendingApproval[] {
    return this.#controls.pending();
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent, undefined> {
    return this.#controls.read();
  }

  // oxlint-disable-next-line unicorn/no-thenable -- A run is awaitable by design.
  get then(): AnyRun['then'] {
    return (onFulfilled, onRejected) => this.#done.then(onFulfilled, onRejected);
  }

  get catch(): AnyRun['catch'] {
    return (onRejected) => this.#done.catch(onRejected);
  }

  get finally(): AnyRun['finally'] {
    return (onFinally) => this.#done.finally(onFinally);
  }

  get orThrow(): AnyRun['orThrow'] {
    return async () => {
      const result = await this.#done;
      if (result.success) return this.#controls.isTyped() ? result.output : result.result;
      throw result.reason === 'thrown' ? new ToolExecutionError(result) : new RunError(result);
    };
  }

  get cancel(): AnyRun['cancel'] {
    return (reason = '') => {
      checkReason('run.cancel', reason);
      return unawaited(this.#controls.cancel(reason));
    };
  }

  get approve(): AnyRun['approve'] {
    return (callId, options = {}) => {
      checkApproval(options, 'run.approve');
      return unawaited(this.#controls.approve(callId, options));
    };
  }

  get reject(): AnyRun['reject'] {
    return (callId, reason = '') => {
      checkReason('run.reject', reason);
      return unawaited(this.#controls.reject(callId, reason));
    };
  }

  get steer(): AnyRun['steer'] {
    return (text, options = {}) => {
      checkMessage('run.steer', text, options);
      return unawaited(this.#controls.steer(text, options));
    };
  }

  get queue(): AnyRun['queue'] {
    return (input, options = {}) => {
      checkQueued('run.queue', input, options);
      return unawaited(this.#controls.queue(input, options));
    };
  }

  get release(): AnyRun['release'] {
    return () => this.#controls.release();
  }

  get recording(): AnyRun['recording'] {
    return () => this.#controls.recording();
  }

  get transitions(): AnyRun['transitions'] {
    return () => this.#controls.transitions();
  }
}
