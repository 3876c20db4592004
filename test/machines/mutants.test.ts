import { describe, expect, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { explorePaths, playBack } from '../../src/testing/index.ts';
import { loopDetectionMachine } from '../../src/machines/tool-call/loop-detection.ts';
import { SOAKING } from '../support/soak.ts';
import { AGENT_MUTANTS } from './mutants/agent.ts';
import { CALL_MUTANTS } from './mutants/call.ts';
import { CLAIM_MUTANTS } from './mutants/claims.ts';
import { CHANGE_MUTANTS } from './mutants/gate-changes.ts';
import { GATE_MUTANTS } from './mutants/gate.ts';
import { MESSAGE_MUTANTS, SAYINGS } from './mutants/messages.ts';
import { type Mutant, mutantAgent } from './mutants/mutant.ts';
import { OUTPUT_MUTANTS } from './mutants/output.ts';
import { TOOLS } from './mutants/tools.ts';
import { LIST, TURN_MUTANTS } from './mutants/turn.ts';

interface Setting {
  readonly tools: readonly string[];
  readonly maxSteps: number;
  readonly maxConsecutiveRepeats?: number;
  readonly maxPlanIterations?: number;
  readonly budget?: { readonly maxToolCalls: number; readonly maxTokens: number };
  readonly model?: readonly Model[];
}

const OPTIONS = { maxPaths: 2000, maxViolations: 1 };

describe.each([
  ['the agent', AGENT_MUTANTS],
  ['a call', CALL_MUTANTS],
  ['a turn of the model', TURN_MUTANTS],
  ['the gate', GATE_MUTANTS],
  ['what changes at the gate', CHANGE_MUTANTS],
  ['an answer that has a schema', OUTPUT_MUTANTS],
  ['what people say', MESSAGE_MUTANTS],
  ['what a law says beside all else', CLAIM_MUTANTS],
])('mutants of %s are caught', (_machine, mutants: readonly Mutant[]) => {
  test.each(mutants)('$wrong: breaks the law $law', async ({ machine, agent, law, says, events, outcomes }) => {
    const more = { ...(events === undefined ? {} : { events }), ...(outcomes === undefined ? {} : { outcomes }) };
    const found = await explorePaths(machine, { ...OPTIONS, ...more, agent: mutantAgent(agent) });
    expect(found.violations.map((violation) => violation.law)).toContain(law);
    const { counterexample = '', message = '' } = found.violations.find((violation) => violation.law === law) ?? {};
    if (says !== undefined) expect(message).toMatch(says);
    expect(playBack(counterexample, machine).transitions.length).toBeGreaterThan(0);
  });
});

describe('the machine as it is', () => {
  /** Everything that can happen is for a soak; the suite explores so much of it, the shortest paths first. */
  const bounds = SOAKING ? { maxSeconds: 3600, maxPaths: 1_000_000 } : { maxPaths: 100 };

  test.each<Setting>([
    { tools: ['look', 'buy', 'wipe'], maxSteps: 2, maxConsecutiveRepeats: 2 },
    { tools: ['checked', 'flaky'], maxSteps: 2 },
    { tools: ['fatal', 'hard'], maxSteps: 2, budget: { maxToolCalls: 1, maxTokens: 9 } },
    { tools: ['chosen', 'slow', 'off'], maxSteps: 1 },
    { tools: [], maxSteps: 4, maxPlanIterations: 1 },
    { tools: ['look'], maxSteps: 2, model: LIST },
    { tools: [], maxSteps: 1, model: LIST },
  ])('breaks no law with $tools in $maxSteps steps', async ({ tools, ...limits }) => {
    const found = await explorePaths(
      mutantAgent({ ...limits, tools: TOOLS.filter(({ name }) => tools.includes(name)) }),
      bounds,
    );
    expect(found.violations).toEqual([]);
    expect(found.paths.length).toBeGreaterThan(0);
    if (SOAKING) expect(found.exhaustive, found.bounds.join('; ')).toBe(true);
  });
});

test.each(SAYINGS.map((events, n) => ({ n, events })))(
  'the machine as it is settles what is said to it, $n',
  async ({ events }) => {
    const tools = TOOLS.filter(({ name }) => name === 'look');
    const found = await explorePaths(mutantAgent({ tools, maxSteps: 2, maxSteers: 2 }), {
      events,
      ...(SOAKING ? {} : { maxPaths: 150 }),
    });
    expect(found.violations).toEqual([]);
  },
);

describe('mutants of the loop detection are caught', () => {
  const call = (key: string) => ({ type: 'call.proposed', key });
  const failed = { type: 'round.settled', results: [{ key: 'a', error: 'out of order' }] };
  const explore = (machine: typeof loopDetectionMachine) =>
    explorePaths(machine, {
      input: { limit: 3 },
      maxDepth: 4,
      maxViolations: 1,
      events: () => [call('a'), call('b'), failed],
      distinguish: ({ path }) => [...path],
      never: {
        'refuses nothing': ({ path, state }) => inARow(path) >= 3 && state !== 'LOOPING',
        'refuses too early': ({ path, state }) => path.length < 3 && state === 'LOOPING',
        'nudges nobody': ({ path, state }) => path.length === 2 && inARow(path) === 2 && state !== 'SUSPICIOUS',
        'nudges at once': ({ path, state }) => path.length === 1 && state === 'SUSPICIOUS',
      },
    });
  const inARow = (path: readonly string[]): number => {
    const calls = path.filter((label) => label.startsWith('call.proposed'));
    return calls.length - 1 - calls.findLastIndex((label) => label !== calls.at(-1));
  };

  test.each([
    ['never refuses', 'refuses nothing', { reachesLimit: () => false }],
    ['always refuses', 'refuses too early', { reachesLimit: () => true }],
    ['never nudges', 'nudges nobody', { isOneBelowLimit: () => false }],
    ['always nudges', 'nudges at once', { isOneBelowLimit: () => true }],
  ])('%s', async (_wrong, law, guards) => {
    const mutant = loopDetectionMachine.provide({ guards });
    const [violation] = (await explore(mutant)).violations;
    expect(violation?.law).toBe(law);
    expect(playBack(violation?.counterexample ?? '', mutant).state).toBe(violation?.state);
    expect((await explore(loopDetectionMachine)).violations).toEqual([]);
  });
});
