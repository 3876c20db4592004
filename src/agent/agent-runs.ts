import { DEFAULTS, mendedHistory } from './options/agent-settings.ts';
import type { JournalStore } from '../journal/run/run-journal.ts';
import type { LogicPort } from './agent-logic.ts';
import {
  type ApprovalOptions,
  type CloseOptions,
  type ResumeOptions,
  newRunId,
  type RunOptions,
  metadataOf,
} from './options/run-options.ts';
import { type PastRuns, pastRuns } from './past/past-runs.ts';
import { type ToolNews, toolNews } from './run/tool-news.ts';
import type { Message } from '../actors/model.ts';
import { runRecord } from '../journal/format/run-input.ts';
import type { Toolset } from '../machines/contract/agent-setup.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { AgentState, AnyResult } from '../machines/contract/run-result.ts';
import type { AgentCore } from './core/agent-core.ts';
import { checkApproval, checkClose, checkResume, checkRun } from './options/check-options.ts';
import { AgentBusyError, AgentClosedError } from './options/agent-errors.ts';
import { typedOutput } from './options/output-options.ts';
import { workFor } from './below/agent-actors.ts';
import { launchRun } from './run/launch-run.ts';
import { type AnyRun, type PendingApproval, type Run, approvalGiven } from './run/run.ts';
import type { StartedRun } from './run/start-run.ts';

const GRACE_MS = 5000;

/** What a run that is begun belongs to. */
interface Begun {
  readonly history: readonly Message[];
  readonly onDone?: (result: AnyResult) => void;
  readonly onStable?: () => void;
  /** What the run is made with. Default: the agent's own parts. */
  readonly as?: AgentCore;
}

/**
 * Owns: the runs of one agent that go on, its conversation, and its being busy or closed. Does not own: what a run does.
 *
 * I1 One run at a time continues the conversation; those of `agent.logic`, of child agents and of repairs are beside it.
 */
export class AgentRuns {
  readonly past: PastRuns;
  history: readonly Message[];
  readonly #core: AgentCore;
  readonly #news: ToolNews;
  /** The runs that go on, with the tools that each knows of; null before it began. */
  readonly #runs = new Map<StartedRun, Toolset | null>();
  /** Messages that were added within an exchange, so that pruning never cuts there. */
  readonly #inside = new WeakSet<Message>();
  #live: StartedRun | null = null;
  /** Not the last run itself: an agent that is kept must not keep every event of what it did. */
  #lastState: AgentState = 'PLANNING';
  #isClosed = false;

  constructor(core: AgentCore) {
    this.#core = core;
    this.history = mendedHistory(core.options().history ?? []);
    this.#news = toolNews(core, this.#runs);
    this.past = pastRuns(core, {
      runs: this.#runs,
      followChildren: this.#news.followChildren,
      occupy: (started) => {
        this.#live = started;
        return (result, before) => {
          this.#lastState = started.run.state.state;
          this.#live = null;
          if (result !== null) this.#keepHistory(before, result);
        };
      },
    });
    core.fork = this.past.fork;
  }

  get state(): AgentState {
    return this.#live?.run.state.state ?? this.#lastState;
  }

  run(input: string, given: RunOptions): AnyRun {
    checkRun(input, given);
    this.#checkFree();
    const before = this.history;
    this.#live = this.#begin(input, given, {
      history: before,
      onDone: (result) => {
        this.#lastState = this.#live?.run.state.state ?? this.#lastState;
        this.#live = null;
        this.#keepHistory(before, result);
      },
    });
    return this.#live.run;
  }

  resume(runId: string, given: ResumeOptions): AnyRun {
    checkResume(given);
    this.#checkFree();
    return this.past.resume(runId, given);
  }

  /** Does a task beside whatever the agent does else, as one of the things that it can be. */
  beside(as: AgentCore, task: string, given: RunOptions): Run {
    this.#checkOpen();
    return this.#begin(task, given, { history: [], as }).run;
  }

  /** What `agent.logic` begins and resumes its runs by. */
  logicPort(): LogicPort {
    return {
      begin: ({ task, history = [], context }, runId, { onStable }) => {
        this.#checkOpen();
        return this.#begin(task, { context, runId }, { history: mendedHistory(history), onStable }).run;
      },
      resume: ({ context }, runId, how) => {
        this.#checkOpen();
        return this.past.carryOn(runId, { context, ...how });
      },
    };
  }

  allPending(): readonly PendingApproval[] {
    return [...this.#runs.keys()].flatMap(({ run }) => run.pending);
  }

  pendingOf(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]> {
    const live = this.#find(runId);
    if (live !== undefined) return live.pending;
    // Without a journal of the caller's, nothing is kept that could wait.
    return this.#core.options().journal === undefined ? [] : this.past.pending(runId);
  }

  approve(runId: string, callId: string, how: ApprovalOptions): Promise<boolean> {
    checkApproval(how, 'agent.approve');
    return this.#find(runId)?.approve(callId, how) ?? this.past.answer(runId, callId, approvalGiven(how));
  }

  reject(runId: string, callId: string, reason: string): Promise<boolean> {
    const event = { type: 'approval.refused', reason };
    return this.#find(runId)?.reject(callId, reason) ?? this.past.answer(runId, callId, event);
  }

  /** Throws while a run goes on. */
  checkIdle(): void {
    if (this.#live !== null) throw new AgentBusyError(this.#core.name, this.#live.run.runId);
  }

  async close(given: CloseOptions): Promise<void> {
    checkClose(given);
    const { graceMs = GRACE_MS, runs: fate = 'cancel' } = given;
    this.#isClosed = true;
    const ending = [...this.#runs.keys()].map(async ({ run }) => {
      if (fate === 'release' && (await run.release())) return;
      // A journal that cannot write it ends the run all the same.
      await run.cancel('the agent was closed').catch(() => false);
      await run.catch(() => undefined);
    });
    await Promise.race([Promise.all(ending), new Promise((resolve) => setTimeout(resolve, graceMs).unref?.())]);
    await this.#core.mcp.close();
  }

  #begin(input: string, given: RunOptions, own: Begun): StartedRun {
    const core = this.#core;
    const { as = core } = own;
    const runId = given.runId ?? newRunId();
    const metadata = metadataOf(given.metadata);
    const output = typedOutput('agent.run', { outputSchema: given.outputSchema });
    const at = new Date().toISOString();
    const journal = (): JournalStore => given.journal ?? core.journal();
    const started = launchRun(core, {
      runId,
      task: input,
      given,
      resumable: journal().take !== undefined,
      ...(own.onStable === undefined ? {} : { onStable: own.onStable }),
      prepare: async (signal) => {
        const makeSetup = await as.prepare({
          ...(given.maxSteps === undefined ? {} : { maxSteps: given.maxSteps }),
          ...(output === null ? {} : { output }),
          signal,
        });
        return (why) => {
          const refused = core.mcp.missing();
          const setup = makeSetup();
          this.#runs.set(started, setup.toolset);
          const whole = {
            task: input,
            history: own.history,
            setup,
            ...(why === undefined ? {} : { cancelled: why }),
            ...(refused === null ? {} : { refused }),
          };
          const head = core.redacted(runRecord(whole, { runId, at, metadata }));
          return { head, work: workFor(as.work(), output), journal: (accepts) => journal().open({ head, accepts }) };
        };
      },
      onDone: (result) => {
        unfollow();
        this.#runs.delete(started);
        if (result !== null) own.onDone?.(core.redactor.restore(result));
      },
    });
    this.#runs.set(started, null);
    const unfollow = this.#news.followChildren();
    return started;
  }

  #keepHistory(before: readonly Message[], result: AnyResult): void {
    // A run that continues elsewhere has not ended.
    if (result.status === 'waiting') return;
    for (const message of result.messages.slice(1)) this.#inside.add(message);
    const most = this.#core.options().maxHistoryMessages ?? DEFAULTS.maxHistoryMessages;
    this.history = pruneHistory([...before, ...result.messages], most, this.#inside);
  }

  #find(runId: string): Run | undefined {
    return [...this.#runs.keys()].find(({ run }) => run.runId === runId)?.run;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new AgentClosedError(this.#core.name);
  }

  #checkFree(): void {
    this.#checkOpen();
    this.checkIdle();
  }
}
