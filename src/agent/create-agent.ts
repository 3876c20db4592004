import type { Message } from '../actors/model.ts';
import { EXPLORE, REPLAY } from '../journal/replay/replay.ts';
import { FORK } from '../journal/replay/fork.ts';
import { runRecord } from '../journal/format/run-input.ts';
import type { Toolset } from '../machines/contract/agent-setup.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { AgentState, RunResult } from '../machines/contract/run-result.ts';
import { joinParts, promptParts } from '../machines/agent/system-prompt.ts';
import { type AgentCore, agentCore } from './core/agent-core.ts';
import { agentLogic } from './agent-logic.ts';
import { CHILD } from './options/option-types.ts';
import { ownPort } from './core/own-port.ts';
import { mendedHistory, resolvedOptions, toolCallingOf } from './options/agent-settings.ts';
import type { Agent } from './agent-types.ts';
import { checkApproval, checkClose, checkListTools, checkResume, checkRun } from './options/check-options.ts';
import { AgentBusyError, AgentClosedError } from './options/agent-errors.ts';
import { exploredStart, pastRuns } from './past/past-runs.ts';
import type { AgentOptions } from './options/agent-options.ts';
import { launchRun } from './run/launch-run.ts';
import { repairBy } from './core/repair.ts';
import type { ResumeOptions } from './options/run-options.ts';
import { declareOnErrors, refuseRepairCircle } from './tools/repair-circle.ts';
import { newRunId } from './options/run-options.ts';
import { type RunOptions, metadataOf } from './options/run-options.ts';
import { type PendingApproval, type Run, approvalGiven } from './run/run.ts';
import type { StartedRun } from './run/start-run.ts';
import type { Tool } from '../tools/tool.ts';
import { toolNews } from './run/tool-news.ts';
import type { ContextOf, RunEventOf, ToolResultOf } from './run/typed-events.ts';

/** A run of an agent with these tools. */
type RunOf<TTools extends readonly Tool[]> = Run<RunEventOf<TTools>, ToolResultOf<TTools>>;

/** Options of an agent all of whose tools are known: no others come from elsewhere. */
interface OnlyTools<TContext, TTools extends readonly Tool[]> extends Omit<
  AgentOptions<TContext>,
  'tools' | 'skills' | 'children' | 'mcpServers'
> {
  readonly tools: TTools;
  readonly skills?: never;
  readonly children?: never;
  readonly mcpServers?: never;
}

const GRACE_MS = 5000;

/**
 * Makes an agent. Synchronous and without I/O: servers connect and models load at the first run. Throws a `TypeError`
 * that names each wrong option.
 *
 * @example
 * const agent = createAgent({ instructions: 'You are a weather assistant.', model: 'ollama', tools: [weather] });
 * const { result } = await agent.run('What is the weather in Austin?');
 */
export function createAgent<const TTools extends readonly Tool[]>(
  options: OnlyTools<ContextOf<TTools>, TTools>,
): Agent<ContextOf<TTools>, RunOf<TTools>>;
export function createAgent<TContext = unknown>(options?: AgentOptions<TContext>): Agent<TContext>;
export function createAgent(options: AgentOptions = {}): Agent {
  const core = agentCore(options);
  let history = mendedHistory(options.history ?? []);
  /** The runs that go on, with the tools that each knows of; null before it began. */
  const runs = new Map<StartedRun, Toolset | null>();
  /** Messages that were added within an exchange, so that pruning never cuts there. */
  const inside = new WeakSet<Message>();
  let live: StartedRun | null = null;
  // Not the last run itself: who keeps an agent must not keep every event of what it did.
  let lastState: AgentState = 'PLANNING';
  let closed = false;

  const keepHistory = (before: readonly Message[], result: RunResult): void => {
    // A run that goes on elsewhere has not ended.
    if (result.status === 'waiting') return;
    for (const message of result.messages.slice(1)) inside.add(message);
    history = pruneHistory([...before, ...result.messages], core.options().maxHistoryMessages ?? 40, inside);
  };

  const begin = (
    input: string,
    given: RunOptions,
    own: {
      readonly history: readonly Message[];
      readonly onDone?: (result: RunResult) => void;
      readonly onStable?: () => void;
      readonly as?: AgentCore;
    },
  ): StartedRun => {
    const { as = core } = own;
    const runId = given.runId ?? newRunId();
    const metadata = metadataOf(given.metadata);
    const at = new Date().toISOString();
    const started = launchRun(core, {
      runId,
      task: input,
      given,
      resumable: (given.journal ?? core.journal()).take !== undefined,
      ...(own.onStable === undefined ? {} : { onStable: own.onStable }),
      prepare: async (signal) => {
        const makeSetup = await as.prepare({
          ...(given.maxSteps === undefined ? {} : { maxSteps: given.maxSteps }),
          signal,
        });
        return (why) => {
          const refused = core.mcp.missing();
          const setup = makeSetup();
          runs.set(started, setup.toolset);
          const whole = {
            task: input,
            history: own.history,
            setup,
            ...(why === undefined ? {} : { cancelled: why }),
            ...(refused === null ? {} : { refused }),
          };
          const head = core.sealed(runRecord(whole, { runId, at, metadata }));
          return {
            head,
            work: as.work(),
            journal: (accepts) => (given.journal ?? core.journal()).open({ head, accepts }),
          };
        };
      },
      onDone: (result) => {
        unfollow();
        runs.delete(started);
        if (result !== null) own.onDone?.(core.vault.open(result));
      },
    });
    runs.set(started, null);
    const unfollow = news.followChildren();
    return started;
  };

  /** Does a task beside whatever the agent does else, as one of the things that it can be. */
  const beside = (as: AgentCore, task: string, given: RunOptions): Run => {
    if (closed) throw new AgentClosedError(core.name);
    return begin(task, given, { history: [], as }).run;
  };

  const checkFree = (): void => {
    if (closed) throw new AgentClosedError(core.name);
    if (live !== null) throw new AgentBusyError(core.name, live.run.runId);
  };

  const run = (input: string, given: RunOptions = {}): Run => {
    checkRun(input, given);
    checkFree();
    const before = history;
    live = begin(input, given, {
      history: before,
      onDone: (result) => {
        lastState = live?.run.state.state ?? lastState;
        live = null;
        keepHistory(before, result);
      },
    });
    return live.run;
  };

  const news = toolNews(core, runs);

  const past = pastRuns(core, {
    runs,
    followChildren: news.followChildren,
    occupy: (started) => {
      live = started;
      return (result, before) => {
        lastState = started.run.state.state;
        live = null;
        if (result !== null) keepHistory(before, result);
      };
    },
  });
  core.fork = past.fork;
  const resume = (runId: string, given: ResumeOptions = {}): Run => {
    checkResume(given);
    checkFree();
    return past.resume(runId, given);
  };

  const goingOn = (runId: string): Run | undefined =>
    [...runs.keys()].find(({ run: going }) => going.runId === runId)?.run;

  function pending(): readonly PendingApproval[];
  function pending(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
  function pending(runId?: string) {
    if (runId === undefined) return [...runs.keys()].flatMap(({ run: going }) => going.pending);
    const going = goingOn(runId);
    if (going !== undefined) return going.pending;
    // Without a journal of the caller's, nothing is kept that could wait.
    return core.options().journal === undefined ? [] : past.pending(runId);
  }

  const agent: Agent = {
    name: core.name,
    run,
    resume,
    get history() {
      return history;
    },
    clearHistory: () => {
      history = [];
    },
    setHistory: (messages) => {
      history = mendedHistory(messages);
    },
    tools: core.registry,
    listTools: (given = {}) => {
      checkListTools(given);
      const { verbose = false } = given;
      return core.registry.specs().map(({ name, policy, enabled, origin, description, inputSchema }) => ({
        name,
        policy,
        enabled,
        origin: origin.kind === 'mcp' ? `mcp:${origin.server}` : origin.kind,
        ...(origin.kind === 'mcp' ? core.mcp.titled(origin) : {}),
        ...(verbose ? { description, inputSchema } : {}),
      }));
    },
    get systemPrompt() {
      const { instructions = '' } = core.options();
      const mode = toolCallingOf(core.options(), core.model());
      return joinParts(
        promptParts(typeof instructions === 'string' ? instructions : '', core.toolset(), {
          mode,
          plans: core.options().plans,
        }),
      );
    },
    get state(): AgentState {
      return live?.run.state.state ?? lastState;
    },
    get options() {
      return resolvedOptions(core.options());
    },
    ready: () => core.mcp.ready({ timeoutMs: core.options().timeouts?.connectMs ?? 30_000 }),
    connectMcpServer: (name, config) => core.mcp.connect(name, config),
    disconnectMcpServer: (name) => core.mcp.disconnect(name),
    disconnectAllMcp: () => core.mcp.disconnectAll(),
    get mcp() {
      return Object.fromEntries(core.mcp.names().map((name) => [name, core.mcp.connection(name) ?? undefined]));
    },
    pending,
    approve: (runId, callId, how = {}) => {
      checkApproval(how, 'agent.approve');
      return goingOn(runId)?.approve(callId, how) ?? past.answer(runId, callId, approvalGiven(how));
    },
    reject: (runId, callId, reason = '') =>
      goingOn(runId)?.reject(callId, reason) ?? past.answer(runId, callId, { type: 'approval.refused', reason }),
    configure: (changes) => {
      if (live !== null) throw new AgentBusyError(core.name, live.run.runId);
      core.configure(changes);
    },
    get machine() {
      return core.machine();
    },
    get actors() {
      return core.actors();
    },
    logic: agentLogic({
      begin: ({ task, history: own = [], context }, runId, { onStable }) => {
        if (closed) throw new AgentClosedError(core.name);
        return begin(task, { context, runId }, { history: mendedHistory(own), onStable }).run;
      },
      resume: ({ context }, runId, how) => {
        if (closed) throw new AgentClosedError(core.name);
        return past.carryOn(runId, { context, ...how });
      },
    }),
    close: async (given = {}) => {
      checkClose(given);
      const { graceMs = GRACE_MS, runs: fate = 'cancel' } = given;
      closed = true;
      const ending = [...runs.keys()].map(async ({ run: current }) => {
        if (fate === 'release' && (await current.release())) return;
        // A journal that cannot write it ends the run all the same.
        await current.cancel('the agent was closed').catch(() => false);
        await current.catch(() => undefined);
      });
      await Promise.race([Promise.all(ending), new Promise((resolve) => setTimeout(resolve, graceMs).unref?.())]);
      await core.mcp.close();
    },
    [Symbol.asyncDispose]: () => agent.close(),
    [CHILD]: ownPort(core, beside),
    repair: (task, { signal }) => repairBy(core, task, (as, text) => beside(as, text, { signal })),
    [REPLAY]: past.replay,
    [FORK]: past.fork,
    [EXPLORE]: (task) => exploredStart(core, task, history),
  };
  declareOnErrors(agent, () => core.registry.onErrors());
  core.registry.onRegister((added) => refuseRepairCircle(agent, added));
  return agent;
}
