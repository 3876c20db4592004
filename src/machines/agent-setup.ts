import type { Message, ToolCalling } from '../actors/model.ts';
import type { TextCalls } from '../parsing/reply/reply-source.ts';
import type { Backoff } from '../recovery/backoff.ts';
import { DEFAULT_BACKOFF } from '../recovery/backoff.ts';
import type { RecoveryData } from '../recovery/plan-data.ts';
import type { ToolSpec } from '../tools/spec.ts';

/** The limits and switches that the machines obey. Times in milliseconds; null means no limit. */
export interface AgentSettings {
  readonly maxSteps: number;
  /** 0: unlimited. */
  readonly maxPlanIterations: number;
  readonly maxConsecutiveRepeats: number;
  readonly maxToolResultChars: number;
  readonly connectMs: number;
  /** Longest silence of the model; null: the model's own default. */
  readonly responseMs: number | null;
  readonly approvalMs: number | null;
  readonly totalMs: number | null;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly parallelToolCalls: boolean;
  readonly streaming: boolean;
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly maxArgumentBytes: number;
  readonly maxResultBytes: number;
  readonly budget: { readonly maxToolCalls: number | null; readonly maxTokens: number | null };
  /** How long one function of `onError` or one repair agent may take. */
  readonly fixMs: number;
  /** Fixes the jitter of waits between repeated calls. */
  readonly jitterSeed: number;
  /** How the option `toolCalling` stands; absent: `auto`. */
  readonly toolCalling?: 'auto' | ToolCalling;
  /** Which text may become a call; absent: what the way of calling tools asks for. */
  readonly textCalls?: TextCalls;
}

/** An MCP server as the model is told of it. */
export interface ServerNote {
  readonly server: string;
  /** What the server says about its use; empty when it says nothing. */
  readonly instructions: string;
  readonly ready: boolean;
}

/** A skill as the model is told of it. */
export interface SkillNote {
  readonly name: string;
  readonly instructions: string;
  readonly tools: readonly string[];
}

/** The tools that a run may use, and what their servers say: data, never a live registry. */
export interface Toolset {
  readonly tools: readonly ToolSpec[];
  readonly servers: readonly ServerNote[];
  readonly skills: readonly SkillNote[];
  /** What the agent does about calls of tools that it does not know. */
  readonly recovery: RecoveryData;
}

/** Everything that a run is told of its agent: one immutable JSON value, written into the recording's first line. */
export interface AgentSetup {
  readonly agent: string;
  readonly instructions: string;
  /** The instructions or the prompt are made by a function: a leaf is asked before each model turn. */
  readonly promptByCode: boolean;
  readonly toolset: Toolset;
  readonly toolCalling: ToolCalling;
  /** The model has called natively before, at this endpoint: no text of it becomes a call. */
  readonly callsNatively: boolean;
  readonly settings: AgentSettings;
  readonly seed: number;
  /** Things that went wrong before the run began, such as a server that is not ready. */
  readonly warnings: readonly string[];
  /** The agents below, by the names of the tools that hand them a task. */
  readonly children: readonly ChildSetup[];
  /** Code decides about escalations, so a leaf is asked. */
  readonly escalates: boolean;
}

/** An agent below another, as its tool calls it. */
export interface ChildSetup {
  readonly tool: string;
  readonly setup: AgentSetup;
}

/** Where in the tree of agents a run is. */
export interface Place {
  /** The tools that lead here from the root, joined with `/`; empty for the root itself. */
  readonly agent: string;
  /** What the ids of its calls begin with. */
  readonly callPrefix: string;
}

/** The root of the tree. */
export const ROOT_PLACE: Place = { agent: '', callPrefix: 'c' };

/** What the agent machine starts from. Without `setup` it asks the actor `describeAgent` for it. */
export interface AgentInput {
  readonly task: string;
  readonly history?: readonly Message[];
  readonly setup?: AgentSetup;
  /** Default: the root. */
  readonly place?: Place;
  /** Set when the run was cancelled before it began; says why. It ends without a request. */
  readonly cancelled?: string;
  /** Set when the run cannot begin, such as for a required server that is not there. It ends as failed. */
  readonly refused?: { readonly code: string; readonly message: string };
}

/** The defaults of all settings. */
export const DEFAULT_SETTINGS: AgentSettings = {
  maxSteps: 20,
  maxPlanIterations: 3,
  maxConsecutiveRepeats: 4,
  maxToolResultChars: 4000,
  connectMs: 30_000,
  responseMs: null,
  approvalMs: null,
  totalMs: null,
  maxAttempts: 2,
  backoff: DEFAULT_BACKOFF,
  parallelToolCalls: true,
  streaming: false,
  temperature: null,
  maxTokens: null,
  maxArgumentBytes: 1_000_000,
  maxResultBytes: 10_000_000,
  budget: { maxToolCalls: null, maxTokens: null },
  fixMs: 180_000,
  jitterSeed: 0,
};
