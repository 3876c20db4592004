import { expect, test } from 'vitest';
import { type VerifiedAgent, exploredSoFar, verdictText } from '../../src/cli/verify/verify-agent.ts';

const verdict: VerifiedAgent = {
  agent: 'shop',
  tools: [{ name: 'buy', policy: 'confirm', ran: true }],
  maxSteps: 3,
  ok: false,
  exhaustive: false,
  bounds: ['it was stopped when enough had been found'],
  laws: [
    { name: 'ends', says: 'Every path ends in COMPLETION.', held: true },
    { name: 'permission', says: 'No tool runs without an approval.', held: false },
  ],
  violations: [
    {
      law: 'permission',
      message: "'buy' ran, and it had not been approved",
      state: 'DIRECT_EXECUTION.RUNNING_CALLS',
      path: ['the model calls buy', 'the person asked about buy (c1) denies'],
      file: '.signalbox/verify/shop.permission.jsonl',
    },
  ],
  configurations: 4,
  events: 12,
  depth: 1,
  endings: { answer: 2, cancelled: 7 },
  seconds: 0.1,
};

test('a broken law is shown with the shortest path to it and the file of the counterexample', () => {
  const terminal = { live: false, color: false, columns: () => 80, isHeld: () => false, write: () => undefined };
  expect(verdictText(verdict, terminal)).toBe(`shop  at most 3 steps
  buy  confirm, can run

  held    ends          Every path ends in COMPLETION.
  BROKEN  permission    No tool runs without an approval.

  4 states, 12 events, the longest path to a state 1 event; 0.1 s.
  Paths that ended: cancelled 7, answer 2.
  Not everything was explored:
  it was stopped when enough had been found.

  permission: 'buy' ran, and it had not been approved
  in DIRECT_EXECUTION.RUNNING_CALLS, reached by this shortest path:
     1  the model calls buy
     2  the person asked about buy (c1) denies
  The counterexample is a recording: .signalbox/verify/shop.permission.jsonl
`);
});

test('a counterexample that could not be written is shown all the same, without a file', () => {
  const terminal = { live: false, color: false, columns: () => 80, isHeld: () => false, write: () => undefined };
  const violations = verdict.violations.map((violation) => ({ ...violation, file: null }));
  const text = verdictText({ ...verdict, violations }, terminal);
  expect(text).toContain('     2  the person asked about buy (c1) denies\n');
  expect(text).not.toContain('is a recording');
});

test('nothing of a verdict, and of how far it is, moves the cursor', () => {
  const terminal = { live: false, color: false, columns: () => 80, isHeld: () => false, write: () => undefined };
  const evil = (word: string): string => `${word}\u001b[2J`;
  const [violation] = verdict.violations;
  if (violation === undefined) throw new Error('there is none');
  const { law, message, state, file } = violation;
  const shown = verdictText(
    {
      ...verdict,
      agent: evil('shop'),
      tools: [{ name: evil('buy'), policy: 'confirm', ran: true }],
      laws: [{ name: 'ends', says: evil('Every path ends.'), held: true }],
      bounds: [evil('it was stopped')],
      violations: [
        {
          law,
          message: evil(message),
          state: evil(state),
          path: [evil('the model calls buy')],
          file: evil(file ?? ''),
        },
      ],
    },
    terminal,
  );
  expect(shown.split('␛[2J')).toHaveLength(9);
  const soFar = exploredSoFar(evil('shop'), { configurations: 4, paths: 2 });
  expect(soFar).toBe('Exploring shop␛[2J: 4 states, 2 paths');
  expect(shown).not.toContain('\u001b');
});
