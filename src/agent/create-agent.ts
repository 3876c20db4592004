import type { ListToolsOptions } from './options/run-options.ts';
import type { ListedTool, Agent } from './agent-types.ts';
import { DEFAULT_SETTINGS } from '../machines/contract/agent-setup.ts';
import { AgentRuns } from './agent-runs.ts';
import { EXPLORE, REPLAY } from '../journal/replay/replay.ts';
import { FORK } from '../journal/replay/fork.ts';
import type { AgentState } from '../machines/contract/run-result.ts';
import { shownOutput } from '../machines/agent/typed-output.ts';
import { joinParts, promptParts, toolNames } from '../machines/agent/system-prompt.ts';
import { type AgentCore, agentCore } from './core/agent-core.ts';
import { agentLogic } from './agent-logic.ts';
import { CHILD } from './options/option-types.ts';
import { ENGINE } from './run/engine-port.ts';
import { ownPort } from './core/own-port.ts';
import { mendedHistory, resolvedOptions, toolCallingOf } from './options/agent-settings.ts';
import { newRunId } from './options/run-options.ts';
import {
  checkApproval,
  checkListTools,
  checkMessage,
  checkQueued,
  checkOrphans,
  checkWake,
} from './options/check-options.ts';
import { exploredStart } from './past/past-runs.ts';
import type { AgentOptions } from './options/agent-options.ts';
import type { RunInput } from './options/input-parts.ts';
import type { OutputOf, OutputSchema } from './options/output-options.ts';
import type { RunEvent } from '../machines/events/run-events.ts';
import type { ToolResult } from '../tools/result.ts';
import { repairBy } from './core/repair.ts';
import { declareOnErrors, refuseRepairCircle } from './tools/repair-circle.ts';
import type { AnyRun, PendingApproval, Run } from './run/run.ts';
import type { Tool } from '../tools/tool.ts';
import type { ContextOf, RunEventOf, ToolResultOf } from './run/typed-events.ts';

/** A run of an agent with these tools, whose answer has this schema. */
type RunOf<TTools extends readonly Tool[], TSchema> = Run<RunEventOf<TTools>, ToolResultOf<TTools>, OutputOf<TSchema>>;

/** Options of an agent all of whose tools are known: no others come from elsewhere. */
interface OnlyTools<TContext, TTools extends readonly Tool[], TSchema> extends Omit<
  AgentOptions<TContext, TSchema>,
  'tools' | 'skills' | 'children' | 'mcpServers'
> {
  readonly tools: TTools;
  readonly skills?: never;
  readonly children?: never;
  readonly mcpServers?: never;
}

/**
 * Makes an agent. Synchronous and without I/O: servers connect and models load at the first run. Throws a `TypeError`
 * that names each wrong option.
 *
 * @example
 * const agent = createAgent({ instructions: 'You are a weather assistant.', model: 'ollama', tools: [weather] });
 * const { result } = await agent.run('What is the weather in Austin?');
 */
export function createAgent<const TTools extends readonly Tool[], TSchema extends OutputSchema | undefined = undefined>(
  options: OnlyTools<ContextOf<TTools>, TTools, TSchema>,
): Agent<ContextOf<TTools>, RunOf<TTools, TSchema>>;
export function createAgent<TContext = unknown, TSchema extends OutputSchema = OutputSchema>(
  options: AgentOptions<TContext, TSchema> & { readonly outputSchema: TSchema },
): Agent<TContext, Run<RunEvent, ToolResult, OutputOf<TSchema>>>;
export function createAgent<TContext = unknown, TSchema extends OutputSchema | undefined = undefined>(
  options?: AgentOptions<TContext, TSchema>,
): Agent<TContext, Run<RunEvent, ToolResult, OutputOf<TSchema>>>;
export function createAgent<TContext = unknown>(options?: AgentOptions<TContext>): Agent<TContext>;
export function createAgent(options: object = {}): Agent<unknown, AnyRun> {
  const core = agentCore(options);
  const runs = new AgentRuns(core);
  const agent: Agent<unknown, AnyRun> = {
    name: core.name,
    run: (input: RunInput, given?: object) => runs.run(input, given === undefined ? {} : given),
    resume: (runId, given = {}) => runs.resume(runId, given),
    resumeOrphans: async (given = {}) => {
      checkOrphans(given);
      runs.checkOpen();
      return runs.past.orphans(given);
    },
    conversation: (id, given = {}) => runs.conversation(id, given),
    ...askedById(runs),
    get history() {
      return runs.own.history;
    },
    clearHistory: () => {
      runs.own.history = [];
    },
    setHistory: (messages) => {
      runs.own.history = mendedHistory(messages);
    },
    tools: core.registry,
    listTools: (given = {}) => listedTools(core, given),
    get systemPrompt() {
      return systemPromptOf(core);
    },
    get state(): AgentState {
      return runs.own.state;
    },
    get options() {
      return resolvedOptions(core.options());
    },
    ready: () => core.mcp.ready({ timeoutMs: core.options().timeouts?.connectMs ?? DEFAULT_SETTINGS.connectMs }),
    connectMcpServer: (name, config) => core.mcp.connect(name, config),
    disconnectMcpServer: (name) => core.mcp.disconnect(name),
    disconnectAllMcp: () => core.mcp.disconnectAll(),
    get mcp() {
      return Object.fromEntries(core.mcp.names().map((name) => [name, core.mcp.connection(name) ?? undefined]));
    },
    pending: pendingIn(runs),
    recording: (runId) => runs.past.recording(runId),
    wake: async (given = {}) => {
      checkWake(given);
      runs.checkOpen();
      return runs.past.wake(given);
    },
    configure: (changes) => {
      runs.checkIdle();
      core.configure(changes);
    },
    get machine() {
      return core.machine();
    },
    get actors() {
      return core.actors();
    },
    logic: agentLogic(runs.logicPort()),
    close: (given = {}) => runs.close(given),
    [Symbol.asyncDispose]: () => agent.close(),
    [CHILD]: ownPort(core, (as, task, given) => runs.beside(as, task, given)),
    repair: (task, { signal }) => repairBy(core, task, (as, text) => runs.beside(as, text, { signal })),
    [REPLAY]: (recording, how) => runs.past.replay(recording, how),
    [ENGINE]: (engine) => runs.onEngine(engine),
    [FORK]: (recording, how) => runs.past.fork(recording, how),
    [EXPLORE]: (task) => exploredStart(core, task, runs.own.history),
  };
  declareOnErrors(agent, () => core.registry.onErrors());
  core.registry.onRegister((added) => refuseRepairCircle(agent, added));
  return agent;
}

/** `agent.pending`, with and without a run's id. */
function pendingIn(runs: AgentRuns): Agent['pending'] {
  function pending(): readonly PendingApproval[];
  function pending(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
  function pending(runId?: string) {
    return runId === undefined ? runs.allPending() : runs.pendingOf(runId);
  }
  return pending;
}

function listedTools(core: AgentCore, given: ListToolsOptions): readonly ListedTool[] {
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
}

function systemPromptOf(core: AgentCore): string {
  const { instructions = '', plans } = core.options();
  const mode = toolCallingOf(core.options(), core.model());
  const text = typeof instructions === 'string' ? instructions : '';
  const toolset = core.toolset();
  const spec = core.ports.output?.spec(core.besideTools());
  const output = spec === undefined ? null : shownOutput(spec, toolNames(toolset));
  return joinParts(promptParts(text, toolset, { mode, plans, output }));
}

/** What can be asked of a run by its id, wherever it is. */
function askedById(runs: AgentRuns): Pick<Agent, 'steer' | 'queue' | 'approve' | 'reject' | 'cancel'> {
  return {
    steer: (runId, text, given = {}) => {
      checkMessage('agent.steer', text, given);
      const { id = newRunId(), interrupt = false } = given;
      return runs.ask(runId, { do: 'steer', id, text, interrupt });
    },
    queue: (runId, input, given = {}) => {
      checkQueued('agent.queue', input, given);
      return runs.ask(runId, { do: 'queue', id: given.id ?? newRunId(), input });
    },
    approve: (runId, callId, how = {}) => {
      checkApproval(how, 'agent.approve');
      return runs.ask(runId, { do: 'approve', callId, how });
    },
    reject: (runId, callId, reason = '') => runs.ask(runId, { do: 'reject', callId, reason }),
    cancel: (runId, reason = '') => runs.ask(runId, { do: 'cancel', reason }),
  };
}
