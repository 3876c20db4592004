import type { MachineCoverage } from '../../machine-coverage.ts';

/** A law that was broken, and how. */
export interface Violation {
  readonly law: string;
  readonly message: string;
  /** The root machine's state in which it was seen. */
  readonly state: string;
  /** What happened on the way there, in words. */
  readonly path: readonly string[];
  /** The way there as a recording, in JSON lines. `replay` and `transitions` take it. */
  readonly counterexample: string;
}

/** A path from the start to the end of the machine. */
export interface ExploredPath {
  /** What happened on it, in words. */
  readonly path: readonly string[];
  /** The root machine's last state. */
  readonly state: string;
  /** Of an agent: why the run ended. */
  readonly reason: string | null;
}

/** What an exploration has found. */
export interface Exploration {
  /** No law was broken. A proof only together with `exhaustive`. */
  readonly ok: boolean;
  /** Every state was visited and everything that can happen there was tried, as far as states and outcomes are told apart. */
  readonly exhaustive: boolean;
  /** Why it is not exhaustive, in sentences. */
  readonly bounds: readonly string[];
  readonly violations: readonly Violation[];
  /** The paths that came to an end; others join a state that is explored already. */
  readonly paths: readonly ExploredPath[];
  /** How many states there are, told apart by all that guards read. */
  readonly configurations: number;
  /** How often something was told to the machine and judged. */
  readonly moves: number;
  /** The longest way to a state, in things told. */
  readonly depth: number;
  /** The tools that ran on some path. */
  readonly ran: readonly string[];
  /** The states that were entered, `agent: PLANNING.ASKING`. */
  readonly states: readonly string[];
  /** The arrows that were taken, `agent: PLANNING.DECIDING —always [answered]→ COMPLETION`. */
  readonly transitions: readonly string[];
  /** What of each machine's drawing was taken. */
  readonly coverage: readonly MachineCoverage[];
  /** The laws that were checked, and whether each held. */
  readonly laws: readonly { readonly name: string; readonly says: string; readonly held: boolean }[];
}
