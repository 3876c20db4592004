import type { Agent } from '../../agent/agent-types.ts';
import type { AgentOptions } from '../../agent/options/agent-options.ts';
import type { RunOptions } from '../../agent/options/run-options.ts';
import type { SomeRun } from '../../agent/run/run.ts';
import type { Model } from '../../actors/model.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { Replayable } from '../../journal/replay/replay.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { MachineCoverage } from '../coverage/edges.ts';
import type { Draws } from './draws.ts';
import type { ServerWorld } from './simulated-servers.ts';
import type { Problem } from './journal-laws.ts';
import type { FaultName, FaultRates } from './simulated-faults.ts';
import type { HostileMaker } from './simulated-model.ts';
import type { SimulatedStore } from './simulated-store.ts';
import type { VirtualTime } from './virtual-time.ts';

/** An agent, as far as a simulation drives it. */
export interface SimulatedAgent
  extends
    Pick<Agent<unknown, SomeRun>, 'resume' | 'configure' | 'tools' | 'options' | 'setHistory' | 'ready' | 'close'>,
    Replayable<SomeRun> {
  run(input: string, options?: RunOptions): SomeRun;
}

/** Whether a value is what `createAgent()` gives. */
export function canBeSimulated(value: unknown): value is SimulatedAgent {
  return typeof value === 'object' && value !== null && 'resume' in value && 'configure' in value;
}

/** What a function gave that made no agent, in words. If it is a promise, no one else waits for it: a rejection ends here. */
export function otherThanAgent(made: unknown): string {
  if (made instanceof Promise) {
    made.catch(() => undefined);
    return 'a promise: it cannot be async here';
  }
  if (made === null || made === undefined) return String(made);
  return typeof made === 'object' ? 'an object that is none' : `a ${typeof made}`;
}

/** Makes the agent of one run, with the options that the simulation gives it: journal, model, permissions, confirm. */
export type AgentMaker = (options: AgentOptions) => SimulatedAgent;

/** What does not change from run to run. */
export interface Simulated {
  readonly agent: SimulatedAgent | AgentMaker;
  readonly task: string;
  readonly context: unknown;
  readonly model: ((seed: number) => Model) | null;
  /** How many replies the model has; null where nobody knows. */
  readonly replies: number | null;
  readonly hostile: HostileMaker;
  /** Makes the MCP servers of a run; null where none are simulated. */
  readonly servers: ((draws: Draws, rates: FaultRates) => ServerWorld) | null;
  /** Called before each run. */
  readonly begin: () => void;
  readonly rates: FaultRates;
  readonly time: VirtualTime;
  /** Real time at which no run waits any longer. */
  readonly until: number;
  /** Tools that really waited, in place of virtual time. */
  readonly waited: Set<string>;
  /** Tools that never settle: nobody waits for them a second time. */
  readonly hanging: Set<string>;
  /** Promises that were rejected and that nobody had handled. */
  readonly unhandled: { readonly check: 'unhandled rejection' | 'uncaught exception'; readonly error: unknown }[];
  /** What the process has printed. */
  readonly printed: string[];
}

/** What has come of one seed. */
export interface SimulatedOutcome {
  readonly seed: number;
  readonly draws: Draws;
  readonly result: AnyResult | null;
  /** What is wrong with the way in which it was driven; null when nothing is. */
  readonly problem: Problem | null;
  readonly recording: Recording | null;
  readonly store: SimulatedStore;
  /** Whoever played it last. */
  readonly agent: SimulatedAgent;
  /** Its last life; null where it had none. */
  readonly run: SomeRun | null;
  /** How often the simulated servers carried out each of their tools, by `server tool`. */
  readonly carriedOut: ReadonlyMap<string, number>;
  /** What was printed meanwhile. */
  readonly printed: string;
}

/** A failure, by the smallest run that still fails for the same reason. */
export interface SimulatedFailure {
  /** The first seed that failed so. */
  readonly seed: number;
  /** The check that says so: `check`, `always`, `resume`, `replay`, `law once` … */
  readonly check: string;
  readonly reason: string;
  /** The faults and choices that are left, in words. */
  readonly drawn: readonly string[];
  /**
   * The same as keys, and what of the model is left out, for the option `only` of `simulate`: with them the seed alone
   * repeats the smallest run.
   */
  readonly only: readonly string[];
  /** The recording of the smallest run, as JSON lines; empty where nothing was written. */
  readonly recording: string;
  /** How many records there were when it was found, and how many are left. */
  readonly records: { readonly found: number; readonly left: number };
  /** How many of the seeds failed so. */
  readonly count: number;
}

/** Failures are the same whose check is, and whose words but for numbers and names. */
export function kindOf({ check, message }: Problem): string {
  const isOwn = ['check', 'always', 'unhandled rejection', 'uncaught exception'].includes(check);
  return isOwn ? `${check} ${message.split('\n')[0]?.replaceAll(/\d+/g, '#')}` : check;
}

/** What a simulation has found. */
export interface Simulation {
  /** Nothing failed. */
  readonly ok: boolean;
  readonly runs: number;
  /** Each reason once, the first found first. */
  readonly failures: readonly SimulatedFailure[];
  readonly coverage: {
    /** What of each machine's drawing was taken. */
    readonly machines: readonly MachineCoverage[];
    /** How often each fault happened. */
    readonly faults: Readonly<Record<FaultName, number>>;
    /** How many runs ended for which reason. */
    readonly endings: { readonly [reason: string]: number };
  };
  /** How many effects were performed. */
  readonly effects: number;
  /** Tools that waited in real time. Their runs take as long as they do, and may differ from time to time. */
  readonly waited: readonly string[];
}
