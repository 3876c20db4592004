import { describe, expect, test } from 'vitest';
import { simulate } from '../../src/testing/index.ts';
import { cases, seedOr } from '../support/soak.ts';
import { generatedAgent } from './generated-agents.ts';

const first = seedOr(1);

describe('twenty agents of chance keep their laws under all faults', () => {
  test.each(Array.from({ length: 20 }, (_, index) => index))('agent %i', async (number) => {
    const { agent, options } = generatedAgent(number);
    const seeds = Array.from({ length: cases(number % 4 === 3 ? 10 : 30, 50_000) }, (_, index) => first + index);
    const { failures, runs } = await simulate(agent, { ...options, seeds });
    expect(failures.map(({ seed, check, reason, drawn }) => ({ seed, check, reason, drawn }))).toEqual([]);
    expect(runs).toBe(seeds.length);
  });
});
