import type { Transition } from '../../machines/events/run-events.ts';
import { type Evidence, topLevelMoves } from './evidence.ts';
import { type Verdict, endingLines } from './verdict.ts';

/** Moves as texts, `'PLANNING → COMPLETION'` or `'model.replied: PLANNING → COMPLETION'`, or those of another run. */
export type ExpectedTransitions = readonly string[] | readonly Transition[];

/**
 * Texts are compared with all moves between the agent's five states, one by one; transitions (of another run) with every
 * move of every machine.
 */
export function judgeTransitions(evidence: Evidence, expected: ExpectedTransitions): Verdict {
  const [wanted, taken] = isTexts(expected) ? compareTexts(evidence, expected) : compareMoves(evidence, expected);
  const length = Math.max(wanted.length, taken.length);
  const at = Array.from({ length }, (_, index) => index).find((index) => wanted[index] !== taken[index]);
  return { pass: at === undefined, message: () => textOf(evidence, { wanted, taken, at }) };
}

type Compared = readonly [wanted: readonly string[], taken: readonly string[]];

function compareTexts(evidence: Evidence, expected: readonly string[]): Compared {
  const wanted = expected.map(withArrow);
  const moves = topLevelMoves(evidence);
  if (evidence.moves === null && wanted.some((text) => text.includes(':')))
    throw new TypeError('A result does not keep the events of its moves. Give the Run or its recording.');
  const taken = moves.map(({ from, to, event }, index) =>
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
    throw new TypeError(
      `${JSON.stringify(text)} is no move. Write 'PLANNING → COMPLETION' or 'model.replied: PLANNING → COMPLETION', with the agent's five states.`,
    );
  return event === undefined ? `${from} → ${to}` : `${event}: ${from} → ${to}`;
}

function compareMoves({ moves }: Evidence, expected: readonly Transition[]): Compared {
  if (moves === null) throw new TypeError('A result does not keep its transitions. Give the Run or its recording.');
  const line = ({ actor, event, from, to }: Transition): string => `${actor}: ${event}: ${from} → ${to}`;
  return [expected.map(line), moves.map(line)];
}

function isTexts(expected: ExpectedTransitions): expected is readonly string[] {
  return typeof expected[0] === 'string' || expected.length === 0;
}

const BEFORE = 3;
const AFTER = 3;

function textOf(
  evidence: Evidence,
  {
    wanted,
    taken,
    at,
  }: { readonly wanted: readonly string[]; readonly taken: readonly string[]; readonly at: number | undefined },
): string {
  if (at === undefined)
    return [`expected ${evidence.subject} not to take these transitions, but it did:`, ...taken.map(indented)].join(
      '\n',
    );
  return [
    `expected ${evidence.subject} to take other transitions, from move ${at + 1} on (- expected, + taken):`,
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
