import { DEFAULTS, repairedHistory } from './options/agent-settings.ts';
import type { LogicPort } from './agent-logic.ts';
import type {
  CloseOptions,
  ConversationName,
  ConversationOptions,
  ResumeOptions,
  RunOptions,
} from './options/run-options.ts';
import { type PastRuns, pastRuns } from './past/past-runs.ts';
import { ToolNews } from './run/tool-news.ts';
import type { Toolset } from '../machines/contract/agent-setup.ts';
import type { AgentCore } from './core/agent-core.ts';
import type { RunInput } from './options/input-parts.ts';
import { checkConversation, checkResume, checkRun, readClose, talkResume } from './options/check-options.ts';
import { AgentBusyError, AgentClosedError } from './options/agent-errors.ts';
import type { EngineRun } from './run/engine-port.ts';
import { engineRun } from './run/engine-run.ts';
import { type BegunAs, beginRun } from './begin-run.ts';
import type { AnyRun, PendingApproval } from './run/run.ts';
import { type RunAnswer, type RunRequest, askLive } from './run/ask-run.ts';
import type { StartedRun } from './run/run-plan.ts';
import { KeptConversation, type LiveConversationPort, conversationHandle } from './kept-conversation.ts';
import { LiveConversation } from './live-conversation.ts';
import type { Conversation } from './agent-types.ts';

/**
 * Owns: the live runs of one agent, its conversations, and closing it. Does not own: what a run does, or what is said
 * in a conversation (`live-conversation.ts`).
 *
 * I1 One run at a time continues a conversation; those of `agent.logic`, of child agents and of repairs are independent of them.
 */
export class AgentRuns implements LiveConversationPort {
  /** The conversation of `agent.run`. */
  readonly own: LiveConversation;
  /** The live runs, with the tools that each knows; null before it began. */
  readonly runs = new Map<StartedRun, Toolset | null>();
  readonly #core: AgentCore;
  #news: ToolNews | null = null;
  #past: PastRuns | null = null;
  /** The conversations that are known here, by their ids. */
  #conversations: Map<string, LiveConversation> | null = null;
  #isClosed = false;

  constructor(core: AgentCore) {
    const { history } = core.options;
    this.#core = core;
    this.own = new LiveConversation(this);
    if (history !== undefined) this.own.history = repairedHistory(history);
    core.runs = this;
  }

  get past(): PastRuns {
    return (this.#past ??= pastRuns(this.#core, this));
  }

  get agent(): string {
    return this.#core.name;
  }

  /** Releases what only runs need, once no run is live. */
  rest(): void {
    if (this.runs.size === 0) this.#core.rest();
  }

  get news(): ToolNews {
    return (this.#news ??= new ToolNews(this.#core, this.runs));
  }

  run(input: RunInput, given: RunOptions): AnyRun {
    checkRun(given);
    this.checkOpen();
    return this.own.run(input, given);
  }

  resume(runId: string, given: ResumeOptions): AnyRun {
    checkResume(given);
    this.checkOpen();
    this.checkIdle();
    return this.past.resume(runId, given);
  }

  /** A conversation by its id. */
  conversation(id: string, given: ConversationOptions): Conversation<unknown, AnyRun> {
    checkConversation(id, given);
    const { owner = id } = given;
    const kept = this.#kept(id);
    const known = (): LiveConversation | undefined => this.#conversations?.get(id);
    const talk = (): LiveConversation => {
      this.checkOpen();
      return this.#conversationOf({ id, owner });
    };
    return conversationHandle(id, kept, {
      run: (input, how) => {
        checkRun(how);
        return talk().run(input, { ...how, owner });
      },
      resume: async (how) => talk().resume(talkResume(how)),
      history: async () => (this.#isKept && known()?.isHeld !== true ? kept.history() : (known()?.history ?? [])),
      pendingOf: (runId = known()?.live?.run.runId) => (runId === undefined ? [] : this.pendingOf(runId)),
    });
  }

  /** Does a task independently of the agent's other work. */
  beside(as: AgentCore, task: string, given: RunOptions): AnyRun {
    return this.begin(task, given, { opening: () => ({ history: [], queued: [] }), as, hasOwnMarks: true }).run;
  }

  /**
   * A run that an engine drives, independently of the agent's other work. It is the engine's: closing the agent does not end it.
   */
  onEngine(engine: EngineRun): AnyRun {
    this.checkOpen();
    return engineRun(this.#core, engine);
  }

  /** What `agent.logic` begins and resumes its runs by. */
  logicPort(): LogicPort {
    return {
      begin: ({ task, history = [], context }, runId, { onStable }) =>
        this.begin(
          task,
          { context, runId },
          { opening: () => ({ history: repairedHistory(history), queued: [] }), onStable, hasOwnMarks: true },
        ).run,
      resume: ({ context }, runId, how) => {
        this.checkOpen();
        return this.past.carryOn(runId, { context, ...how });
      },
    };
  }

  allPending(): readonly PendingApproval[] {
    return [...this.runs.keys()].flatMap(({ run }) => run.pending);
  }

  pendingOf(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]> {
    const live = this.#find(runId);
    if (live !== undefined) return live.run.pending;
    // Without a journal of the caller's, nothing is kept that could wait.
    return this.#core.options.journal === undefined ? [] : this.past.pending(runId);
  }

  /** Asks something of a run, wherever it is. */
  async ask<T extends RunRequest>(runId: string, request: T): Promise<RunAnswer<T>> {
    const live = this.#find(runId);
    const answer = live === undefined ? null : await askLive(live, request);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it answers what was asked
    return answer === null ? this.past.ask(runId, request) : (answer as RunAnswer<T>);
  }

  /** Throws while a run of the agent's own conversation is live. */
  checkIdle(): void {
    const { live } = this.own;
    if (live !== null) throw new AgentBusyError(this.#core.name, live.run.runId);
  }

  async close(given: CloseOptions): Promise<void> {
    const { graceMs, runs: fate } = readClose(given);
    this.#isClosed = true;
    const talks = [this.own, ...(this.#conversations?.values() ?? [])];
    const closing = Promise.all(talks.map((talk) => talk.close()));
    const ending = [...this.runs.keys()].map(async ({ run }) => {
      await closing;
      if (fate === 'release' && (await run.release())) return;
      // A journal that cannot write it still ends the run.
      await run.cancel('the agent was closed').catch(() => false);
      await run.catch(() => undefined);
    });
    const left = Promise.all(ending).then(() => Promise.all(talks.map((talk) => talk.left())));
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, graceMs).unref?.())]);
    await this.#core.mcp.end();
  }

  begin(input: RunInput, given: RunOptions, own: BegunAs): StartedRun {
    this.checkOpen();
    return beginRun(this.#core, this, input, given, own);
  }

  #kept(id: string): KeptConversation {
    return new KeptConversation(id, {
      journal: () => this.#core.journal(),
      maxHistory: () => this.maxHistory(),
      carryOn: (runId, how) => this.past.carryOn(runId, { ...how, after: undefined, onStable: () => undefined }),
    });
  }

  get #isKept(): boolean {
    const { journal } = this.#core.options;
    return journal?.list !== undefined && journal.read !== undefined;
  }

  maxHistory(): number {
    return this.#core.options.maxHistoryMessages ?? DEFAULTS.maxHistoryMessages;
  }

  #conversationOf(conversation: ConversationName): LiveConversation {
    const all = (this.#conversations ??= new Map());
    const known = all.get(conversation.id);
    if (known !== undefined) return known;
    const keeper = this.#isKept ? this.#kept(conversation.id) : null;
    const talk = new LiveConversation({
      agent: this.agent,
      maxHistory: () => this.maxHistory(),
      ask: (runId, message) => this.ask(runId, message),
      keeper,
      begin: (input, { owner = conversation.owner, ...given }, own) =>
        this.begin(input, given, { ...own, conversation: { id: conversation.id, owner }, hasOwnMarks: true }),
      // A conversation that is kept in a journal is dropped here once no run is live in it.
      onIdle: () => void (keeper !== null && all.get(conversation.id) === talk && all.delete(conversation.id)),
    });
    all.set(conversation.id, talk);
    return talk;
  }

  #find(runId: string): StartedRun | undefined {
    return [...this.runs.keys()].find(({ run }) => run.runId === runId);
  }

  checkOpen(): void {
    if (this.#isClosed) throw new AgentClosedError(this.#core.name);
  }
}
