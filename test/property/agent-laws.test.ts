import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import type { RunResult } from '../../src/machines/contract/run-result.ts';
import type { ApprovalDecision } from '../../src/actors/ask-approval.ts';
import { type Script, type Witness, modelOf, scripts, toolsOf, unpaired } from './agent-scripts.ts';
import { cases, seedOr } from '../support/soak.ts';

const parameters = { seed: seedOr(20_240_607), numRuns: cases(100, 3000), endOnFailure: false } as const;

function agentOf({ replies, options, approvals }: Script, witness: Witness) {
  let asked = 0;
  return createAgent({
    ...options,
    model: modelOf(replies),
    tools: toolsOf(witness),
    permissions: { isAlwaysAllowed: () => false, add: () => undefined },
    confirm: ({ callId }) => {
      const answer = approvals[asked++ % approvals.length];
      if (answer === null) throw new Error('nobody there');
      if (answer === 'allow-once' || answer === 'always-allow') witness.allowed.add(callId);
      return isDecision(answer) ? answer : 'deny';
    },
    retry: { backoff: { kind: 'constant', ms: 0 } },
    silent: true,
  });
}

const isDecision = (answer: unknown): answer is ApprovalDecision =>
  answer === 'allow-once' || answer === 'always-allow';

const newWitness = (): Witness => ({ executed: [], allowed: new Set() });

function expectLawful({ options }: Script, result: RunResult, { executed, allowed }: Witness): void {
  const { maxSteps = 0, maxPlanIterations = 0 } = options;
  expect(typeof result.result).toBe('string');
  expect(result.states[0]).toBe('PLANNING');
  expect(result.states.at(-1)).toBe('COMPLETION');
  expect([result.success, result.reason === 'answer']).toEqual(Array(2).fill(result.status === 'answered'));
  expect(result.reason).not.toBe('thrown');
  expect(result.stepsTaken).toBeLessThanOrEqual(maxSteps);
  if (maxPlanIterations > 0) expect(result.planIterations).toBeLessThanOrEqual(maxPlanIterations);
  expect(unpaired(result.messages)).toEqual([]);
  if (options.toolCalling === 'json') expect(JSON.stringify(result.messages)).not.toMatch(/"toolCalls":|"role":"tool"/);
  expect(executed.filter(({ tool }) => tool === 'denied' || tool === 'off')).toEqual([]);
  expect(executed.filter(({ tool, callId }) => tool === 'asks' && !allowed.has(callId))).toEqual([]);
  const fits = (args: object): boolean => Number.isInteger(Reflect.get(args, 'n'));
  expect(executed.filter(({ tool, args }) => tool === 'strict' && !fits(args))).toEqual([]);
  expect(new Set(executed.map(({ callId }) => callId)).size).toBe(executed.length);
  expect(new Set(result.toolsUsed)).toEqual(new Set(executed.map(({ tool }) => tool)));
  expect(result.toolsUsed.length).toBe(new Set(result.toolsUsed).size);
}

test('whatever a model says and tools do, a run ends, keeps its limits, runs nothing it may not, and replays', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      const witness = newWitness();
      const agent = agentOf(script, witness);
      const run = agent.run('Do something');
      const result = await run;
      expectLawful(script, result, witness);

      const second = newWitness();
      const again = replay(run.recording(), agentOf(script, second));
      expect({ ...(await again), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
      expect(again.transitions()).toEqual(run.transitions());
      expect(transitions(run.recording())).toEqual(run.transitions());
      expect(second.executed).toEqual([]);
    }),
    parameters,
  );
});

test('several runs of one agent leave a history that is paired and no longer than it may be', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      const agent = agentOf(script, newWitness());
      const { maxHistoryMessages = 0 } = script.options;
      for (const task of ['One', 'Two', 'Three']) {
        await agent.run(task);
        expect(unpaired(agent.history)).toEqual([]);
        if (maxHistoryMessages > 0) expect(agent.history.length).toBeLessThanOrEqual(maxHistoryMessages);
      }
    }),
    { ...parameters, numRuns: cases(40, 2000) },
  );
});

test('a run that is cancelled at any moment ends as cancelled or had ended before, and replays', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, fc.nat({ max: 120 }), async (script, moment) => {
      const run = agentOf(script, newWitness()).run('Do something');
      for (let turn = 0; turn < moment; turn++) await Promise.resolve();
      const took = await run.cancel('enough');
      const result = await run;
      expect(result.status === 'cancelled').toBe(took);
      expect(unpaired(result.messages)).toEqual([]);
      expect(result.states.at(-1)).toBe('COMPLETION');
      const again = replay(run.recording(), agentOf(script, newWitness()));
      expect({ ...(await again), durationMs: 0 }).toEqual({ ...result, durationMs: 0 });
      expect(again.transitions()).toEqual(run.transitions());
    }),
    { ...parameters, numRuns: cases(60, 2000) },
  );
});
