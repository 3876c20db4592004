import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type HostileModelOptions, type MistakeName, hostileModel } from '../../src/testing/hostile-model.ts';
import { normalizedRecording } from '../../src/testing/recordings/runs-on-recordings.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import '../../src/testing/vitest.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls, plan } from '../support/replies.ts';
import { cases, seedOr } from '../support/soak.ts';

const REASONS = ['answer', 'max-steps', 'loop', 'plan-limit', 'llm-error', 'budget', 'length'];

/** An agent with tools of all kinds, and a witness of what it really executed. */
function hostileRun(hostile: HostileModelOptions, options: AgentOptions = {}) {
  const executed: { readonly city: string; readonly days: number }[] = [];
  const forecast = tool({
    name: 'forecast',
    description: 'Weather of the coming days.',
    inputSchema: z.object({ city: z.string(), days: z.number().int(), detailed: z.boolean().optional() }),
    execute: (args) => {
      executed.push(args);
      return { celsius: 21 };
    },
  });
  const model = hostileModel(hostile);
  const agent = createAgent({
    model,
    tools: [forecast, fakeTool('look', [null, new Error('dark')]), fakeTool('forbidden', [1], { policy: 'deny' })],
    maxSteps: 12,
    retry: { backoff: { kind: 'constant', ms: 0 } },
    silent: true,
    seed: 1,
    ...options,
  });
  return { run: agent.run('How will the weather be?'), executed, model, agent };
}

test.each([NaN, -0.1, 50])(
  'a share of mistakes that is none is refused, and makes no model without them: %s',
  (rate) => {
    const wrong = {
      code: 'wrong-option',
      message: expect.stringContaining("option 'rate' must be a number from 0 to 1"),
    };
    expect(() => hostileModel({ rate })).toThrow(expect.objectContaining(wrong));
  },
);

const modes = fc.constantFrom('native' as const, 'json' as const);

test('whatever the seed, every run ends with a typed reason, within its limits, and never runs what does not fit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), modes, fc.double({ min: 0, max: 1, noNaN: true }), async (seed, mode, rate) => {
      const { run, executed } = hostileRun({ seed, rate }, { toolCalling: mode });
      const result = await run;
      expect(REASONS).toContain(result.reason);
      expect(result.stepsTaken).toBeLessThanOrEqual(12);
      expect(result.states.at(-1)).toBe('COMPLETION');
      expect(executed.filter(({ city, days }) => typeof city !== 'string' || !Number.isInteger(days))).toEqual([]);
      expect(result.toolsUsed).not.toContain('forbidden');
    }),
    { seed: seedOr(20_261_122), numRuns: cases(120, 4000) },
  );
});

test('the same seed makes the same run, which replays; another seed another', async () => {
  const recordings = new Set<string>();
  for (let seed = 0; seed < 30; seed++) {
    const [one, two] = [hostileRun({ seed }), hostileRun({ seed })];
    await Promise.all([one.run, two.run]);
    const text = normalizedRecording(one.run.recording(), 'hostile.jsonl');
    expect(normalizedRecording(two.run.recording(), 'hostile.jsonl')).toBe(text);
    await expect(replay(text, one.agent)).toMatchTransitions(one.run);
    recordings.add(text);
  }
  expect(recordings.size).toBeGreaterThan(25);
});

describe('with replies', () => {
  const replies = [calls(['forecast', { city: 'Austin', days: 3 }]), 'Warm.'];

  test('says them in order, and without mistakes at rate 0', async () => {
    const { run, executed, model } = hostileRun({ seed: 3, replies, rate: 0 });
    await expect(run).toEndWith('answer', 'Warm.');
    expect([executed, model.mistakesMade]).toEqual([[{ city: 'Austin', days: 3 }], []]);
  });

  const garbles: readonly MistakeName[] = [
    'broken-json',
    'fences',
    'duplicate-keys',
    'dialect',
    'thinking',
    'prose-around',
  ];
  test.each(garbles)('%s is read as it was meant', async (mistake) => {
    for (let seed = 0; seed < 8; seed++) {
      const options = { seed, replies, rate: 1, mistakes: [mistake] };
      const { run, executed, model } = hostileRun(options, { toolCalling: mistake === 'dialect' ? 'auto' : 'json' });
      await run;
      expect(model.mistakesMade[0]).toEqual({ request: 1, mistake });
      expect(executed.map(({ city }) => city)).toEqual(['Austin']);
    }
  });

  const losses: readonly MistakeName[] = [
    'cut-off',
    'empty',
    'server-error',
    'wrong-name',
    'missing-argument',
    'bad-plan',
  ];
  test.each(losses)('%s is said again, so that the run goes on to its answer', async (mistake) => {
    const runs = Array.from({ length: 10 }, (_, seed) => hostileRun({ seed, replies, rate: 0.3, mistakes: [mistake] }));
    const results = await Promise.all(runs.map(({ run }) => run));
    expect(runs.some(({ model }) => model.mistakesMade.length > 0)).toBe(true);
    const whole = results.filter(({ result }, n) => result === 'Warm.' && runs[n]?.executed[0]?.city === 'Austin');
    expect(whole.length).toBeGreaterThan(6);
  });

  test('mistakes that lose the meaning do not lose the reply', async () => {
    let recovered = 0;
    for (let seed = 0; seed < 20; seed++) {
      const { run } = hostileRun({ seed, replies, rate: 0.4, mistakes: ['empty', 'cut-off', 'server-error'] });
      const { reason, result } = await run;
      // An answer that is cut off is not asked for again: what there is of it is the result.
      if (result === 'Warm.' || (reason === 'length' && 'Warm.'.startsWith(result))) recovered += 1;
    }
    expect(recovered).toBeGreaterThan(14);
  });
});

test('wraps a model, and speaks its way of calling tools', async () => {
  const script = scriptedModel([plan(['forecast', { city: 'Oslo', days: 1 }]), 'Cold.'], { toolCalling: 'json' });
  const { run, executed, model } = hostileRun({ seed: 2, model: script, rate: 0 });
  await expect(run).toEndWith('answer', 'Cold.');
  expect(executed).toEqual([{ city: 'Oslo', days: 1 }]);
  expect(model.requests[0]).toMatchObject({ toolCalling: 'json' });
});

test('each mistake is made by some seed, native or not', async () => {
  const made = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const { run, model } = hostileRun({ seed, rate: 1 }, { toolCalling: seed % 2 === 0 ? 'native' : 'json' });
    await run;
    for (const { mistake } of model.mistakesMade) made.add(mistake);
  }
  expect(made.size).toBe(23);
});

test('a mistake that it does not know is refused, with the list of those it does', () => {
  // @ts-expect-error -- No such mistake.
  expect(() => hostileModel({ seed: 1, mistakes: ['sabotage'] })).toThrow(/no mistake 'sabotage'.*broken-json/);
});
