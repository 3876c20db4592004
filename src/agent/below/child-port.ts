import type { OwnRegistry } from '../tools/registry.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import type { Repairer } from '../../recovery/steps.ts';
import type { Verdict } from '../../recovery/verdicts.ts';
import type { Model } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import type { McpCalls } from '../../actors/mcp/mcp-calls.ts';
import type { AgentOptions } from '../options/agent-options.ts';
import type { TypedOutput } from '../options/output-options.ts';
import type { ModelFacts } from '../../actors/call-llm.ts';
import type { ChildSetup, AgentSetup } from '../../machines/contract/agent-setup.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';

/** What an agent needs of one below it. */
export interface ChildPort {
  readonly name: string;
  /** What it is for, as the model above is told. */
  readonly description: string;
  /** How many agents stand one below the other, itself included. */
  readonly depth: number;
  readonly ports: AgentPorts;
  /** Waits for what it needs, until `signal` aborts; what it gives then takes the tools as they stand. */
  prepare(signal: AbortSignal): Promise<() => AgentSetup>;
  /** Its setup as it stands now, without waiting. */
  setupNow(): Promise<AgentSetup>;
  /** A recorded setup as this agent would give it now: its own instructions and local tools, all else as recorded. */
  replayed(recorded: AgentSetup, policies: Policies): AgentSetup;
  /** What may not be seen by model, recording and logs. */
  secrets(): readonly string[];
  /** What people typed as secrets for its servers. */
  hidden(): readonly string[];
  /** Calls back when its tools change; gives back how to stop that. */
  onChange(listener: () => void): () => void;
  /** The agent as it mends arguments below a call; null for one that mends by its own code. */
  readonly repairer: ChildPort | null;
  /** Does a task on its own, beside whatever it does else. */
  run(task: string, io: { readonly signal: AbortSignal; readonly context: unknown }): PromiseLike<AnyResult>;
}

/** How deep agents may stand one below the other. */
export const MAX_DEPTH = 8;

/**
 * Which policies a recorded part is played with. `own`: the agent's, so that a difference shows. `recorded`: those that it
 * was made with, because the agent's come in behind it. `stricter`: there is no such part, and both hold.
 */
export type Policies = 'own' | 'recorded' | 'stricter';

/** What the leaves of an agent reach, looked up at each call: options may change between runs. */
export interface AgentPorts {
  readonly model: () => Model;
  /** The model at a place of the agent's list. */
  readonly modelAt: (at: number) => Model;
  readonly facts: () => ModelFacts;
  /** A model of the option `models`, or of a preset. Throws for any other name. */
  readonly modelNamed: (name: string) => Model;
  /** The schema of the answer and its check; null: the answer is text. */
  readonly output: TypedOutput | null;
  readonly registry: OwnRegistry;
  readonly mcp: McpCalls;
  readonly confirm: () => Promise<Confirm | 'wait' | undefined>;
  /** Keeps an "always allow". */
  readonly remember: (tool: ToolSpec) => Promise<void>;
  readonly options: () => AgentOptions;
  readonly setup: (signal: AbortSignal) => Promise<AgentSetup>;
  /** Decides about an escalation; null: not handled. */
  readonly decide: (error: EscalationError) => Verdict | null | Promise<Verdict | null>;
  readonly children: Children;
  readonly repairers: RepairAgents;
}

/** Agents below another, by the names of their tools. */
export type Children = ReadonlyMap<string, ChildPort>;

/** The repair agents that the `onError` slots of an agent name or have chosen, by their names in places. */
export interface RepairAgents {
  /** All that are known: functions choose others when something has gone wrong. */
  all(): ReadonlyMap<string, ChildPort>;
  /**
   * A repair agent with the setup that it has now, its servers waited for; null for one that mends by its own code.
   * Rejects for an agent that is at work `above` already: none mends its own mistakes, whatever a function chooses.
   */
  prepared(fixer: Repairer, above: readonly AgentPorts[], signal: AbortSignal): Promise<ChildSetup | null>;
}
