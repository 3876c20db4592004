/**
 * Owns: one run from its input to its result: journal, machine, events. Does not own: the agent (its history, whether it
 * is busy), or how events are shown.
 *
 * I1 The result never rejects, except for a replay that diverges.
 * I2 A listener or an output that fails is ignored; a journal that fails ends the run as failed. None breaks the machine.
 * I3 Events without a listener are not made. A late listener gets all of them, as if it had listened from the beginning.
 */
import type { SnapshotFrom } from 'xstate';
import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import { redactedEvent } from '../../actors/redactor.ts';
import type { JsonObject } from '../../json/json.ts';
import { type DriveObserver, drive, isRecorded } from '../../journal/run/drive.ts';
import { recorder, stopwatch } from '../../journal/format/recorder.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { Mail } from '../../machines/contract/mail.ts';
import type { RunEvent, RunEventBody, Transition } from '../../machines/events/run-events.ts';
import { type AnyResult, runResultOf } from '../../machines/contract/run-result.ts';
import { stateText } from '../../machines/events/transition-log.ts';
import type { RunInput } from '../options/input-parts.ts';
import type { ApprovalOptions, Delivery, QueueOptions, SteerOptions } from '../options/run-options.ts';
import { pendingApprovals, waitingPath } from './pending-approvals.ts';
import { failedOutput, promptOf, releasedResult, settledNow, stateOf } from './run-state.ts';
import { LiveRun } from './live-run.ts';
import { Messages, type Receiver } from './messages.ts';
import { ReplyUnderWay } from './reply-under-way.ts';
import type { MakeStart, RunPlan, StartedRun } from './run-plan.ts';
import { RunWatch } from './run-watch.ts';
import { type AnyRun, type PendingApproval, type RunControls, type RunState, approvalGiven, runHandle } from './run.ts';
import { RunReaders, countEffect, runMachine } from './run-reader.ts';

/** Starts a run at once. */
export function startRun(plan: RunPlan): StartedRun {
  return new RunningRun(plan);
}

class RunningRun implements StartedRun, RunControls, Receiver, DriveObserver {
  readonly run: AnyRun;
  readonly runId: string;
  readonly done: Promise<AnyResult>;
  owner: string | undefined;
  readonly #plan: RunPlan;
  readonly #watch = new RunWatch();
  /** Until it has begun. */
  #preparing: AbortController | null = null;
  /** Made when someone waits for the run to begin. */
  #begun: PromiseWithResolvers<undefined> | null = null;
  #live: LiveRun | null = null;
  #isOver = false;
  #isReleased = false;
  #cancelled: string | undefined;
  /** Set if it could not be brought to its end. */
  #failure: { readonly cause: unknown } | null = null;
  readonly #readers: RunReaders;
  readonly #messages: Messages;
  readonly #reply = new ReplyUnderWay();

  constructor(plan: RunPlan) {
    this.#plan = plan;
    this.runId = plan.run.runId;
    this.#readers = new RunReaders(plan, this.#watch);
    if (plan.onEvent !== undefined) this.#readers.reader();
    this.#messages = new Messages(plan, this);
    this.done = this.#lead();
    this.run = runHandle(this);
  }

  send(event: OutsideEvent, to?: string): Promise<boolean> {
    return this.#live?.journal.send(redactedEvent(event, this.#plan.redactor), to) ?? Promise.resolve(false);
  }

  withdraw(id: string): Promise<boolean> {
    return this.sendMessage({ type: 'message.withdrawn', id });
  }

  isOver(): boolean {
    return this.#isOver || this.#live?.driven.isActive() === false;
  }

  mail(): Mail | undefined {
    return this.#snapshot()?.context.stats.mail;
  }

  announce(body: RunEventBody): void {
    this.#watch.announced(body);
    this.#readers.remark((reader) => reader.announce(body));
  }

  /** From the beginning to the result, whatever happens. */
  async #lead(): Promise<AnyResult> {
    const plan = this.#plan;
    let result: AnyResult;
    let isKept = false;
    try {
      result = await this.#perform();
    } catch (error) {
      if (plan.replayed()) {
        this.#isOver = true;
        this.#watch.ended(null);
        await plan.onDone(null);
        void this.#messages.close(null);
        this.#readers.close(error instanceof Error ? error : new Error(String(error)));
        throw error;
      }
      this.#failure = { cause: error };
      const output = failedOutput(plan.run.task, this.#live?.stopped?.settled ?? this.#snapshot()?.context, error);
      const failed = plan.redactor.redact(runResultOf(output, { runId: plan.run.runId, durationMs: 0 }));
      [result, isKept] = [failed, plan.run.resumable === true && this.#live !== null];
      this.#readers.remark((reader) => reader.emit({ type: 'run.finished', result: failed }));
    }
    this.#isOver = true;
    this.#watch.ended(result);
    await plan.onDone(result);
    void this.#messages.close(isKept ? null : result);
    this.#readers.close();
    return plan.redactor.restore(result);
  }

  /** Plays the machine to its end, or until the run is let go. No function of its own waits: it would keep what the run began with. */
  #perform(): Promise<AnyResult> {
    const followers = { readers: this.#readers, watch: this.#watch, messages: this.#messages };
    const { signal } = (this.#preparing ??= new AbortController());
    return Promise.resolve(this.#plan.prepare(signal))
      .then((makeStart) => this.#begin(makeStart).drive(followers))
      .then((durationMs) => this.#resultAfter(durationMs));
  }

  #begin(makeStart: MakeStart): LiveRun {
    const plan = this.#plan;
    const cancelled = this.#cancelled;
    this.#preparing = null;
    const { head, work, journal: open, inspector = null } = makeStart(cancelled);
    const journal = open(
      (event, to) => this.#live?.driven.accepts(event, to) ?? false,
      () => stateText(this.#snapshot()?.value ?? ''),
      (callId) => this.#waiting(callId),
    );
    const recording = recorder(head, journal.at === undefined ? stopwatch() : () => journal.at?.() ?? 0);
    if (inspector?.needsMicrosteps === true) this.#readers.reader();
    const inspect = this.#readers.begin(head, recording);
    const driven = drive({
      logic: runMachine(),
      work,
      redactor: plan.redactor,
      id: ROOT_ID,
      input: inputOf(head),
      journal,
      recorder: recording,
      context: plan.run.given.context,
      traceparent: plan.run.given.traceparent,
      recordTokens: plan.recordTokens,
      observer: this,
      ...(inspect === undefined ? {} : { inspect }),
    });
    const live = (this.#live = new LiveRun(plan, { driven, journal, recording }));
    // By a listener of its first events, which are those of the machine that was just made.
    if (this.#cancelled !== cancelled) void this.cancel(this.#cancelled ?? '').catch(() => false);
    this.#begun?.resolve(undefined);
    if (plan.parksOn !== undefined) void plan.run.caughtUp?.then(() => setTimeout(() => live.park(), 0));
    this.#watch.attach(inspector, { head, recording, run: this, fork: plan.fork });
    if (this.#isReleased) live.release('released');
    return live;
  }

  /** `durationMs`: null if it was let go. */
  #resultAfter(durationMs: number | null): AnyResult {
    const { runId, task } = this.#plan.run;
    const snapshot = this.#snapshot();
    if (durationMs === null) {
      const { letGo, stopped, recording } = this.#live ?? {};
      const how = { reason: letGo ?? 'released', durationMs: recording?.elapsed ?? 0 };
      const result = releasedResult({ runId, task, ...how }, stopped);
      // Nothing more comes; no resumed run counts this event.
      this.#readers.remark((reader) => reader.announce({ type: 'run.finished', result }, '', false));
      return result;
    }
    const output = snapshot?.output ?? failedOutput(task, snapshot && settledNow(snapshot), snapshot?.error);
    return runResultOf(output, { runId, durationMs });
  }

  onStart({ name, request }: Effect): void {
    countEffect();
    this.#watch.started(name);
    if (name === 'callLlm') this.#plan.onPrompt?.(promptOf(request));
  }

  onNote(effect: Effect, note: JsonObject): void {
    const redacted = (): JsonObject => this.#plan.redactor.redact(note);
    if (!isRecorded(note)) this.#watch.noted(() => ({ id: effect.id, note: redacted() }));
    this.#reply.take(effect, note, this.#live);
    this.#readers.remark((reader) => reader.note(effect, redacted()));
  }

  #snapshot(): SnapshotFrom<typeof agentMachine> | undefined {
    return this.#live?.driven.actor.getSnapshot();
  }

  async #answer(callId: string, event: OutsideEvent): Promise<boolean> {
    await this.#plan.run.caughtUp;
    const path = this.#waiting(callId);
    return path === undefined ? false : this.send(event, path);
  }

  #waiting(callId: string): string | undefined {
    return this.#live === null ? undefined : waitingPath(this.#live.driven.actor, callId);
  }

  /** What is sent first comes first. Messages wait until the run has begun, and until what is played from a recording is over. */
  sendMessage(event: OutsideEvent): Promise<boolean> {
    return this.#live === null || this.#plan.run.caughtUp !== undefined ? this.#sendLater(event) : this.send(event);
  }

  async #sendLater(event: OutsideEvent): Promise<boolean> {
    if (this.#live === null) await this.#untilBegun();
    await this.#plan.run.caughtUp;
    return this.send(event);
  }

  #untilBegun(): Promise<unknown> {
    this.#begun ??= Promise.withResolvers();
    return Promise.race([this.#begun.promise, this.done.catch(() => undefined)]);
  }

  state(): RunState {
    return stateOf(this.#snapshot());
  }

  isTyped(): boolean {
    return this.#snapshot()?.context.shown.output != null;
  }

  read(): AsyncIterator<RunEvent, undefined> {
    return this.#readers.reader().log.read();
  }

  async cancel(reason: string): Promise<boolean> {
    if (this.#live !== null) return this.send(this.#reply.cancelled(reason, this.#live));
    if (this.#isOver) return false;
    this.#cancelled ??= reason;
    this.#preparing?.abort();
    return (this.#preparing && this.#plan.run.cancelled) ?? this.#isCancelled();
  }

  /** Whether a cancel from before it had begun took effect: known once it is written. */
  async #isCancelled(): Promise<boolean> {
    const result = await this.done.catch(() => null);
    if (this.#failure !== null) throw this.#failure.cause;
    return result?.status === 'cancelled';
  }

  async approve(callId: string, how: ApprovalOptions): Promise<boolean> {
    return this.#plan.logins?.approve(callId, how.args) ?? this.#answer(callId, approvalGiven(how));
  }

  async reject(callId: string, reason: string): Promise<boolean> {
    return this.#plan.logins?.reject(callId) ?? this.#answer(callId, { type: 'approval.refused', reason });
  }

  steer(text: string, options: SteerOptions): Promise<Delivery> {
    return this.#messages.steer(text, options);
  }

  queue(input: RunInput, options: QueueOptions): Promise<Delivery> {
    return this.#messages.queue(input, options);
  }

  pending(): readonly PendingApproval[] {
    if (this.isOver()) return [];
    const root = this.#live?.driven.actor;
    const calls = root === undefined ? [] : pendingApprovals(this.runId, root);
    return [...calls, ...(this.#plan.logins?.list(this.runId) ?? [])];
  }

  recording(): string {
    return this.#live?.recording.text() ?? '';
  }

  transitions(): readonly Transition[] {
    return [...this.#readers.reader().transitions];
  }

  /** What its models have said of the replies that they are at. */
  said(): ReturnType<ReplyUnderWay['said']> {
    return this.#live === null ? [] : this.#plan.redactor.redact(this.#reply.said(this.#live));
  }

  isLetGo(): boolean {
    return this.#isReleased || this.#live?.letGo === 'parked';
  }

  async release(): Promise<boolean> {
    if (this.#plan.run.resumable !== true || this.isOver()) return false;
    this.#isReleased = true;
    if (this.#live === null) await this.#untilBegun();
    if (this.#live?.release('released') !== true) return (this.#isReleased = false);
    return (await this.done.catch(() => null))?.status === 'waiting';
  }
}
