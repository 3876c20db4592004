import { describe, expect, test } from 'vitest';
import { explorePaths, playBack } from '../../src/testing/index.ts';
import { AGENT_MUTANTS } from './mutants/agent.ts';
import { CALL_MUTANTS } from './mutants/call.ts';
import { type Mutant, mutantAgent } from './mutants/mutant.ts';
import { TOOLS } from './mutants/tools.ts';
import { TURN_MUTANTS } from './mutants/turn.ts';

interface Setting {
  readonly tools: readonly string[];
  readonly maxSteps: number;
  readonly maxConsecutiveRepeats?: number;
  readonly maxPlanIterations?: number;
  readonly budget?: { readonly maxToolCalls: number; readonly maxTokens: number };
}

const OPTIONS = { maxPaths: 2000, maxViolations: 1 };

describe.each([
  ['the agent', AGENT_MUTANTS],
  ['a call', CALL_MUTANTS],
  ['a turn of the model', TURN_MUTANTS],
])('mutants of %s are caught', (_machine, mutants: readonly Mutant[]) => {
  test.each(mutants)('$wrong: breaks the law $law', async ({ machine, agent, law }) => {
    const found = await explorePaths(machine, { ...OPTIONS, agent: mutantAgent(agent) });
    expect(found.violations.map((violation) => violation.law)).toContain(law);
    const counterexample = found.violations.find((violation) => violation.law === law)?.counterexample ?? '';
    expect(playBack(counterexample, machine).transitions.length).toBeGreaterThan(0);
  });
});

describe('the machine as it is', () => {
  test.each<Setting>([
    { tools: ['look', 'buy', 'wipe'], maxSteps: 2, maxConsecutiveRepeats: 2 },
    { tools: ['checked', 'flaky'], maxSteps: 2 },
    { tools: ['fatal', 'hard'], maxSteps: 2, budget: { maxToolCalls: 1, maxTokens: 9 } },
    { tools: ['chosen', 'slow', 'off'], maxSteps: 1 },
    { tools: [], maxSteps: 4, maxPlanIterations: 1 },
  ])('breaks no law with $tools in $maxSteps steps', { timeout: 120_000 }, async ({ tools, ...limits }) => {
    const found = await explorePaths(
      mutantAgent({ ...limits, tools: TOOLS.filter(({ name }) => tools.includes(name)) }),
    );
    expect(found.violations).toEqual([]);
    expect(found.exhaustive).toBe(true);
  });
});
