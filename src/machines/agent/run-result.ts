import type { Message, Usage } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';

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
  | 'released';

/** Endings whose `result` is what the model said, where it said anything; `error` says why that is no answer. */
const SPOKEN: readonly RunReason[] = ['refused', 'content-filter', 'length'];

/** A run without an answer in words: why it ended and, where the model said something, what it said. */
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

/** What the agent machine ends with. */
export interface AgentOutput {
  /** The answer; or what the model said of one before it was cut off or withheld; or the sentence that says why there is none. Always text. */
  readonly result: string;
  /** True if and only if `status` is `answered`. */
  readonly success: boolean;
  readonly status: RunStatus;
  readonly reason: RunReason;
  readonly error?: ErrorEntry;
  readonly stepsTaken: number;
  readonly stepsLimit: number;
  /** Each tool that ran, once, in order of first use. */
  readonly toolsUsed: readonly string[];
  readonly planIterations: number;
  readonly usage: Usage;
  readonly errorHistory: readonly ErrorEntry[];
  /** The top-level states in order of entry: PLANNING first, COMPLETION last. */
  readonly states: readonly AgentState[];
  /** What this run added to the conversation. */
  readonly messages: readonly Message[];
  /** What an agent above needs to know of this one; left out where there is none above. */
  readonly nested?: {
    /** Tool calls that ran, those of its own children included. */
    readonly toolCalls: number;
    /** What it hands up. */
    readonly escalation: EscalationError | null;
  };
}

/** The result of a run. */
export interface RunResult extends AgentOutput {
  readonly runId: string;
  readonly durationMs: number;
}
