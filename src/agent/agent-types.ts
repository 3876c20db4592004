import type {
  ConfigurableOptions,
  AgentLogicInput,
  ListToolsOptions,
  CloseOptions,
  ConversationOptions,
  Delivery,
  QueueOptions,
  SteerOptions,
  WakeOptions,
  WokenRun,
  OrphanOptions,
  ResumedOrphans,
  ResumeOptions,
  RunOptions,
  ApprovalOptions,
} from './options/run-options.ts';
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import type { Message } from '../actors/model.ts';
import type { RunSummary } from '../journal/format/tally.ts';
import type { Explorable, Replayable } from '../journal/replay/replay.ts';
import type { Forkable } from '../journal/replay/fork.ts';
import type { agentMachine } from '../machines/agent/agent.ts';
import type { RunEvent } from '../machines/events/run-events.ts';
import type { AgentPath, AgentState, RunResult } from '../machines/contract/run-result.ts';
import type { McpServerConfig } from '../mcp/config/config.ts';
import type { McpConnection } from '../mcp/connection-types.ts';
import type { JsonObject, JsonSchema } from '../json/json.ts';
import type { Repairer } from '../recovery/steps.ts';
import type { Policy } from '../tools/spec.ts';
import type { agentActors } from './below/agent-actors.ts';
import type { ChildAgent } from './options/option-types.ts';
import type { ResolvedOptions } from './options/agent-settings.ts';
import type { RunInput } from './options/input-parts.ts';
import type { OutputOf, OutputSchema } from './options/output-options.ts';
import type { ToolRegistry } from './tools/registry.ts';
import type { Drivable } from './run/engine-port.ts';
import type { PendingApproval, Run } from './run/run.ts';

/** The events of an invoked agent. An answer without a `callId` goes to the only call that waits. */
export type AgentLogicEvent =
  | { readonly type: 'run.cancelled'; readonly reason?: string }
  | {
      readonly type: 'approval.given';
      readonly callId?: string;
      readonly always?: boolean;
      /** Other arguments to run with; a question is answered with `{ answer: '…' }`. */
      readonly args?: JsonObject | null;
      /** The reason, for the tool. */
      readonly reason?: string;
    }
  | { readonly type: 'approval.refused'; readonly callId?: string; readonly reason?: string };

/** The snapshot of an invoked agent: where its run is, and then its result. Persisted, it is enough to resume the run. */
export type AgentLogicSnapshot<TOutput = null> = Snapshot<RunResult<TOutput>> & {
  readonly input: AgentLogicInput;
  readonly runId: string;
  /** The state as a dotted path: `PLANNING.ASKING`. */
  readonly value: AgentPath;
  /** The current step of the run, from 1. */
  readonly step: number;
  /** The calls and questions that wait for a person. */
  readonly pending: readonly PendingApproval[];
  /** The run's handle while it is live in this process; it is not persisted. */
  readonly run: Run | null;
  /** Whether the journal holds the run: a run that was never started is started; a recorded one is only resumed. */
  readonly begun: 'no' | 'perhaps' | 'recorded';
};

/** An actor logic that runs an agent with its own journal: takes the input, outputs the RunResult, emits the RunEvents. */
export type AgentLogic<TOutput = null> = ActorLogic<
  AgentLogicSnapshot<TOutput>,
  AgentLogicEvent,
  AgentLogicInput,
  AnyActorRef['system'],
  RunEvent
>;

/** A tool as `listTools` shows it; `description` and `inputSchema` only with `verbose`. */
export interface ListedTool {
  readonly name: string;
  readonly policy: Policy;
  readonly enabled: boolean;
  /** `local`, `agent` for a child, or `mcp:` and the server. */
  readonly origin: string;
  /** The MCP server's display name for it, if it has one. */
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: JsonSchema;
}

/** The options of `run`: if the context's type is known, the context is required. */
type RunArguments<TContext> = undefined extends TContext
  ? [options?: RunOptions<TContext>]
  : [options: RunOptions<TContext> & { readonly context: TContext }];

/** The options of a run whose answer has its own schema. */
type TypedRunOptions<TContext, TSchema> = RunOptions<TContext, TSchema> & {
  readonly outputSchema: TSchema;
} & (undefined extends TContext ? object : { readonly context: TContext });

/** The same run with another answer. */
type WithOutput<TRun, TOutput> =
  TRun extends Run<infer TEvent, infer TLast, infer _> ? Run<TEvent, TLast, TOutput> : never;

/** The answer of a run. */
type OutputIn<TRun> = TRun extends Run<infer _TEvent, infer _TLast, infer TOutput> ? TOutput : unknown;

/** Starts a run of an agent or of one of its conversations. */
export interface StartRun<TContext = unknown, TRun = Run> {
  /**
   * Starts a run whose answer has its own schema instead of the agent's.
   *
   * @example const { output } = await agent.run('Who wrote it?', { outputSchema: z.object({ name: z.string() }) });
   */
  <const TSchema extends OutputSchema>(
    input: RunInput,
    options: TypedRunOptions<TContext, TSchema>,
  ): WithOutput<TRun, OutputOf<TSchema>>;
  (input: RunInput, ...options: RunArguments<TContext>): TRun;
}

/**
 * A conversation of an agent, kept in its journal: runs one after the other, each with what was said before. Any number
 * of conversations can be active at once, in any process that reaches the journal; each has one run at a time.
 */
export interface Conversation<TContext = unknown, TRun = Run> {
  readonly id: string;
  /**
   * Starts a run with the history of the conversation, like `agent.run`. If another process is using the conversation, or its
   * last run waits for a person, the result is `failed` with the code `conversation-busy` or `conversation-waiting`.
   */
  readonly run: StartRun<TContext, TRun>;
  /** What was said in it, without the system prompt. */
  readonly history: Promise<readonly Message[]>;
  /** Its runs in the journal, the oldest first. */
  runs(): Promise<readonly RunSummary[]>;
  /** The calls of its last run that wait for a person. */
  pending(): Promise<readonly PendingApproval[]>;
  /** Brings its last run to its end if that was interrupted or waits; null if there is no such run. */
  resume(options?: Pick<ResumeOptions, 'context' | 'park'>): Promise<RunResult<OutputIn<TRun>> | null>;
}

/**
 * An agent: a definition, its own conversation with one run at a time, and any number of others by id. For users or
 * sessions, use `conversation`.
 */
export interface Agent<TContext = unknown, TRun = Run>
  extends Replayable<TRun>, Forkable<TRun>, Explorable, Drivable, Repairer, ChildAgent {
  readonly name: string;
  /** Starts a run. Throws an `OptionError` (a `TypeError`), `AgentBusyError` or `AgentClosedError`; everything else is in the result. */
  readonly run: StartRun<TContext, TRun>;
  /**
   * Resumes a run that was interrupted, in this process or another, from where it stopped; a run that is over returns its
   * recorded result. Throws like `run` while the agent is busy or closed. Awaiting it rejects with a `ResumeError` for a
   * run that does not exist or was made by other machines, and with a `JournalError` while another process writes it.
   */
  resume(runId: string, options?: ResumeOptions): TRun;
  /**
   * Resumes this agent's runs that have not ended and that no process writes any more, the oldest first: their process
   * died or released them. Runs that only wait for a person are left alone. Any number of processes may do so at once:
   * each run is taken by one. Resolves when the runs have been resumed; await `runs` for their results.
   *
   * @example for (const run of (await agent.resumeOrphans({ limit: 5 })).runs) console.log((await run).status);
   */
  resumeOrphans(options?: OrphanOptions<TContext>): Promise<ResumedOrphans<TRun>>;
  /**
   * The conversation with this id, kept in the agent's journal; without one, in memory. `agent.history` is separate.
   *
   * @example const { result } = await agent.conversation(userId).run(text);
   */
  conversation(id: string, options?: ConversationOptions): Conversation<TContext, TRun>;
  /**
   * Sends a message to the model of a run, like `run.steer`, in whatever process it is live. For a run that is not live
   * the message is stored, and delivered when the run is resumed (`kept`). A journal without `requests` does not reach
   * other processes: it rejects with a `JournalError` (`run-locked`) if another process has the run. The same goes for
   * `queue`, `approve`, `reject` and `cancel`.
   */
  steer(runId: string, text: string, options?: SteerOptions): Promise<Delivery>;
  /** Keeps a message for the run after the given one, like `run.queue`. */
  queue(runId: string, input: RunInput, options?: QueueOptions): Promise<Delivery>;
  /** The conversation so far, without the system prompt. */
  readonly history: readonly Message[];
  clearHistory(): void;
  /** Replaces the conversation: system messages are left out, calls without a result get one. Throws a `TypeError` for anything but messages. */
  setHistory(messages: readonly Message[]): void;
  readonly tools: ToolRegistry;
  listTools(options?: ListToolsOptions): readonly ListedTool[];
  /** The current system prompt, for the agent's way of calling tools; instructions given as a function are left out. */
  readonly systemPrompt: string;
  /** The state of the live run, or of the last; PLANNING before the first. */
  readonly state: AgentState;
  /** The resolved options, frozen. */
  readonly options: ResolvedOptions;
  /** Waits until the MCP servers are ready or have failed, for at most `timeouts.connectMs`. A first run does the same. */
  ready(): Promise<void>;
  /** Resolves true when the server's tools are registered, false when the attempt failed. Rejects for a wrong configuration and a name in use. */
  connectMcpServer(name: string, config: McpServerConfig | McpConnection): Promise<boolean>;
  disconnectMcpServer(name: string): Promise<boolean>;
  disconnectAllMcp(): Promise<void>;
  /** The connections by server, for `readResource` and `getPrompt`. */
  readonly mcp: { readonly [server: string]: McpConnection | undefined };
  /** Calls that wait for a person, in all live runs: the agent's own and those of `agent.logic`. */
  pending(): readonly PendingApproval[];
  /** The same for any run: at once for a live one, as a promise for one in the journal. */
  pending(runId: string): readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
  /**
   * Approves a waiting call, in whatever process its run is live. For a run that is not live the approval is stored and
   * takes effect when the run is resumed. False: no such call waits.
   */
  approve(runId: string, callId: string, options?: ApprovalOptions): Promise<boolean>;
  /** Denies a waiting call, like `approve`; the model receives the reason. */
  reject(runId: string, callId: string, reason?: string): Promise<boolean>;
  /**
   * Ends a run as `cancelled`, in whatever process it is live; one that is not live also ends, without being restarted.
   * False: it had already ended, or does not exist.
   */
  cancel(runId: string, reason?: string): Promise<boolean>;
  /**
   * The recording so far, as JSON lines, of a run that is live here or in the agent's journal. Null: there is none.
   *
   * @example await replay((await agent.recording(runId)) ?? '', agent);
   */
  recording(runId: string): Promise<string | null>;
  /**
   * Continues the runs in the journal that can continue: parked ones whose call was answered or whose time has come, and
   * those whose process has died. A run that waits for a person is left alone. A run that has to wait again is parked again.
   * Rejects with an `OptionError` for a journal whose runs cannot be listed and resumed.
   *
   * @example setInterval(() => agent.wake().catch(console.error), 60_000);
   */
  wake(options?: WakeOptions<TContext>): Promise<readonly WokenRun[]>;
  configure(options: ConfigurableOptions): void;
  /** The agent machine with this agent's actors: live, not recorded. */
  readonly machine: typeof agentMachine;
  /** For `agentMachine.provide({ actors: agent.actors })`. */
  readonly actors: ReturnType<typeof agentActors>;
  /**
   * Runs this agent inside your own machine, recorded. Any number at once, each with its own history. A persisted actor
   * resumes its run from the journal; without one it fails with a `ResumeError` rather than repeat what was done.
   */
  readonly logic: AgentLogic<OutputIn<TRun>>;
  /**
   * Cancels the live runs, or with `runs: 'release'` releases those that can be resumed; waits for them at most
   * `graceMs` milliseconds (default 5000), then stops all MCP servers of this agent.
   */
  close(options?: CloseOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
