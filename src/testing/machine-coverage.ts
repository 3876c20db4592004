import type { AnyStateMachine } from 'xstate';
import { type Edge, edgesOf, statesOf } from './edges.ts';

/** What of one machine's drawing was taken. */
export interface MachineCoverage {
  readonly machine: string;
  readonly states: { readonly covered: number; readonly total: number; readonly missed: readonly string[] };
  readonly edges: { readonly covered: number; readonly total: number; readonly missed: readonly Edge[] };
}

/** What was taken: keys of edges, and `machine: STATE.INNER` for states. */
export interface Taken {
  readonly edges: ReadonlySet<string>;
  readonly states: ReadonlySet<string>;
}

/** What of a machine was taken and what was not. A state counts when it or one within it was entered. */
export function machineCoverage(machine: AnyStateMachine, taken: Taken): MachineCoverage {
  const states = statesOf(machine);
  const edges = edgesOf(machine);
  // A state that is left at once is never seen at rest: the arrow that left it tells.
  const left = edges.filter(({ key }) => taken.edges.has(key)).map(({ from }) => `${machine.id}: ${from}`);
  const entered = [...taken.states, ...left];
  const isEntered = (state: string): boolean =>
    entered.some((one) => one === `${machine.id}: ${state}` || one.startsWith(`${machine.id}: ${state}.`));
  const missedStates = states.filter((state) => !isEntered(state));
  const missedEdges = edges.filter(({ key }) => !taken.edges.has(key));
  return {
    machine: machine.id,
    states: { covered: states.length - missedStates.length, total: states.length, missed: missedStates },
    edges: { covered: edges.length - missedEdges.length, total: edges.length, missed: missedEdges },
  };
}

/** An arrow in words: `RUNNING —callTool.failed→ RECOVERING`, with its guard. */
export function edgeText({ from, event, to, guard }: Edge): string {
  const where = from === '' ? '(any)' : from;
  return `${where} —${event}${guard === null ? '' : ` [${guard}]`}→ ${to ?? '(stays)'}`;
}
