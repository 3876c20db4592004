import { wrongOption } from '../../json/known-options.ts';
import type { AnyStateNode } from 'xstate';
import { OWN_MACHINES } from '../../inspector/diagram/own-machines.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { ROOT_ID } from '../../journal/format/run-input.ts';
import { AGENT_STATES } from '../../machines/contract/run-result.ts';
import { type Evidence, type Judgement, endingLines, pathLine, topLevelTransitions } from './evidence.ts';
import type { Transition } from '../../machines/events/run-events.ts';

interface Visit {
  readonly isAgent: boolean;
  /** The agent came from another of its five states, and not from within this one. */
  readonly isEntry: boolean;
  readonly path: readonly string[];
}

/**
 * Were these states visited, in this order, whatever came between? One of the agent's five states means the agent itself;
 * any other name (`AWAITING_APPROVAL`, `RECOVERING.FIXING`) a state of any machine of the run.
 */
export function judgeVisited(evidence: Evidence, states: readonly string[]): Judgement {
  if (states.length === 0) throw wrongOption('Name at least one state, such as toHaveVisited("ERROR_RECOVERY").');
  const inner = states.filter((state) => !isAgentState(state));
  if (evidence.transitions === null && inner.length > 0)
    throw wrongOption(
      `A result keeps the agent's five states only, not ${inner.join(', ')}. Give the Run or its recording.`,
    );
  checkNames(states);
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
  return { pass: missing === undefined, message: () => visitedText(evidence, states, missing) };
}

/** A misspelt state is visited by no run: an expectation that it is not would hold for ever. */
function checkNames(states: readonly string[]): void {
  const known = (names ??= new Set([...OWN_MACHINES.values()].flatMap((machine) => namesIn(machine.root))));
  const unknown = states.flatMap((state) => state.split('.')).find((name) => !known.has(name));
  if (unknown !== undefined)
    throw wrongOption(`No machine of a run has a state '${unknown}'.${didYouMean(unknown, [...known])}`);
}

let names: ReadonlySet<string> | undefined;

function namesIn({ states }: Pick<AnyStateNode, 'states'>): readonly string[] {
  return Object.entries(states).flatMap(([name, state]) => [name, ...namesIn(state)]);
}

function visitedText(evidence: Evidence, states: readonly string[], missing: string | undefined): string {
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
  return elsewhere ? `${missing} did not come after the ones before it` : `it never visited ${missing}`;
}

function visitsOf({ transitions, states }: Evidence): readonly Visit[] {
  if (transitions === null) return states.map((state) => ({ isAgent: true, isEntry: true, path: [state] }));
  const visits = transitions.map(({ actor, from, to }): Visit => {
    const path = to.split(/[.+]/);
    return { isAgent: actor === ROOT_ID, isEntry: from.split('.')[0] !== path[0], path };
  });
  return [{ isAgent: true, isEntry: true, path: ['PLANNING'] }, ...visits];
}

function isVisitTo(state: string, { isAgent, isEntry, path }: Visit): boolean {
  const wanted = state.split('.');
  if (isAgentState(wanted[0]))
    return isAgent && (isEntry || wanted.length > 1) && wanted.every((name, index) => path[index] === name);
  return path.some((_, start) => wanted.every((name, index) => path[start + index] === name));
}

function isAgentState(state: string | undefined): boolean {
  return AGENT_STATES.some((known) => known === state);
}

/** Transitions as texts, `'PLANNING → COMPLETION'` or `'model.replied: PLANNING → COMPLETION'`, or those of another run. */
export type ExpectedTransitions = readonly string[] | readonly Transition[];

/**
 * Texts are compared with all transitions between the agent's five states, one by one; transitions (of another run) with every
 * transition of every machine.
 */
export function judgeTransitions(evidence: Evidence, expected: ExpectedTransitions): Judgement {
  const [wanted, taken] = isTexts(expected) ? compareTexts(evidence, expected) : compareTransitions(evidence, expected);
  const length = Math.max(wanted.length, taken.length);
  const at = Array.from({ length }, (_, index) => index).find((index) => wanted[index] !== taken[index]);
  return { pass: at === undefined, message: () => transitionsText(evidence, [wanted, taken], at) };
}

type Compared = readonly [wanted: readonly string[], taken: readonly string[]];

function compareTexts(evidence: Evidence, expected: readonly string[]): Compared {
  const wanted = expected.map(withArrow);
  const steps = topLevelTransitions(evidence);
  if (evidence.transitions === null && wanted.some((text) => text.includes(':')))
    throw wrongOption('A RunResult has no events of transitions. Pass the Run or its recording.');
  const taken = steps.map(({ from, to, event }, index) =>
    wanted[index]?.includes(':') === true || (wanted[index] === undefined && event !== '')
      ? `${event}: ${from} → ${to}`
      : `${from} → ${to}`,
  );
  return [wanted, taken];
}

function withArrow(text: string): string {
  const match = /^(?:\s*([^:]+?)\s*:)?\s*([A-Z_]+)\s*(?:→|->)\s*([A-Z_]+)\s*$/.exec(text);
  const [, event, from = '', to = ''] = match ?? [];
  if (match === null)
    throw wrongOption(
      `${JSON.stringify(text)} is not a transition. Write 'PLANNING → COMPLETION' or 'model.replied: PLANNING → COMPLETION', with the agent's five states.`,
    );
  return event === undefined ? `${from} → ${to}` : `${event}: ${from} → ${to}`;
}

function compareTransitions({ transitions }: Evidence, expected: readonly Transition[]): Compared {
  if (transitions === null) throw wrongOption('A RunResult has no transitions. Pass the Run or its recording.');
  const line = ({ actor, event, from, to }: Transition): string => `${actor}: ${event}: ${from} → ${to}`;
  return [expected.map(line), transitions.map(line)];
}

function isTexts(expected: ExpectedTransitions): expected is readonly string[] {
  return typeof expected[0] === 'string' || expected.length === 0;
}

const BEFORE = 3;
const AFTER = 3;

function transitionsText(evidence: Evidence, [wanted, taken]: Compared, at: number | undefined): string {
  if (at === undefined)
    return [`expected ${evidence.subject} not to take these transitions, but it did:`, ...taken.map(indented)].join(
      '\n',
    );
  return [
    `expected ${evidence.subject} to take other transitions, from transition ${at + 1} on (- expected, + taken):`,
    ...(at > BEFORE ? ['    …'] : []),
    ...taken.slice(Math.max(0, at - BEFORE), at).map(indented),
    ...part(wanted, at, '-'),
    ...part(taken, at, '+'),
    ...endingLines(evidence),
  ].join('\n');
}

function part(lines: readonly string[], at: number, sign: string): readonly string[] {
  const shown = lines.slice(at, at + AFTER).map((line) => `  ${sign} ${line}`);
  if (shown.length === 0) return [`  ${sign} nothing more`];
  return lines.length > at + AFTER ? [...shown, `  ${sign} … and ${lines.length - at - AFTER} more`] : shown;
}

function indented(line: string): string {
  return `    ${line}`;
}
