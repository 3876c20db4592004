import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent, recover, skill, tool } from '../../src/index.ts';
import { type SimulateOptions, type SimulatedAgent, simulate } from '../../src/testing/index.ts';

const act = (more: Partial<Parameters<typeof tool>[0]> = {}) =>
  tool({ name: 'act', description: 'Acts.', effects: 'none', execute: () => 'done', ...more });
const call = { content: '', toolCalls: [{ name: 'act' }] };
const tooSlow = () => new Promise<string>((resolve) => setTimeout(resolve, 20, 'Be kind.'));
const adds = (args: unknown) => ({ ...Object(args), at: 1 });
const acting = skill({
  name: 'acting',
  instructions: 'Act.',
  tools: [act({ execute: () => Promise.reject(new Error('not today')) })],
  onError: { executionError: [recover.retry({ maxAttempts: 2 })] },
});

/** What agents may do, and how they are simulated. */
const RIGHT: readonly (readonly [string, (own: AgentOptions) => SimulatedAgent, SimulateOptions])[] = [
  [
    'what a model streams is recorded',
    (own) => createAgent({ streaming: true, recordTokens: true, ...own }),
    { faults: [] },
  ],
  [
    'code that checks an answer makes another type of it',
    (own) => createAgent({ ...own, outputSchema: z.string().transform((text) => text.length), outputMode: 'prompt' }),
    { model: ['"four"'], faults: [] },
  ],
  [
    'nothing may be tried again, and a server takes no tools',
    (own) => createAgent({ tools: [act()], retry: { retryable: () => false }, ...own }),
    { faults: { 'model.malformed': 0.5 } },
  ],
  [
    'a check of arguments adds what their schema does not know',
    (own) =>
      createAgent({
        tools: [act({ inputSchema: z.strictObject({}), policy: 'confirm', validateArgs: adds })],
        ...own,
      }),
    { model: [call, 'Done.'], faults: [] },
  ],
  [
    'a call in JSON is also what the schema of the answer allows',
    (own) =>
      createAgent({
        tools: [act()],
        toolCalling: 'json',
        ...own,
        outputSchema: z.object({ n: z.number().optional() }),
        checkOutput: () => undefined,
      }),
    { model: ['{"tool":"act","tool_args":{}}', '{"answer":{"n":1}}'], faults: [] },
  ],
  [
    'somebody interrupts the turn that is kept for the answer',
    (own) =>
      createAgent({ tools: [act()], budget: { maxTokens: 1 }, ...own, outputSchema: z.object({ n: z.number() }) }),
    { faults: { 'person.steer': 0.5 } },
  ],
  [
    'a prompt takes too long',
    (own) => createAgent({ instructions: tooSlow, timeouts: { toolMs: 1 }, ...own }),
    { faults: [] },
  ],
  [
    'a tool of a skill is removed while its call is tried again',
    (own) => createAgent({ skills: [acting], ...own }),
    { model: [call, call, 'Done.'], faults: { 'outside.tools': 0.5 } },
  ],
];

test.each(RIGHT)('no failure: %s', async (_what, agent, options) => {
  const { failures, runs } = await simulate(agent, { seeds: 40, recheck: 1, ...options });
  expect(failures.map(({ seed, check, reason, drawn }) => ({ seed, check, reason, drawn }))).toEqual([]);
  expect(runs).toBe(40);
});
