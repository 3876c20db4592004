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
import { type Drive, drive, isRecorded, recordedOutput } from '../../journal/run/drive.ts';
import { type Recorder, recorder, stopwatch } from '../../journal/format/recorder.ts';
import type { RunJournal } from '../../journal/run/run-journal.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import { type AnyResult, runResultOf } from '../../machines/contract/run-result.ts';
import { stateText } from '../../machines/events/transition-log.ts';
import { pendingApprovals, waitingPath } from './pending-approvals.ts';
import { type Stopped, failedOutput, promptOf, releasedResult, settledNow, stateOf, stoppedAt } from './run-state.ts';
import { Messages } from './messages.ts';
import { ReplyUnderWay } from './reply-under-way.ts';
import type { RunPlan, StartedRun } from './run-plan.ts';
import { quietly, runWatch } from './run-watch.ts';
import { type AnyRun, approvalGiven, runHandle } from './run.ts';
import { RunReaders, countEffect, runMachine } from './run-reader.ts';

/** Starts a run at once. */
export function startRun(plan: RunPlan): StartedRun {
  const running = new RunningRun(plan);
  return {
    run: running.run,
    send: (event) => running.send(event),
    withdraw: (id) => running.sendMessage({ type: 'message.withdrawn', id }),
    announce: (body) => running.announce(body),
    isLetGo: () => running.isLetGo,
  };
}

/** What there is of a run as soon as it has begun. */
interface Live {
  readonly driven: Drive;
  readonly journal: RunJournal;
  readonly recording: Recorder;
}

class RunningRun {
  readonly run: AnyRun;
  readonly #plan: RunPlan;
  readonly #watch = runWatch();
  readonly #preparing = new AbortController();
  readonly #begun = Promise.withResolvers<undefined>();
  readonly #ended: Promise<AnyResult>;
  #live: Live | null = null;
  #isOver = false;
  #isReleased = false;
  #isParked = false;
  #stopped: Stopped | undefined;
  #cancelled: string | undefined;
  readonly #readers: RunReaders;
  readonly #messages: Messages;
  readonly #reply = new ReplyUnderWay();

  constructor(plan: RunPlan) {
    this.#plan = plan;
    this.#readers = new RunReaders({
      runId: plan.runId,
      replayed: plan.replayed,
      onMicrostep: (microstep) => this.#watch.onMicrostep(microstep),
      onEvent: (event) => quietly(plan.onEvent, event),
    });
    if (plan.onEvent !== undefined) this.#readers.reader();
    this.#messages = new Messages({
      runId: plan.runId,
      send: (event) => this.sendMessage(event),
      isOver: () => this.#isOver || this.#live?.driven.isActive() === false,
      mail: () => this.#snapshot()?.context.stats.mail,
      // The next run makes its own marks.
      next: (messages) => plan.next?.(plan.redactor.restore(messages)) ?? [],
    });
    this.#ended = this.#lead();
    this.run = this.#handle();
  }

  send(event: OutsideEvent, to?: string): Promise<boolean> {
    return this.#live?.journal.send(redactedEvent(event, this.#plan.redactor), to) ?? Promise.resolve(false);
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
        await plan.onDone(null);
        void this.#messages.close(null);
        this.#readers.close(error instanceof Error ? error : new Error(String(error)));
        throw error;
      }
      const output = failedOutput(plan.task, this.#stopped?.settled ?? this.#snapshot()?.context, error);
      const failed = plan.redactor.redact(runResultOf(output, { runId: plan.runId, durationMs: 0 }));
      [result, isKept] = [failed, plan.resumable === true && this.#live !== null];
      this.#readers.remark((reader) => reader.emit({ type: 'run.finished', result: failed }));
    }
    this.#isOver = true;
    this.#watch.ended(result);
    await plan.onDone(result);
    void this.#messages.close(isKept ? null : result);
    this.#readers.close();
    return plan.redactor.restore(result);
  }

  /** Plays the machine to its end, or until the run is released. */
  async #perform(): Promise<AnyResult> {
    const plan = this.#plan;
    const makeStart = await plan.prepare(this.#preparing.signal);
    const { head, work, journal: open, inspector = null } = makeStart(this.#cancelled);
    const journal = open(
      (event, to) => this.#live?.driven.accepts(event, to) ?? false,
      () => stateText(this.#snapshot()?.value ?? ''),
      (callId) => this.#waiting(callId),
    );
    const recording = recorder(head, journal.at ?? stopwatch());
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
      context: plan.context,
      traceparent: plan.traceparent,
      recordTokens: plan.recordTokens,
      onNote: (effect, note) => this.#onNote(effect, note),
      onStart: ({ name, request }) => {
        countEffect();
        this.#watch.started(name);
        if (name === 'callLlm') plan.onPrompt?.(promptOf(request));
      },
      ...(inspect === undefined ? {} : { inspect }),
    });
    const live = (this.#live = { driven, journal, recording });
    this.#begun.resolve(undefined);
    if (plan.parksOn !== undefined) void plan.caughtUp?.then(() => setTimeout(() => this.#park(live), 0));
    const said = (): ReturnType<ReplyUnderWay['said']> => plan.redactor.redact(this.#reply.said(live));
    const send = (event: OutsideEvent, to?: string): Promise<boolean> => this.send(event, to);
    this.#watch.attach(inspector, { head, recording, run: this.run, said, send, fork: plan.fork });
    if (this.#isReleased) journal.release?.();
    const durationMs = await this.#loop(live);
    const snapshot = this.#snapshot();
    if (durationMs === null) {
      const reason = this.#isParked ? 'parked' : 'released';
      const result = releasedResult({ ...plan, reason, durationMs: recording.elapsed }, this.#stopped);
      // Nothing more comes; no resumed run counts this event.
      this.#readers.remark((reader) => reader.announce({ type: 'run.finished', result }, '', false));
      return result;
    }
    const output = snapshot?.output ?? failedOutput(plan.task, snapshot && settledNow(snapshot), snapshot?.error);
    return runResultOf(output, { runId: plan.runId, durationMs });
  }

  #onNote(effect: Effect, note: JsonObject): void {
    const redacted = (): JsonObject => this.#plan.redactor.redact(note);
    if (!isRecorded(note)) this.#watch.noted(() => ({ id: effect.id, note: redacted() }));
    this.#reply.take(effect, note, this.#live);
    this.#readers.remark((reader) => reader.note(effect, redacted()));
  }

  /** Drives the machine; returns how long the run took, in milliseconds, or null if it was released before its end. */
  async #loop(live: Live): Promise<number | null> {
    const { driven, journal, recording } = live;
    const onStable = (): void => (this.#plan.replayed() ? undefined : this.#plan.onStable?.());
    this.#readers.started();
    driven.start();
    try {
      while (driven.isActive()) {
        onStable();
        const next = journal.next();
        this.#park(live);
        const entry = await next;
        if (entry === null) break;
        this.#readers.tell(entry, () => driven.deliver(entry));
        this.#watch.moved();
        this.#messages.settle();
      }
      onStable();
    } catch (error) {
      await this.#stop(live);
      throw error;
    }
    if (driven.isActive()) {
      await this.#stop(live);
      return null;
    }
    const { elapsed } = recording;
    const output = recordedOutput(driven.actor.getSnapshot().output);
    recording.end(output);
    await journal.end(output);
    return elapsed;
  }

  async #stop({ driven, journal }: Live): Promise<void> {
    this.#stopped = stoppedAt(this.#plan.runId, driven.actor);
    driven.actor.stop();
    await journal.abandon?.();
  }

  #snapshot(): SnapshotFrom<typeof agentMachine> | undefined {
    return this.#live?.driven.actor.getSnapshot();
  }

  async #answer(callId: string, event: OutsideEvent): Promise<boolean> {
    await this.#plan.caughtUp;
    const path = this.#waiting(callId);
    return path === undefined ? false : this.send(event, path);
  }

  #waiting(callId: string): string | undefined {
    return this.#live === null ? undefined : waitingPath(this.#live.driven.actor, callId);
  }

  /** What is sent first comes first. Messages wait until the run has begun, and until what is played from a recording is over. */
  sendMessage(event: OutsideEvent): Promise<boolean> {
    return this.#live === null || this.#plan.caughtUp !== undefined ? this.#sendLater(event) : this.send(event);
  }

  async #sendLater(event: OutsideEvent): Promise<boolean> {
    if (this.#live === null) await Promise.race([this.#begun.promise, this.#ended.catch(() => undefined)]);
    await this.#plan.caughtUp;
    return this.send(event);
  }

  #handle(): AnyRun {
    const { runId, logins } = this.#plan;
    return runHandle({
      runId,
      done: this.#ended,
      state: () => stateOf(this.#snapshot()),
      isTyped: () => this.#snapshot()?.context.shown.output != null,
      read: () => this.#readers.reader().log.read(),
      release: () => this.#release(),
      cancel: async (reason) => {
        if (this.#live !== null) return this.send(this.#reply.cancelled(reason, this.#live));
        if (this.#isOver) return false;
        this.#cancelled ??= reason;
        this.#preparing.abort();
        return this.#plan.cancelled ?? true;
      },
      approve: async (callId, how) => logins?.approve(callId, how.args) ?? this.#answer(callId, approvalGiven(how)),
      reject: async (callId, reason) =>
        logins?.reject(callId) ?? this.#answer(callId, { type: 'approval.refused', reason }),
      steer: (text, options) => this.#messages.steer(text, options),
      queue: (input, options) => this.#messages.queue(input, options),
      pending: () => {
        const root = this.#live?.driven;
        if (this.#isOver || root?.isActive() === false) return [];
        return [...(root === undefined ? [] : pendingApprovals(runId, root.actor)), ...(logins?.list(runId) ?? [])];
      },
      recording: () => this.#live?.recording.text() ?? '',
      transitions: () => [...this.#readers.reader().transitions],
    });
  }

  get isLetGo(): boolean {
    return this.#isReleased || this.#isParked;
  }

  /** Lets the run go when all that it waits for takes long; what it has started is written by then. */
  #park({ driven, journal }: Live): void {
    const { parksOn } = this.#plan;
    if (parksOn === undefined || this.isLetGo || this.#isOver || journal.isIdle?.() !== true) return;
    const open = driven.openEffects();
    if (open.length === 0 || !driven.isActive() || !open.every(parksOn)) return;
    this.#isParked = true;
    journal.release?.();
  }

  async #release(): Promise<boolean> {
    if (this.#plan.resumable !== true || this.#isOver || this.#live?.driven.isActive() === false) return false;
    this.#isReleased = true;
    if (this.#live === null) await Promise.race([this.#begun.promise, this.#ended.catch(() => undefined)]);
    if (this.#live?.journal.release === undefined) return false;
    this.#live.journal.release();
    return (await this.#ended.catch(() => null))?.status === 'waiting';
  }
}
