import { expect, test } from 'vitest';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import { isJsonObject } from '../../src/json/json.ts';
import { type View, canReach, explorePaths } from '../../src/testing/index.ts';
import { mutantAgent } from '../machines/mutants/mutant.ts';
import { asking, escalating, look, retrying } from '../machines/mutants/tools.ts';
import { SOAKING, cases } from '../support/soak.ts';

const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const other = { type: 'object', properties: { m: { type: 'string' } }, required: ['m'] };

/** Everything that can happen is for a soak; the suite explores so much of it, the shortest paths first. */
const bounds = SOAKING ? {} : { maxPaths: 100 };

test.each<[string, AgentOptions<unknown, OutputSchema>]>([
  ['beside tools', { tools: [look] }],
  ['beside a tool that asks, in three steps', { tools: [look, asking], maxSteps: 3 }],
  ['without tools', { maxSteps: 4 }],
  ['that code checks', { tools: [look], checkOutput: () => undefined }],
  ['in json mode', { tools: [look], toolCalling: 'json' }],
  ['in the text beside tools', { tools: [look], outputMode: 'prompt' }],
  ['held to its schema in the last turn', { tools: [look], outputMode: 'native' }],
  ['within a budget', { tools: [look], maxSteps: 3, budget: { maxToolCalls: 1, maxTokens: 9 } }],
  ['beside tools that recover', { tools: [escalating, retrying] }],
  ['in one step', { tools: [look], maxSteps: 1 }],
  ['that is a list', { tools: [look], outputSchema: { type: 'array', items: { type: 'integer' } } }],
  ['that is a union', { tools: [look], outputSchema: { anyOf: [outputSchema, other] } }],
])('an answer that has a schema breaks no law: %s', async (_, options) => {
  const found = await explorePaths(mutantAgent({ outputSchema, ...options }), bounds);
  expect(found.violations).toEqual([]);
  expect(found.paths.length).toBeGreaterThan(0);
  expect(found.states).toContain('agent: PLANNING.DELIVERING.CORRECTING');
  if (SOAKING) expect(found.exhaustive).toBe(true);
});

test('all that can come of an answer is reached', async () => {
  const agent = mutantAgent({ tools: [look], outputSchema, checkOutput: () => undefined, maxSteps: cases(3, 4) });
  const found = await explorePaths(agent, { maxPaths: cases(400, 2000) });
  const reasons = new Set(found.paths.map(({ reason }) => reason));
  for (const reason of ['answer', 'max-steps', 'output-invalid']) expect(reasons).toContain(reason);
  expect(found.states).toContain('agent: PLANNING.DELIVERING.CHECKING');
  const partial = ({ output }: View) =>
    isJsonObject(output) && output.reason === 'max-steps' && output.output !== undefined;
  expect(await canReach(agent, partial)).toBe(true);
});

test('an answer that code rejects beside a tool breaks no law where the prompt is made by code as well', async () => {
  const few = { maxSteps: 2, plans: false, retry: { maxAttempts: 1 } };
  const code = { checkOutput: () => undefined, instructions: () => 'You look.' };
  const found = await explorePaths(mutantAgent({ tools: [look], outputSchema, ...few, ...code }), { maxPaths: 300 });
  expect(found.violations).toEqual([]);
  expect(found.states).toContain('agent: PLANNING.COMPOSING');
});
