import { ROOT_ID } from '../../journal/format/run-input.ts';
import { AGENT_STATES } from '../../machines/contract/run-result.ts';
import type { Evidence } from './evidence.ts';
import { type Verdict, endingLines, pathLine } from './verdict.ts';

interface Visit {
  readonly isAgent: boolean;
  readonly path: readonly string[];
}

/**
 * Were these states visited, in this order, whatever came between? One of the agent's five states means the agent itself;
 * any other name (`AWAITING_APPROVAL`, `RECOVERING.FIXING`) a state of any machine of the run.
 */
export function judgeVisited(evidence: Evidence, states: readonly string[]): Verdict {
  if (states.length === 0) throw new TypeError('Name at least one state, such as toHaveVisited("ERROR_RECOVERY").');
  if (evidence.moves === null && states.some(isInner)) {
    throw new TypeError(
      `A result keeps the agent's five states only, not ${states.filter(isInner).join(', ')}. Give the Run or its recording.`,
    );
  }
  const visits = visitsOf(evidence);
  let from = 0;
  let missing: string | undefined;
  for (const state of states) {
    const found = visits.findIndex((visit, index) => index >= from && isVisitTo(state, visit));
    if (found === -1) {
      missing = state;
      break;
    }
    from = found + 1;
  }
  return { pass: missing === undefined, message: () => textOf(evidence, states, missing) };
}

function textOf(evidence: Evidence, states: readonly string[], missing: string | undefined): string {
  const wanted = states.join(', then ');
  const head =
    missing === undefined
      ? `expected ${evidence.subject} not to have visited ${wanted}, but it did:`
      : `expected ${evidence.subject} to have visited ${wanted}, but ${shortfall(evidence, states, missing)}:`;
  return [head, pathLine(evidence), ...endingLines(evidence)].join('\n');
}

function shortfall(evidence: Evidence, states: readonly string[], missing: string): string {
  if (states.length === 1) return 'it never did';
  const elsewhere = visitsOf(evidence).some((visit) => isVisitTo(missing, visit));
  return elsewhere && states.length > 1
    ? `${missing} did not come after the ones before it`
    : `it never visited ${missing}`;
}

function visitsOf({ moves, states }: Evidence): readonly Visit[] {
  if (moves === null) return states.map((state) => ({ isAgent: true, path: [state] }));
  return [
    { isAgent: true, path: ['PLANNING'] },
    ...moves.map(({ actor, to }) => ({ isAgent: actor === ROOT_ID, path: to.split(/[.+]/) })),
  ];
}

function isVisitTo(state: string, { isAgent, path }: Visit): boolean {
  const wanted = state.split('.');
  if (isAgentState(wanted[0])) return isAgent && wanted.every((name, index) => path[index] === name);
  return path.some((_, start) => wanted.every((name, index) => path[start + index] === name));
}

function isInner(state: string): boolean {
  return !isAgentState(state);
}

function isAgentState(state: string | undefined): boolean {
  return AGENT_STATES.some((known) => known === state);
}
