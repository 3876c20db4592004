import type { AgentState, AnyResult } from '../machines/contract/run-result.ts';
import type { SentMessage } from '../machines/contract/mail.ts';
import { conversationAfter } from '../journal/replay/replay.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { Message } from '../actors/model.ts';
import { AgentBusyError, AgentClosedError, ConversationError } from './options/agent-errors.ts';
import { type RunInput, messageOf, runOf, steered } from './options/input-parts.ts';
import { type Inherited, type RunOptions, newRunId } from './options/run-options.ts';
import { ABORTED, type InLine, type Keeper, type LiveConversationPort, type Opening } from './kept-conversation.ts';
import { type ConversationRun, type Reopening, aborted, caughtUp, keptBy, free } from './kept-conversation.ts';
import { steerOrBegin, wasTaken } from './run/ask-run.ts';
import type { AnyRun } from './run/run.ts';
import type { NextRun, NextRuns, StartedRun } from './run/run-plan.ts';

const NOTHING: readonly never[] = Object.freeze([]);
const NEVER: Opening = { history: [], queued: [], isAside: true };

/**
 * Owns: one conversation of an agent: what was said in it, its live run, and what waits behind that run. Does not own:
 * what a run does, or where it is kept.
 *
 * I1 One run at a time is live in it; the others wait in the order of their arrival.
 * I2 A kept conversation is locked while a run is live or waits: no other process begins one meanwhile.
 */
export class LiveConversation {
  history: readonly Message[] = NOTHING;
  /** The history as the live run found it: one that was set since then is what the run is added to. */
  #found: readonly Message[] = NOTHING;
  readonly #port: LiveConversationPort;
  /** Messages that were added within an exchange, so that pruning never cuts there. */
  #inside: WeakSet<Message> | null = null;
  #line: readonly InLine[] = NOTHING;
  /** The runs of queued messages, until they begin. */
  #begun: Map<string, PromiseWithResolvers<NextRun>> | null = null;
  /** Messages whose runs were cancelled before it was their turn. */
  #dropped: Set<string> | null = null;
  live: StartedRun | null = null;
  #leave: (() => void | Promise<void>) | null = null;
  #left: Promise<unknown> | null = null;
  #opening: Promise<AnyResult | null> | null = null;
  /** Not the last run itself: an agent that is kept must not retain every event of its runs. */
  #lastState: AgentState = 'PLANNING';
  #isClosed = false;
  /** Messages on their way to a run, and the options of the next run that each may become. */
  #sending: Map<string, RunOptions & Inherited> | null = null;
  #lastAt = 0;
  /** What is missing in the history, until a run has reported it. */
  #warnings: readonly string[] = NOTHING;

  constructor(port: LiveConversationPort) {
    this.#port = port;
  }

  get state(): AgentState {
    return this.live?.run.state.state ?? this.#lastState;
  }

  /** True if this process knows all of it, because no other process can have added to it. */
  get isHeld(): boolean {
    return this.#leave !== null && this.#opening === null;
  }

  run(input: RunInput, given: RunOptions & Inherited): AnyRun {
    const live = this.live ?? this.#line[0]?.started ?? null;
    if (live === null) return (this.live = this.#begin(input, given, (signal) => this.#opened(signal, given))).run;
    if ((given.whenBusy ?? 'refuse') === 'refuse') throw new AgentBusyError(this.#port.agent, live.run.runId);
    return given.whenBusy === 'queue' ? this.#enqueue(live, input, given, true) : this.#steer(live, input, given);
  }

  /** Brings what was interrupted to its end, with all that was queued behind it; null where there is nothing. */
  async resume({ context, park = false }: Inherited): Promise<AnyResult | null> {
    if (this.live !== null) throw new AgentBusyError(this.#port.agent, this.live.run.runId);
    const { keeper } = this.#port; // What is held continues by itself.
    return keeper == null || this.#leave !== null ? null : this.#open(keeper, { context, park, waiting: true });
  }

  /** Makes a run that was begun elsewhere the live one; returns a function to call when it is over. */
  occupy(started: StartedRun): (result: AnyResult | null, before: readonly Message[]) => Promise<unknown> | undefined {
    [this.live, this.#found] = [started, this.history];
    return (result, before) => this.#over(started, result, { history: before, queued: [] });
  }

  /** Starts the runs that queued messages are the inputs of, each when it is its turn. */
  next(messages: readonly SentMessage[], { context, park = false, owner }: Inherited): readonly Promise<NextRun>[] {
    if (this.#isClosed) return messages.map(() => Promise.resolve(this.#port.keeper == null ? null : 'kept'));
    const isDropped = ({ id }: SentMessage): boolean => this.#dropped?.has(id) === true;
    const mine = messages.filter((message) => !isDropped(message));
    // Those that are in line already stand where their messages do.
    const known = ({ id }: SentMessage): InLine | undefined => this.#line.find((one) => one.id === id);
    const given = ({ id }: SentMessage): RunOptions & Inherited => this.#sending?.get(id) ?? { context, park, owner };
    const inLine = mine.map((one) => known(one) ?? this.#wait(one.id, ...runOf(one, given(one)), false));
    this.#line = [...inLine, ...this.#line.filter((one) => !inLine.includes(one))];
    const begun = messages.map((one) => (isDropped(one) ? Promise.resolve(null) : this.#begunOf(one.id).promise));
    queueMicrotask(() => this.#advance());
    return begun;
  }

  /** No more runs are started; those that wait are over. Messages stay with the run that has them, runs are taken out of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const line = this.#line;
    for (const { isHandled, started, turn } of line)
      if (isHandled) void started.run.cancel('the agent was closed').catch(() => false);
      else turn.reject(new AgentClosedError(this.#port.agent));
    this.#line = [];
    // What has no keeper goes on with the live run, or is returned with it.
    if (this.#port.keeper != null || this.live === null) this.#answerAll(this.#port.keeper == null ? null : 'kept');
    // What is taken out of a run's queue is recorded before that run ends or is released.
    await Promise.all(line.map(async ({ isHandled, id }) => isHandled && this.live?.withdraw(id).catch(() => false)));
    await this.#leaveIfIdle();
  }

  /** Resolves when others may have the conversation: it may be taken up even where the run that it was for is over. */
  left(): Promise<unknown> {
    return Promise.allSettled([this.#opening]).then(() => this.#left);
  }

  #begin(input: RunInput, given: RunOptions & Inherited, opening: ConversationRun['opening']): StartedRun {
    const onDone: ConversationRun['onDone'] = (result, from) => this.#over(started, result, from);
    const started = this.#port.begin(input, given, { opening, onDone, next: (messages) => this.next(messages, given) });
    return started;
  }

  /** What the next run starts from. */
  async #opened(signal: AbortSignal, given: RunOptions, queued: readonly SentMessage[] = []): Promise<Opening> {
    const { keeper = null } = this.#port;
    if (keeper === null || this.isHeld) return this.#now(queued);
    const open = this.#open(keeper, { context: undefined, park: given.park === true, waiting: false });
    // Another may have opened it for a run that waits now. Then it is looked at again: nothing begins behind such a run.
    return (await Promise.race([open, aborted(signal)])) === ABORTED ? NEVER : this.#opened(signal, given, queued);
  }

  #now(queued: readonly SentMessage[]): Opening {
    // Runs are ordered by these times.
    this.#lastAt = Math.max(Date.now(), this.#lastAt + 1);
    const warnings = this.#warnings;
    [this.#warnings, this.#found] = [NOTHING, this.history];
    return { history: this.history, queued, at: new Date(this.#lastAt).toISOString(), warnings };
  }

  /** Takes a conversation up that others may have been at: one opening for all that ask meanwhile. */
  #open(keeper: Keeper, how: Omit<Reopening, 'next'>): Promise<AnyResult | null> {
    this.#opening ??= this.#openNow(keeper, how).finally(() => {
      this.#opening = null;
      queueMicrotask(() => void this.#leaveIfIdle());
    });
    return this.#opening;
  }

  async #openNow(keeper: Keeper, how: Omit<Reopening, 'next'>): Promise<AnyResult | null> {
    await this.#left;
    const leave = await keeper.hold();
    const next: NextRuns = (messages) => messages.map(({ id }) => this.#begunOf(id).promise);
    const found = ({ history, at, warnings = [] }: Opening): void => {
      [this.history, this.#warnings, this.#lastAt] = [history, warnings, at === undefined ? 0 : Date.parse(at)];
    };
    try {
      const { behind, first, waits } = await caughtUp(keeper, { ...how, next }, (message, left, runId) => {
        found(left);
        const opening = this.#now(left.queued);
        const own = { opening: async () => opening, onDone: () => undefined, next };
        const { run } = this.#port.begin(...runOf(message, { ...how, owner: left.owner, runId }), own);
        this.#answer(message.id, { runId });
        return run;
      });
      if (waits !== null) {
        this.#refuseLine(waits);
        if (!how.waiting) throw new ConversationError('conversation-waiting', keeper.id, waits);
        await leave();
      } else {
        found(behind);
        this.#leave = leave;
      }
      this.#answerAll(this.#isClosed ? 'kept' : null);
      return first;
    } catch (error) {
      this.#answerAll('kept');
      await leave();
      throw error;
    }
  }

  /** A separate run, queued behind the live one, whose journal keeps its input until it begins. */
  #enqueue(live: StartedRun, input: RunInput, given: RunOptions, isHandled: boolean): AnyRun {
    const { runId = newRunId() } = given;
    const waiting = this.#wait(runId, input, { ...given, runId }, isHandled);
    this.#line = [...this.#line, waiting];
    const asked = { do: 'queue', id: runId, input, metadata: given.metadata } as const;
    void keptBy(live.run, this.#port.ask(live.run.runId, asked)).then((error) => {
      if (error === null) return this.#advance();
      this.#line = this.#line.filter((one) => one !== waiting);
      waiting.turn.reject(error);
    });
    return waiting.started.run;
  }

  #wait(id: string, input: RunInput, given: RunOptions & Inherited, isHandled: boolean): InLine {
    const turn = Promise.withResolvers<readonly SentMessage[]>();
    turn.promise.catch(() => undefined);
    const started = this.#begin(input, given, async (signal) => {
      const queued = await Promise.race([turn.promise, aborted(signal)]);
      if (queued !== ABORTED) return this.#opened(signal, given, queued);
      this.#drop(id);
      return NEVER;
    });
    return { id, message: messageOf(id, input, given.metadata), started, isHandled, turn };
  }

  /** Takes the run of a message out of the line. */
  #drop(id: string): void {
    if (!this.#line.some((one) => one.id === id)) return;
    this.#line = this.#line.filter((one) => one.id !== id);
    (this.#dropped ??= new Set()).add(id);
    this.#answer(id, null);
    void this.live?.withdraw(id).catch(() => false);
  }

  #steer(live: StartedRun, input: RunInput, { whenBusy, ...rest }: RunOptions): AnyRun {
    const id = newRunId();
    const asked = { do: 'steer', id, text: steered(input), interrupt: whenBusy === 'interrupt' } as const;
    const begin = async (): Promise<AnyResult | string> =>
      (this.live ?? this.#line[0]?.started)?.run.runId ?? this.run(input, { runId: id, ...rest });
    const next = { input, metadata: rest.metadata, begin, isClosed: () => this.#isClosed };
    (this.#sending ??= new Map()).set(id, rest);
    void steerOrBegin(this.#port, live.run.runId, asked, next).then(() => {
      this.#sending?.delete(id);
      return this.#leaveIfIdle();
    });
    return live.run;
  }

  /** Starts the first in the queue, if no run is live. */
  #advance(): void {
    const [first, ...rest] = this.#line;
    if (this.live !== null || this.#isClosed || first === undefined) return;
    [this.#line, this.live] = [rest, first.started];
    first.turn.resolve(rest.map(({ message }) => message));
    this.#answer(first.id, { runId: first.started.run.runId });
  }

  #begunOf(id: string): PromiseWithResolvers<NextRun> {
    const begun = this.#begun?.get(id) ?? Promise.withResolvers<NextRun>();
    (this.#begun ??= new Map()).set(id, begun);
    return begun;
  }

  #answer(id: string, next: NextRun): void {
    this.#begun?.get(id)?.resolve(next);
    this.#begun?.delete(id);
  }

  /** Answers for the messages whose runs do not begin here. */
  #answerAll(next: NextRun): void {
    for (const id of this.#begun?.keys() ?? []) if (!this.#line.some((one) => one.id === id)) this.#answer(id, next);
  }

  /** Its result is awaited before the run's result is delivered: others may then continue the conversation. */
  #over(started: StartedRun, result: AnyResult | null, from: Opening): Promise<unknown> | undefined {
    // A run that was cancelled while it waited adds nothing.
    if (this.live !== started) return undefined;
    this.#lastState = started.run.state.state;
    this.live = null;
    if (wasTaken(result)) [this.#leave, this.#left] = [null, free(this.#leave)];
    // A run that continues elsewhere has not ended, and has what waits behind it.
    const goesOn = result?.status === 'waiting';
    if (goesOn) this.#refuseLine(result.runId);
    else if (this.#isClosed) this.#answerAll(null);
    if (!goesOn && result !== null && from.isAside !== true) {
      for (const message of result.messages.slice(1)) (this.#inside ??= new WeakSet()).add(message);
      const said = conversationAfter(this.history === this.#found ? from.history : this.history, result);
      this.history = pruneHistory(said, this.#port.maxHistory(), this.#inside ?? undefined);
    }
    const hasNext = result?.undelivered?.some(({ id, kind }) => kind === 'queue' && this.#dropped?.has(id) !== true);
    if (goesOn || this.#isClosed || (this.#line.length === 0 && hasNext !== true)) return this.#leaveIfIdle();
    // Its queued messages are in line by then.
    setTimeout(() => {
      this.#advance();
      void this.#leaveIfIdle();
    }, 0);
    return undefined;
  }

  #refuseLine(runId: string): void {
    for (const { turn } of this.#line)
      turn.reject(new ConversationError('conversation-waiting', this.#port.keeper?.id ?? this.#port.agent, runId));
    this.#line = [];
    this.#answerAll('kept');
  }

  /** Releases the conversation to other processes when no run is live or waiting in it. */
  #leaveIfIdle(): Promise<unknown> | undefined {
    if (this.live !== null || this.#line.length > 0 || this.#opening !== null) return undefined;
    const left = free(this.#leave);
    [this.#leave, this.#dropped, this.#left] = [null, null, left];
    return left.then(() => {
      if (this.live === null && this.#opening === null && this.#left === left && (this.#sending?.size ?? 0) === 0)
        this.#port.onIdle?.();
    });
  }
}
