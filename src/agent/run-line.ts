import type { AgentState, AnyResult } from '../machines/contract/run-result.ts';
import type { SentMessage } from '../machines/contract/mail.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { Message } from '../actors/model.ts';
import { AgentBusyError } from './options/agent-errors.ts';
import { type RunInput, readInput } from './options/input-parts.ts';
import { type RunOptions, newRunId } from './options/run-options.ts';
import type { AnyRun } from './run/run.ts';
import type { StartedRun } from './run/run-plan.ts';

/** What a run of a conversation starts from, told when it is its turn. */
export interface Opening {
  readonly history: readonly Message[];
  /** Messages for the runs after it. */
  readonly queued: readonly SentMessage[];
}

/** What a conversation needs of its agent. */
interface TalkPort {
  readonly agent: string;
  /** Starts a run whose turn comes when `opening` resolves. */
  readonly begin: (input: RunInput, given: RunOptions, own: TalkRun) => StartedRun;
  readonly maxHistory: () => number;
  /** Where the history is that others may have added to, such as a journal; null: this process has all of it. */
  readonly load: () => Promise<Opening | null>;
}

/** A run of a conversation, as it is begun. */
export interface TalkRun {
  readonly opening: (signal: AbortSignal) => Promise<Opening>;
  readonly onDone: (result: AnyResult | null, opening: Opening) => void;
  readonly next: (message: SentMessage) => Promise<string | null>;
}

/** A run that waits until the one before it is over. */
interface InLine {
  readonly id: string;
  readonly text: string;
  readonly started: StartedRun;
  readonly begin: (queued: readonly SentMessage[]) => void;
}

/**
 * Owns: one conversation of an agent: what was said in it, the run that goes on in it, and what waits behind that. Does not
 * own: what a run does, nor where it is kept.
 *
 * I1 One run at a time goes on in it; the others wait in the order in which they came.
 */
export class Talk {
  history: readonly Message[] = [];
  readonly #port: TalkPort;
  /** Messages that were added within an exchange, so that pruning never cuts there. */
  readonly #inside = new WeakSet<Message>();
  readonly #line: InLine[] = [];
  /** The runs of queued messages, until they begin. */
  readonly #begun = new Map<string, PromiseWithResolvers<string | null>>();
  /** Queued messages whose runs were cancelled before it was their turn. */
  readonly #dropped = new Set<string>();
  #live: StartedRun | null = null;
  /** Not the last run itself: an agent that is kept must not keep every event of what it did. */
  #lastState: AgentState = 'PLANNING';
  #isClosed = false;

  constructor(port: TalkPort) {
    this.#port = port;
  }

  get live(): StartedRun | null {
    return this.#live;
  }

  get state(): AgentState {
    return this.#live?.run.state.state ?? this.#lastState;
  }

  /** True when nothing goes on in it, and nothing waits. */
  get isIdle(): boolean {
    return this.#live === null && this.#line.length === 0;
  }

  run(input: RunInput, given: RunOptions): AnyRun {
    const live = this.#live;
    if (live === null) return this.#start(input, given).run;
    switch (given.whenBusy ?? 'refuse') {
      case 'refuse':
        throw new AgentBusyError(this.#port.agent, live.run.runId);
      case 'queue':
        return this.#enqueue(live, input, given);
      case 'steer':
        return this.#steer(live, input, given, false);
      case 'interrupt':
        return this.#steer(live, input, given, true);
    }
  }

  /** Makes a run that was begun elsewhere the one that goes on; gives back what is called when it is over. */
  occupy(started: StartedRun): (result: AnyResult | null, before: readonly Message[]) => void {
    this.#live = started;
    return (result, before) => this.#over(started, result, { history: before, queued: [] });
  }

  /** Starts the run that a queued message is the input of, when it is its turn; null where no more runs are started. */
  next({ id, text }: SentMessage): Promise<string | null> {
    if (this.#isClosed || this.#dropped.delete(id)) return Promise.resolve(null);
    const begun = this.#begun.get(id) ?? Promise.withResolvers<string | null>();
    this.#begun.set(id, begun);
    if (!this.#line.some((one) => one.id === id)) this.#wait(text, {}, id);
    this.#advanceSoon();
    return begun.promise;
  }

  /** No more runs are started; those that wait are over. */
  close(): void {
    this.#isClosed = true;
    for (const { id, started } of this.#line.splice(0)) {
      void started.run.cancel('the agent was closed').catch(() => false);
      this.#answer(id, null);
    }
  }

  #start(input: RunInput, given: RunOptions): StartedRun {
    const { load } = this.#port;
    const opening = async (): Promise<Opening> => (await load()) ?? { history: this.history, queued: [] };
    const started = this.#begin(input, given, opening);
    this.#live = started;
    return started;
  }

  #begin(input: RunInput, given: RunOptions, opening: (signal: AbortSignal) => Promise<Opening>): StartedRun {
    const started = this.#port.begin(input, given, {
      opening,
      onDone: (result, from) => this.#over(started, result, from),
      next: (message) => this.next(message),
    });
    return started;
  }

  /** A run of its own, behind the one that goes on; its input is kept by that one's journal until it begins. */
  #enqueue(live: StartedRun, input: RunInput, given: RunOptions): AnyRun {
    const { runId = newRunId() } = given;
    const waiting = this.#wait(input, { ...given, runId }, runId);
    void live.run.queue(readInput(input).task, { id: runId }).then(
      ({ delivered }) => {
        if (!delivered) this.#advance();
      },
      () => this.#advance(),
    );
    return waiting.run;
  }

  #wait(input: RunInput, given: RunOptions, id: string): StartedRun {
    const turn = Promise.withResolvers<readonly SentMessage[]>();
    const started = this.#begin(input, given, async (signal) => {
      const cancelled = Promise.withResolvers<readonly SentMessage[]>();
      const leave = (): void => {
        const at = this.#line.findIndex((one) => one.id === id);
        if (at !== -1) {
          this.#line.splice(at, 1);
          this.#dropped.add(id);
        }
        cancelled.resolve([]);
      };
      signal.addEventListener('abort', leave, { once: true });
      const queued = await Promise.race([turn.promise, cancelled.promise]);
      signal.removeEventListener('abort', leave);
      const before = signal.aborted ? null : await this.#port.load();
      return { history: before?.history ?? this.history, queued };
    });
    this.#line.push({ id, text: readInput(input).task, started, begin: turn.resolve });
    return started;
  }

  #steer(live: StartedRun, input: RunInput, given: RunOptions, interrupt: boolean): AnyRun {
    const { whenBusy: _busy, ...rest } = given;
    const { task, content } = readInput(input);
    if (content !== null)
      throw new TypeError("agent.run: images cannot be told to a run that goes on. Use whenBusy: 'queue'.");
    void live.run.steer(task, { interrupt }).then(
      ({ delivered, ...what }) => {
        // What came too late for it is the next run's input.
        if (!delivered && !('reason' in what && what.reason === 'kept') && !this.#isClosed) {
          this.#wait(input, rest, newRunId());
          this.#advance();
        }
      },
      () => undefined,
    );
    return live.run;
  }

  /** Once all that were queued are in line. */
  #advanceSoon(): void {
    queueMicrotask(() => this.#advance());
  }

  /** Lets the first in line begin, if nothing goes on. */
  #advance(): void {
    if (this.#live !== null || this.#isClosed) return;
    const first = this.#line.shift();
    if (first === undefined) return;
    this.#live = first.started;
    first.begin(this.#line.filter(({ id }) => this.#begun.has(id)).map(({ id, text }) => ({ id, text })));
    this.#answer(first.id, first.started.run.runId);
  }

  #answer(id: string, runId: string | null): void {
    this.#begun.get(id)?.resolve(runId);
    this.#begun.delete(id);
  }

  #over(started: StartedRun, result: AnyResult | null, { history }: Opening): void {
    // One that was cancelled while it waited has said nothing.
    if (this.#live !== started) return;
    this.#lastState = started.run.state.state;
    this.#live = null;
    // A run that continues elsewhere has not ended.
    if (result !== null && result.status !== 'waiting') {
      for (const message of result.messages.slice(1)) this.#inside.add(message);
      this.history = pruneHistory([...history, ...result.messages], this.#port.maxHistory(), this.#inside);
    }
    // Its queued messages are in line by then.
    setTimeout(() => this.#advance(), 0);
  }
}
