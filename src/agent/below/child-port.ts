import type { AgentSetup } from '../../machines/contract/agent-setup.ts';
import type { RunResult } from '../../machines/contract/run-result.ts';
import type { AgentPorts } from '../agent-actors.ts';

/** The key under which an agent offers to work below another. */
export const CHILD: unique symbol = Symbol.for('signalbox.child');

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
  run(task: string, io: { readonly signal: AbortSignal; readonly context: unknown }): PromiseLike<RunResult>;
}

/** How deep agents may stand one below the other. */
export const MAX_DEPTH = 8;

/**
 * Which policies a recorded part is played with. `own`: the agent's, so that a difference shows. `recorded`: those that it
 * was made with, because the agent's come in behind it. `stricter`: there is no such part, and both hold.
 */
export type Policies = 'own' | 'recorded' | 'stricter';
