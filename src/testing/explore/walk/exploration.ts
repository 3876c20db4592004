import type { MachineCoverage } from '../../coverage/edges.ts';
import type { Json } from '../../../json/json.ts';
import type { InspectionEvent } from 'xstate';

/** A law that was broken, and how. */
export interface Violation {
  readonly law: string;
  readonly message: string;
  /** The root machine's state in which it was seen. */
  readonly state: string;
  /** What happened on the path there, in words. */
  readonly path: readonly string[];
  /** The path there as a recording, in JSON lines. `replay` and `transitions` take it. */
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
  /** Every state was visited and everything that can happen there was tried, as far as states and outcomes are distinguished. */
  readonly exhaustive: boolean;
  /** Why it is not exhaustive, in sentences. */
  readonly bounds: readonly string[];
  readonly violations: readonly Violation[];
  /** The paths that came to an end; others join a state that was already explored. */
  readonly paths: readonly ExploredPath[];
  /** How many states there are, distinguished by everything that guards read. */
  readonly configurations: number;
  /** How many events were sent to the machine, each followed by a check of the laws. */
  readonly events: number;
  /** The longest path to a state, in events. */
  readonly depth: number;
  /** The tools that ran on some path. */
  readonly ran: readonly string[];
  /** The states that were entered, `agent: PLANNING.ASKING`. */
  readonly states: readonly string[];
  /** The arrows that were taken, `agent: PLANNING.DECIDING —always [answered]→ COMPLETION`. */
  readonly transitions: readonly string[];
  /** Which arrows of each machine's drawing were taken. */
  readonly coverage: readonly MachineCoverage[];
  /** The laws that were checked, and whether each held. */
  readonly laws: readonly { readonly name: string; readonly says: string; readonly held: boolean }[];
}

/** A tool that ran on the way to a state. */
export interface ToolRun {
  readonly callId: string;
  readonly tool: string;
  readonly args: Json;
}

/** What an explored machine is waiting for. */
export interface OpenEffect {
  readonly id: string;
  /** The leaf's name, or `timer`. */
  readonly name: string;
  readonly request: Json;
}

/** A state that an exploration has come to, for laws and your own predicates. */
export interface View {
  /** The root machine's state as one dotted path, `PLANNING.ASKING`. */
  readonly state: string;
  /** The states of all machines by their actor's path, `{ agent: …, 'agent/c1': 'RUNNING' }`. */
  readonly states: { readonly [path: string]: string };
  /** The root machine's context. */
  readonly context: unknown;
  /** The machine's output; undefined while it is running. */
  readonly output: unknown;
  readonly over: boolean;
  /** What it waits for. */
  readonly open: readonly OpenEffect[];
  /** The tools that were run on the way here, oldest first. */
  readonly ran: readonly ToolRun[];
  /** Every state that the root machine was in on the way here, oldest first. */
  readonly visited: readonly string[];
  /** What happened on the way here, in words, oldest first. */
  readonly path: readonly string[];
}

/** An exploration cannot be made, or cannot say what was asked. */
export class ExplorationError extends Error {
  override readonly name = 'ExplorationError';
  /** `not-a-leaf`: an actor of the machine is beyond control. `not-exhaustive`: the bounds came first. `endless`: the machine makes transitions without end. */
  readonly code: 'not-a-leaf' | 'not-exhaustive' | 'endless';

  constructor(code: ExplorationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const MOST_MICROSTEPS = 2000;

/** Ends an endless chain of transitions by an error in the machine that makes it. */
export function endlessGuard() {
  let count = 0;
  const guard = {
    inspect: ({ type }: InspectionEvent): void => {
      if (type !== '@xstate.microstep' || ++count <= MOST_MICROSTEPS) return;
      guard.tripped = true;
      throw new ExplorationError(
        'endless',
        `The machine made ${MOST_MICROSTEPS} transitions without waiting for anything.`,
      );
    },
    /** Restarts the count. */
    reset: (): void => {
      count = 0;
    },
    tripped: false,
  };
  return guard;
}
