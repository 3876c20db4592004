import {
  type ApprovalOptions,
  type CloseOptions,
  type ConfigurableOptions,
  type ConversationOptions,
  type Delivery,
  type ForkRunOptions,
  type ListToolsOptions,
  type OrphanOptions,
  type QueueOptions,
  type ResumedOrphans,
  type ResumeOptions,
  type SteerOptions,
  type WakeOptions,
  type WokenRun,
  newRunId,
} from './options/run-options.ts';
import type { Message } from '../actors/model.ts';
import type { ListedTool, Agent, AgentLogic, Conversation } from './agent-types.ts';
import type { ChildPort } from './below/child-port.ts';
import type { Recording } from '../journal/format/recording.ts';
import type { McpServerConfig } from '../mcp/config/config.ts';
import type { McpConnection } from '../mcp/connection-types.ts';
import type { Repaired, RepairTask } from '../recovery/steps.ts';
import type { ToolRegistry } from './tools/registry.ts';
import { DEFAULT_SETTINGS } from '../machines/contract/agent-setup.ts';
import { AgentRuns } from './agent-runs.ts';
import { EXPLORE, type ExploredStart, REPLAY, type ReplayOptions } from '../journal/replay/replay.ts';
import { FORK } from '../journal/replay/fork.ts';
import type { AgentState } from '../machines/contract/run-result.ts';
import { shownOutput } from '../machines/agent/typed-output.ts';
import { joinParts, promptParts, toolNames } from '../machines/agent/system-prompt.ts';
import { AgentCore } from './core/agent-core.ts';
import { agentLogic } from './agent-logic.ts';
import { CHILD } from './options/option-types.ts';
import { ENGINE, type EngineRun } from './run/engine-port.ts';
import { boundWhenTaken } from './options/bound-methods.ts';
import { ownPort } from './core/own-port.ts';
import { type ResolvedOptions, repairedHistory, resolvedOptions, toolCallingOf } from './options/agent-settings.ts';
import {
  checkApproval,
  checkListTools,
  checkMessage,
  checkQueued,
  checkReason,
  checkOrphans,
  checkWake,
} from './options/check-options.ts';
import { exploredStart } from './past/past-runs.ts';
import { type AgentOptions, checkOptions } from './options/agent-options.ts';
import type { RunInput } from './options/input-parts.ts';
import type { OutputOf, OutputSchema } from './options/output-options.ts';
import type { RunEvent } from '../machines/events/run-events.ts';
import type { ToolResult } from '../tools/result.ts';
import { repairBy } from './core/repair.ts';
import { declareOnErrors } from './tools/repair-circle.ts';
import type { AnyRun, PendingApproval, Run } from './run/run.ts';
import type { Tool } from '../tools/tool.ts';
import type { ContextOf, RunEventOf, ToolResultOf } from './run/typed-events.ts';

/** A run of an agent with these tools and an answer of this schema. */
type RunOf<TTools extends readonly Tool[], TSchema> = Run<RunEventOf<TTools>, ToolResultOf<TTools>, OutputOf<TSchema>>;

/** Options of an agent whose tools are all known statically: none come from elsewhere. */
interface OnlyTools<TContext, TTools extends readonly Tool[], TSchema> extends Omit<
  AgentOptions<TContext, TSchema>,
  'tools' | 'skills' | 'children' | 'mcpServers'
> {
  readonly tools: TTools;
  readonly skills?: undefined;
  readonly children?: undefined;
  readonly mcpServers?: undefined;
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
  return new OwnAgent(new AgentCore(options));
}

/** The public surface of an agent. An idle agent holds only its own data: its methods are shared by all agents. */
class OwnAgent implements Agent<unknown, AnyRun> {
  readonly name: string;
  readonly tools: ToolRegistry;
  readonly #core: AgentCore;
  readonly #runs: AgentRuns;
  #logic: AgentLogic<never> | null = null;
  #port: ChildPort | null = null;

  constructor(core: AgentCore) {
    this.name = core.name;
    this.tools = core.registry;
    this.#core = core;
    this.#runs = new AgentRuns(core);
    declareOnErrors(this, core.registry);
    core.registry.agent = this;
  }

  run(input: RunInput, given?: object): AnyRun {
    return this.#runs.run(input, given === undefined ? {} : given);
  }

  resume(runId: string, given: ResumeOptions = {}): AnyRun {
    return this.#runs.resume(runId, given);
  }

  async resumeOrphans(given: OrphanOptions = {}): Promise<ResumedOrphans<AnyRun>> {
    checkOrphans(given);
    this.#runs.checkOpen();
    return this.#runs.past.orphans(given);
  }

  conversation(id: string, given: ConversationOptions = {}): Conversation<unknown, AnyRun> {
    return this.#runs.conversation(id, given);
  }

  steer(runId: string, text: string, given: SteerOptions = {}): Promise<Delivery> {
    checkMessage('agent.steer', text, given);
    const { id = newRunId(), interrupt = false } = given;
    return this.#runs.ask(runId, { do: 'steer', id, text, interrupt });
  }

  queue(runId: string, input: RunInput, given: QueueOptions = {}): Promise<Delivery> {
    checkQueued('agent.queue', input, given);
    return this.#runs.ask(runId, { do: 'queue', id: given.id ?? newRunId(), input, metadata: given.metadata });
  }

  approve(runId: string, callId: string, how: ApprovalOptions = {}): Promise<boolean> {
    checkApproval(how, 'agent.approve');
    return this.#runs.ask(runId, { do: 'approve', callId, how });
  }

  reject(runId: string, callId: string, reason = ''): Promise<boolean> {
    checkReason('agent.reject', reason);
    return this.#runs.ask(runId, { do: 'reject', callId, reason });
  }

  cancel(runId: string, reason = ''): Promise<boolean> {
    checkReason('agent.cancel', reason);
    return this.#runs.ask(runId, { do: 'cancel', reason });
  }

  get history(): readonly Message[] {
    return this.#runs.own.history;
  }

  clearHistory(): void {
    this.#runs.own.history = [];
  }

  setHistory(messages: readonly Message[]): void {
    Reflect.apply(checkOptions, undefined, [{ history: messages ?? null }, 'agent.setHistory']);
    this.#runs.own.history = repairedHistory(messages);
  }

  listTools(given: ListToolsOptions = {}): readonly ListedTool[] {
    checkListTools(given);
    const { verbose = false } = given;
    return this.#core.registry.specs().map(({ name, policy, enabled, origin, description, inputSchema }) => ({
      name,
      policy,
      enabled,
      origin: origin.kind === 'mcp' ? `mcp:${origin.server}` : origin.kind,
      ...(origin.kind === 'mcp' ? this.#core.mcp.titled(origin) : {}),
      ...(verbose ? { description, inputSchema } : {}),
    }));
  }

  get systemPrompt(): string {
    const core = this.#core;
    const { instructions = '', plans } = core.options;
    const mode = toolCallingOf(core.options, core.model);
    const text = typeof instructions === 'string' ? instructions : '';
    const toolset = core.toolset();
    const spec = core.ports.output?.spec(core.besideTools);
    const output = spec === undefined ? null : shownOutput(spec, toolNames(toolset));
    return joinParts(promptParts(text, toolset, { mode, plans, output }));
  }

  get state(): AgentState {
    return this.#runs.own.state;
  }

  get options(): ResolvedOptions {
    return resolvedOptions(this.#core.options);
  }

  ready(): Promise<void> {
    const { mcp } = this.#core;
    return mcp.ready({ timeoutMs: this.#core.options.timeouts?.connectMs ?? DEFAULT_SETTINGS.connectMs });
  }

  connectMcpServer(name: string, config: McpServerConfig | McpConnection): Promise<boolean> {
    return this.#core.mcp.connect(name, config);
  }

  disconnectMcpServer(name: string): Promise<boolean> {
    return this.#core.mcp.disconnect(name);
  }

  disconnectAllMcp(): Promise<void> {
    return this.#core.mcp.close();
  }

  get mcp(): { readonly [server: string]: McpConnection | undefined } {
    const { mcp } = this.#core;
    return Object.fromEntries(mcp.names().map((name) => [name, mcp.connection(name) ?? undefined]));
  }

  pending(): readonly PendingApproval[];
  pending(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
  pending(runId?: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]> {
    return runId === undefined ? this.#runs.allPending() : this.#runs.pendingOf(runId);
  }

  recording(runId: string): Promise<string | null> {
    return this.#runs.past.recording(runId);
  }

  async wake(given: WakeOptions = {}): Promise<readonly WokenRun[]> {
    checkWake(given);
    this.#runs.checkOpen();
    return this.#runs.past.wake(given);
  }

  configure(changes: ConfigurableOptions): void {
    this.#runs.checkIdle();
    this.#core.configure(changes);
  }

  get machine(): Agent['machine'] {
    return this.#core.machine();
  }

  get actors(): Agent['actors'] {
    return this.#core.actors();
  }

  get logic(): AgentLogic<never> {
    return (this.#logic ??= agentLogic(this.#runs.logicPort()));
  }

  close(given: CloseOptions = {}): Promise<void> {
    return this.#runs.close(given);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get [CHILD](): ChildPort {
    return (this.#port ??= ownPort(this.#core, (as, task, given) => this.#runs.beside(as, task, given)));
  }

  repair(task: RepairTask, { signal }: { readonly signal: AbortSignal }): Promise<Repaired> {
    return repairBy(this.#core, task, (as, text) => this.#runs.beside(as, text, { signal }));
  }

  [REPLAY](recording: Recording, how: ReplayOptions): AnyRun {
    return this.#runs.past.replay(recording, how);
  }

  [ENGINE](engine: EngineRun): AnyRun {
    return this.#runs.onEngine(engine);
  }

  [FORK](recording: Recording, how: ForkRunOptions): AnyRun {
    return this.#runs.past.fork(recording, how);
  }

  [EXPLORE](task: string): Promise<ExploredStart> {
    return exploredStart(this.#core, task, this.#runs.own.history);
  }
}
boundWhenTaken(OwnAgent);
