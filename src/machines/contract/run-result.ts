import type { Message, ModelReply, Usage } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';
import type { Json } from '../../json/json.ts';
import type { ToolSource } from '../../tools/server-tool.ts';
import type { AgentInput } from './agent-setup.ts';
import type { SentMessage } from './mail.ts';
import type { ActorLogic, AnyActorRef, EventObject, Snapshot } from 'xstate';

/** How a run ended, at a glance; `waiting`: it has not, and can be resumed. */
export type RunStatus = 'answered' | 'stopped' | 'failed' | 'cancelled' | 'waiting';

/** Why a run ended. Never inferred from text. */
export type RunReason =
  | 'answer'
  | 'max-steps'
  | 'loop'
  | 'plan-limit'
  | 'llm-error'
  | 'tool-error'
  | 'thrown'
  | 'cancelled'
  | 'timeout'
  | 'budget'
  | 'refused'
  | 'content-filter'
  | 'length'
  | 'output-invalid'
  | 'released'
  | 'parked';

/** Endings whose `result` is what the model said, if anything; `error` says why that is not an answer. */
const SPOKEN: readonly RunReason[] = ['refused', 'content-filter', 'length'];

/** A run without an answer in words: why it ended and what the model said, if anything. */
export function endingInWords({ reason, result, error }: Pick<AgentOutput, 'reason' | 'result' | 'error'>): string {
  const said = SPOKEN.includes(reason) && error !== undefined && error.message !== result;
  return said ? `${error.message}\n${result}` : result;
}

/** Something that went wrong in a run; `code` is stable (docs/errors.md), `step` the step in which it happened. */
export interface ErrorEntry {
  readonly code: string;
  readonly message: string;
  readonly step: number;
  readonly tool?: string;
}

/** The top-level states of the agent machine. */
export const AGENT_STATES = ['PLANNING', 'EXECUTING_PLAN', 'DIRECT_EXECUTION', 'ERROR_RECOVERY', 'COMPLETION'] as const;

/** One of the five states that an agent can be in. */
export type AgentState = (typeof AGENT_STATES)[number];

/** A state of an agent with the states inside it, as a dotted path: `ERROR_RECOVERY.ASKING_HUMAN`. */
export type AgentPath = AgentState | `${AgentState}.${string}`;

/** A message from a person that a run returns because it was not received. */
export interface UndeliveredMessage extends SentMessage {
  /** `steer`: for a turn of this run's model. `queue`: for the run after it. */
  readonly kind: 'steer' | 'queue';
}

/** The tokens of a run, those of the agents below included. */
export interface RunUsage extends Usage {
  /** The share of each model that answered, by its id; absent where no model has one. */
  readonly byModel?: { readonly [model: string]: Usage };
}

/** The output of the agent machine. */
export interface AgentOutput {
  /** The answer; or the part of it before it was cut off or withheld; or a sentence that says why there is none. Always text. */
  readonly result: string;
  /** True if and only if `status` is `answered`. */
  readonly success: boolean;
  readonly status: RunStatus;
  readonly reason: RunReason;
  readonly error?: ErrorEntry;
  readonly stepsTaken: number;
  readonly stepsLimit: number;
  /** Each tool that ran, once, in order of first use; without calls under way when the run was stopped. */
  readonly toolsUsed: readonly string[];
  readonly planIterations: number;
  readonly usage: RunUsage;
  readonly errorHistory: readonly ErrorEntry[];
  /** The top-level states in order of entry: PLANNING first, COMPLETION last. */
  readonly states: readonly AgentState[];
  /** What this run added to the conversation. */
  readonly messages: readonly Message[];
  /** The answer as the value of `outputSchema`; absent if there is none. */
  readonly output?: Json;
  /** What the model had streamed of its answer when the run was cancelled, also the last of `messages`; absent if nothing. */
  readonly partialAnswer?: string;
  /** Messages from people that the model never received, and those queued for the next run; absent if there are none. */
  readonly undelivered?: readonly UndeliveredMessage[];
  /** What an agent above needs to know of this one; left out if there is none above. */
  readonly nested?: {
    /** Tool calls that ran, those of its own children included. */
    readonly toolCalls: number;
    /** What it escalates. */
    readonly escalation: EscalationError | null;
  };
}

/**
 * The result of a run. `output` is the answer as the value of `outputSchema`: always set if `success` is true and a schema
 * was given; null without a schema, or if a run that stopped, failed or was cancelled has none.
 */
export type RunResult<TOutput = null> = ResultParts &
  (
    | { readonly success: true; readonly status: 'answered'; readonly output: TOutput }
    | { readonly success: false; readonly status: Exclude<RunStatus, 'answered'>; readonly output: TOutput | null }
  );

interface ResultParts extends Omit<AgentOutput, 'output' | 'success' | 'status'> {
  readonly runId: string;
  readonly durationMs: number;
  /** With the status `waiting`: the calls and questions that wait for a person. */
  readonly pending?: readonly PendingCall[];
}

/**
 * A call that waits for a person. For a tool of an MCP server it also has the server, the server's description of the
 * tool, and what has changed.
 */
export interface PendingCall extends ToolSource {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  readonly args: unknown;
  readonly reason: string;
  /** The agent below that asks, as in events: the tools that lead to it from the root, joined with `/`. Absent for the root. */
  readonly child?: string;
}

/** The result of a run whose answer type is unknown. */
export type AnyResult = RunResult<unknown>;

/** The result of a run that ended with this output. */
export function runResultOf(output: AgentOutput, run: Pick<AnyResult, 'runId' | 'durationMs' | 'pending'>): AnyResult {
  const parts = { ...output, output: output.output ?? null, ...run };
  const { status } = output;
  return status === 'answered' ? { ...parts, success: true, status } : { ...parts, success: false, status };
}

/** The logic of an agent inside another: input in, output out, its whole machine visible below the caller. */
export type ChildAgentLogic = ActorLogic<Snapshot<AgentOutput>, EventObject, AgentInput>;

/**
 * A child agent runs the same machine as its parent, with everything that was provided to it. So the machine of a tool
 * call can name it without importing the machine that contains it.
 */
export const childAgent: ChildAgentLogic = {
  config: { nests: 'agent' },
  transition: (snapshot, event, scope) => machineAbove(scope.self).transition(snapshot, event, scope),
  getInitialSnapshot: (scope, input) => machineAbove(scope.self).getInitialSnapshot(scope, input),
  start: (snapshot, scope) => machineAbove(scope.self).start(snapshot, scope),
  getPersistedSnapshot: (snapshot, options) => {
    const machine: unknown = Reflect.get(snapshot, 'machine');
    return isAgentMachine(machine) ? machine.getPersistedSnapshot(snapshot, options) : snapshot;
  },
  restoreSnapshot: (kept, scope) => machineAbove(scope.self).restoreSnapshot(kept, scope),
};

function machineAbove(self: AnyActorRef): Required<ChildAgentLogic> {
  for (let actor: unknown = self; typeof actor === 'object' && actor !== null; actor = Reflect.get(actor, '_parent')) {
    const logic: unknown = Reflect.get(actor, 'logic');
    if (isAgentMachine(logic)) return logic;
  }
  throw new Error('A child agent was started without an agent above it.');
}

function isAgentMachine(logic: unknown): logic is Required<ChildAgentLogic> {
  return typeof logic === 'object' && logic !== null && 'transition' in logic && Reflect.get(logic, 'id') === 'agent';
}

/** Tokens and calls that the agents below a call have used. */
export interface Spent {
  readonly usage: RunUsage;
  readonly toolCalls: number;
}

/** Nothing used yet. */
export const NOTHING_SPENT: Spent = { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, toolCalls: 0 };

/** Both together. */
export function spentTogether(one: Spent, other: Spent): Spent {
  return { usage: usageTogether(one.usage, other.usage), toolCalls: one.toolCalls + other.toolCalls };
}

/** What a reply cost, and which model's it is; null if its server does not report it. */
export function usageOfReply({ usage, model }: ModelReply): RunUsage | null {
  if (usage === undefined) return null;
  return model === undefined ? usage : { ...usage, byModel: { [model]: usage } };
}

/** The sum of two usages. What neither of them reports stays absent. */
export function usageTogether(one: RunUsage, other: RunUsage): RunUsage {
  const sum = tokensTogether(one, other);
  if (one.byModel === undefined || other.byModel === undefined) {
    const byModel = one.byModel ?? other.byModel;
    return byModel === undefined ? sum : { ...sum, byModel };
  }
  const models = [...new Set([...Object.keys(one.byModel), ...Object.keys(other.byModel)])];
  const shares = models.map((model) => [model, shareOf(model, one.byModel, other.byModel)] as const);
  return { ...sum, byModel: Object.fromEntries(shares) };
}

function shareOf(model: string, ...all: readonly RunUsage['byModel'][]): Usage {
  const shares = all.flatMap((byModel) =>
    byModel !== undefined && Object.hasOwn(byModel, model) ? byModel[model] : [],
  );
  return shares.reduce<Usage>((sum, share) => (share === undefined ? sum : tokensTogether(sum, share)), NO_TOKENS);
}

const NO_TOKENS: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

function tokensTogether(one: Usage, other: Usage): Usage {
  const cached = [one.cachedInputTokens, other.cachedInputTokens].filter((count) => count !== undefined);
  const reasoning = [one.reasoningTokens, other.reasoningTokens].filter((count) => count !== undefined);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...(cached.length === 0 ? {} : { cachedInputTokens: cached.reduce((sum, count) => sum + count, 0) }),
    ...(reasoning.length === 0 ? {} : { reasoningTokens: reasoning.reduce((sum, count) => sum + count, 0) }),
  };
}
