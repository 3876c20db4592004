import type { AnyStateMachine } from 'xstate';
import { edgeText, machineCoverage, type Edge } from '../coverage/edges.ts';
import { pathRecording } from './walk/counterexample.ts';
import { ALIVE, DEFAULT_LAWS } from './laws/default-laws.ts';
import type { Exploration, ExploredPath, Violation } from './walk/exploration.ts';
import type { PathChoice, ExploredRun } from './walk/explored-run.ts';
import { type Law, situationOf } from './laws/law.ts';
import { stepBudget } from './laws/run-limits.ts';
import type { ExploredMachine } from './walk/explored-machine.ts';
import { textAt } from './walk/story.ts';

/** What is found while it is explored. */
export interface Findings {
  readonly violations: readonly Violation[];
  /** Judges where a walk has come to; false when a law is broken there. */
  judge(run: ExploredRun, since: number, choices: readonly PathChoice[]): boolean;
  /** Notes what was not explored. */
  gap(what: string): void;
  /** Notes a path that never ends. */
  cycle(run: ExploredRun): void;
  close(configurations: number, depth: number): void;
  exploration(): Exploration;
}

/** Keeps what an exploration finds, each broken law once, by the shortest path to it. */
export function findings(explored: ExploredMachine, own: readonly Law[]): Findings {
  const laws = [...DEFAULT_LAWS, ...own];
  const violations: Violation[] = [];
  const paths: ExploredPath[] = [];
  const gaps = new Set<string>();
  const edges = new Map<string, Edge>();
  const states = new Set<string>();
  const ran = new Set<string>();
  let events = 0;
  let totals = { configurations: 0, depth: 0 };

  const broken = (law: string, message: string, run: ExploredRun): void => {
    if (violations.some((one) => one.law === law)) return;
    const { state, path: words } = run.view();
    const counterexample = pathRecording(explored, run.told, { law, message });
    violations.push({ law, message, state, path: words, counterexample });
  };

  const note = (run: ExploredRun): void => {
    events++;
    for (const edge of run.edges) edges.set(edge.key, edge);
    for (const { snapshot, state } of run.actors()) states.add(`${snapshot.machine.id}: ${state}`);
    for (const one of run.story) {
      if (one.kind === 'moved') states.add(`${one.machine}: ${one.to}`);
      if (one.kind === 'started' && one.effect.name === 'callTool') ran.add(textAt(one.effect.request, 'tool'));
    }
  };

  const problemAt = (
    run: ExploredRun,
    since: number,
    choices: readonly PathChoice[],
  ): { law: string; message: string } | null => {
    const situation = situationOf(run, since);
    for (const { name, check } of laws) {
      const message = check(situation);
      if (message !== null) return { law: name, message };
    }
    const isDead = !run.isOver() && run.open.size === 0 && choices.every(({ entry }) => isCancel(entry));
    return isDead
      ? { law: ALIVE.name, message: `nothing is open in ${run.view().state}, and nothing can happen` }
      : null;
  };

  return {
    violations,
    judge: (run, since, choices) => {
      note(run);
      const problem = problemAt(run, since, choices);
      if (problem !== null) broken(problem.law, problem.message, run);
      if (problem === null && run.isOver()) paths.push(pathOf(run));
      return problem === null;
    },
    gap: (what) => void gaps.add(what),
    cycle: (run) => broken(stepBudget.name, 'the same state comes again and again, and no step is counted', run),
    close: (configurations, depth) => {
      totals = { configurations, depth };
    },
    exploration: () => ({
      ok: violations.length === 0,
      exhaustive: gaps.size === 0,
      bounds: [...gaps],
      violations,
      paths,
      ...totals,
      events,
      ran: [...ran].sort(),
      states: [...states].sort(),
      transitions: [...edges.values()].map((edge) => `${edge.machine}: ${edgeText(edge)}`).sort(),
      coverage: machinesOf(explored.machine).map((machine) =>
        machineCoverage(machine, { edges: new Set(edges.keys()), states }),
      ),
      laws: [...laws, ALIVE].map(({ name, says }) => ({
        name,
        says,
        held: violations.every(({ law }) => law !== name),
      })),
    }),
  };
}

function isCancel(entry: PathChoice['entry']): boolean {
  return entry.t === 'event' && entry.event.type === 'run.cancelled';
}

function pathOf(run: ExploredRun): ExploredPath {
  const { state, path, output } = run.view();
  const reason: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'reason') : null;
  return { path, state, reason: typeof reason === 'string' ? reason : null };
}

/** A machine and those that it invokes or spawns. */
function machinesOf(machine: AnyStateMachine): readonly AnyStateMachine[] {
  const children = Object.values<unknown>(machine.implementations.actors).filter(isMachine);
  return [machine, ...children.flatMap(machinesOf)];
}

function isMachine(logic: unknown): logic is AnyStateMachine {
  return typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic;
}
