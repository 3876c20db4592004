import { describe, expect, test } from 'vitest';
import { type AgentOptions, createAgent, recover, tool } from '../../src/index.ts';
import { type CheckedRun, simulate } from '../../src/testing/index.ts';
import { cases, seedOr } from '../support/soak.ts';
import { generatedAgent } from './generated-agents.ts';
import { oddAgent } from './odd-agents.ts';
import { routedAgent } from './routed-agents.ts';
import { variedAgent } from './varied-agents.ts';

const first = seedOr(1);

describe('twenty agents of chance keep their laws under all faults', () => {
  test.each(Array.from({ length: 20 }, (_, index) => index))('agent %i', async (number) => {
    const { agent, options } = generatedAgent(number);
    const seeds = Array.from({ length: cases(number % 4 === 3 ? 5 : 10, 50_000) }, (_, index) => first + index);
    const { failures, runs } = await simulate(agent, { ...options, seeds });
    expect(failures.map(({ seed, check, reason, drawn }) => ({ seed, check, reason, drawn }))).toEqual([]);
    expect(runs).toBe(seeds.length);
  });
});

describe('agents of everything that options can say keep their laws under all faults', () => {
  test.each(Array.from({ length: 12 }, (_, index) => index))('agent %i', async (number) => {
    const { agent, options } = variedAgent(number);
    const seeds = Array.from({ length: cases(3, 5000) }, (_, index) => first + index);
    const { failures } = await simulate(agent, { ...options, seeds });
    expect(failures.map(({ seed, check, reason, drawn }) => ({ seed, check, reason, drawn }))).toEqual([]);
  });
});

describe.each([
  ['agents whose functions do all that they can', oddAgent],
  ['agents of several models that hand errors on to each other', routedAgent],
])('%s keep their laws under all faults', (_what, agentOf) => {
  test.each(Array.from({ length: 12 }, (_, index) => index))('agent %i', async (number) => {
    const { agent, options } = agentOf(number);
    const seeds = Array.from({ length: cases(3, 5000) }, (_, index) => first + index);
    const { failures } = await simulate(agent, { ...options, seeds });
    // Whoever ignores that it is told to stop leaves its timer behind, and is told so.
    const others = failures.filter(({ check }) => check !== 'left behind');
    expect(others.map(({ seed, check, reason, drawn }) => ({ seed, check, reason, drawn }))).toEqual([]);
  });
});

describe('what is right is no failure', () => {
  test.each([
    ['a call repeated with an argument that its schema does not know', generatedAgent, 93, 5018],
    ['a person whose time is over in one order of things alone', generatedAgent, 328, 5036],
    ['a call that fits into the budget once its server is there again', generatedAgent, 367, 5008],
    ['a repair agent that works before anybody is asked about the call', variedAgent, 23, 16],
    ['a last turn that was announced when the time of the run was over', variedAgent, 31, 3],
    ['a model that says something else when it is asked again', variedAgent, 88, 5],
    ['a repair agent for which no tokens are left', variedAgent, 104, 17],
    ['a plan by whose proposal the tokens are spent', variedAgent, 5364, 1],
    ['a call of a server that may be sent again', variedAgent, 8, 13],
    ['unusable replies with answers between them that do not fit their schema', variedAgent, 1587, 15],
    ['a repair agent that runs into its time limit', variedAgent, 2492, 8],
    ['a child whose first call has ended when the run is given up, and whose second has not', variedAgent, 119, 10],
    ['a verdict of code that counts how often it was asked', generatedAgent, 60_132, 1_871_103],
    ['a person whose time is over while no process has the run', variedAgent, 50_007, 1_557_222],
    [
      'a long conversation whose result of 410 characters is not shorter when it was cut',
      variedAgent,
      50_000,
      1_557_022,
    ],
    ['tokens beyond what a number holds exactly', oddAgent, 168, 36674994179],
    ['a model that alone takes the image of the user, asked again', routedAgent, 22, 7691],
    ['a model that takes no image, passed over', routedAgent, 19, 7590],
    ['a conversation that is shortened for the last of several models', routedAgent, 103, 10_205],
    ['arguments that a repair agent has mended, checked again', routedAgent, 198, 13_147],
    ['arguments that a repair agent has mended, asked about again', routedAgent, 13_505, 425_658],
    ['an agent below that was handed the run, at its step limit', routedAgent, 276, 15_561],
    ['a tool of an agent below with the name of one that was removed', routedAgent, 339, 17_512],
    [
      'a tool of an agent that was handed the run, with the name of one that was switched off',
      routedAgent,
      597,
      25_507,
    ],
  ])('%s', async (_what, agentOf, number, seed) => {
    const { agent, options } = agentOf(number);
    expect((await simulate(agent, { ...options, seeds: [seed] })).failures).toEqual([]);
  });

  const act = (polling: boolean) =>
    tool({
      name: 'act',
      description: 'Acts.',
      polling,
      execute: () => new Promise((resolve) => setTimeout(resolve, 50)),
    });
  const calls = (count: number) => ({ content: '', toolCalls: Array.from({ length: count }, () => ({ name: 'act' })) });

  test.each([
    [
      'a tool that is polled and then removed',
      true,
      [calls(1), calls(1), calls(1), calls(1), calls(1), calls(1), 'Done.'],
      {},
    ],
    [
      'a run that is given up while a call is refused as a loop',
      false,
      [calls(2), 'Done.'],
      { 'outside.abandon': 0.3 },
    ],
  ])('%s', async (_what, polling, model, faults) => {
    const agent = (options: AgentOptions) =>
      createAgent({ tools: [act(polling)], maxConsecutiveRepeats: polling ? 4 : 2, ...options });
    const { failures } = await simulate(agent, { seeds: 60, recheck: 1, model, faults });
    expect(failures).toEqual([]);
  });

  test('an agent that was handed the run and ends it as a loop', async () => {
    const breaks = tool({
      name: 'break',
      description: 'Breaks.',
      onError: { executionError: [recover.escalate()] },
      execute: () => Promise.reject(new Error('broken')),
    });
    const agent = ({ model = [], ...options }: AgentOptions) =>
      createAgent({
        tools: [breaks],
        children: [
          createAgent({ name: 'below', description: 'Helps.', tools: [act(false)], maxConsecutiveRepeats: 2, model }),
        ],
        onEscalation: (_error, to) => to.reroute('below'),
        model,
        ...options,
      });
    const model = [{ content: '', toolCalls: [{ name: 'break' }] }, calls(1), calls(1), 'Done.'];
    const reasons = new Set<string>();
    const check = ({ result }: CheckedRun) => reasons.add(result.reason).size > 0;
    const { failures } = await simulate(agent, { seeds: 5, recheck: 1, faults: [], model, check });
    expect(failures).toEqual([]);
    expect([...reasons]).toEqual(['loop']);
  });
});
