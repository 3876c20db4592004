import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const SUM = z.object({ lines: z.array(z.number()), total: z.number() });
const RIGHT = { lines: [1, 2], total: 3 };
const OFF = { lines: [1, 2], total: 4 };

/** Options of an agent whose answer may have a schema. */
type AnyOptions = AgentOptions<unknown, OutputSchema | undefined>;

const text = (value: unknown) => JSON.stringify(value);

test('checkOutput sees the value, the context and a signal; what it throws is a correction', async () => {
  const seen: unknown[] = [];
  const model = scriptedModel([text(OFF), text(RIGHT)]);
  const agent = createAgent({
    model,
    silent: true,
    outputSchema: SUM,
    checkOutput: async ({ lines, total }, { signal, context }) => {
      await Promise.resolve();
      seen.push([total, signal.aborted, context]);
      if (lines.reduce((sum, line) => sum + line, 0) !== total) throw new Error('the lines do not add up to the total');
    },
  });
  const run = agent.run('Add', { context: { user: 7 } });
  expect(await run).toMatchObject({
    success: true,
    output: RIGHT,
    errorHistory: [{ code: 'output-invalid', message: expect.stringContaining('do not add up') }],
  });
  expect(seen).toEqual([
    [4, false, { user: 7 }],
    [3, false, { user: 7 }],
  ]);
  expect(model.requests[1]?.messages.at(-1)?.content).toContain('the lines do not add up');
  const checks = run
    .recording()
    .split('\n')
    .filter((line) => line.includes('"checkOutput"'));
  expect(checks).toHaveLength(2);
});

test('one that always throws ends the run as output-invalid with what it threw, and no value', async () => {
  const agent = createAgent({
    model: scriptedModel([text(OFF), text(OFF), text(OFF)]),
    silent: true,
    outputSchema: SUM,
    checkOutput: () => {
      throw new Error('never good enough');
    },
  });
  expect(await agent.run('Add')).toMatchObject({
    status: 'failed',
    reason: 'output-invalid',
    output: null,
    error: { message: expect.stringContaining('never good enough') },
  });
});

test('it is not asked about a value that does not fit the schema', async () => {
  let asked = 0;
  const agent = createAgent({
    model: scriptedModel(['{"lines": "none"}', text(RIGHT)]),
    silent: true,
    outputSchema: SUM,
    checkOutput: () => void asked++,
  });
  expect((await agent.run('Add')).output).toEqual(RIGHT);
  expect(asked).toBe(1);
});

test('one that takes too long is aborted and ends the run', async () => {
  const aborted = Promise.withResolvers<unknown>();
  const agent = createAgent({
    model: scriptedModel([text(RIGHT)]),
    silent: true,
    outputSchema: SUM,
    timeouts: { toolMs: 20 },
    checkOutput: (_, { signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      }),
  });
  expect(await agent.run('Add')).toMatchObject({
    status: 'failed',
    reason: 'output-invalid',
    output: null,
    error: { code: 'timeout' },
  });
  expect(await aborted.promise).toBeDefined();
});

test('cancelling the run aborts it, and leaves no value', async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const agent = createAgent({
    model: scriptedModel([text(RIGHT)]),
    silent: true,
    outputSchema: SUM,
    checkOutput: (_, { signal }) => {
      begun.resolve(signal);
      return new Promise(() => undefined);
    },
  });
  const run = agent.run('Add');
  const signal = await begun.promise;
  await run.cancel('enough');
  expect(await run).toMatchObject({ status: 'cancelled', output: null });
  expect(signal.aborted).toBe(true);
});

test('what a check does to the value it was given changes nothing', async () => {
  const agent = createAgent({
    model: scriptedModel([text(RIGHT)]),
    silent: true,
    outputSchema: { type: 'object' },
    checkOutput: (value) => void Object.assign(Object(value), { total: 0 }),
  });
  const result = await agent.run('Add');
  expect(JSON.parse(result.result)).toEqual(RIGHT);
});

describe("the schema's own code", () => {
  test('refinements are corrections by path', async () => {
    const schema = z.object({ even: z.int().refine((n) => n % 2 === 0, 'must be even') });
    const model = scriptedModel(['{"even": 3}', '{"even": 4}']);
    const result = await createAgent({ model, silent: true, outputSchema: schema }).run('Go');
    expect(result).toMatchObject({ output: { even: 4 }, errorHistory: [{ message: '- /even: must be even' }] });
  });

  test('what it makes of the answer is the output; the text stays the text', async () => {
    const schema = z.object({ name: z.string().trim(), size: z.int().default(1) });
    const model = scriptedModel(['{"name": " cup "}']);
    const result = await createAgent({ model, silent: true, outputSchema: schema }).run('Go');
    expect(result.output).toEqual({ name: 'cup', size: 1 });
    expect(result.result).toBe('{"name": " cup "}');
  });

  test.each<[string, OutputSchema]>([
    ['a Map', z.object({ a: z.int() }).transform((value) => new Map(Object.entries(value)))],
    ['a Date', z.object({ a: z.int() }).transform(({ a }) => ({ at: new Date(a) }))],
    ['nothing', z.object({ a: z.int() }).transform(() => undefined)],
    ['a bigint', z.object({ a: z.int() }).transform(({ a }) => BigInt(a))],
    ['NaN', z.object({ a: z.int() }).transform(() => NaN)],
  ])('one that makes %s of it ends the run: a recording could not give it back', async (_, outputSchema) => {
    const model = scriptedModel(['{"a": 1}']);
    expect(await createAgent({ model, silent: true, outputSchema }).run('Go')).toMatchObject({
      reason: 'output-invalid',
      output: null,
      error: { code: 'output-not-json' },
    });
  });
});

describe('options that cannot work are refused at once', () => {
  const standard = (vendor: string): OutputSchema => ({
    '~standard': { version: 1, vendor, validate: (value: unknown) => ({ value }) },
  });
  test.each<[string, AnyOptions, RegExp]>([
    [
      'the shape of an object',
      { outputSchema: JSON.parse('{}', () => ({ city: z.string() })) },
      /outputSchema.*'city' is a schema of zod/,
    ],
    ['a Standard Schema without JSON Schema', { outputSchema: standard('valibot') }, /valibot.*gives no JSON Schema/],
    ['one that cannot be written', { outputSchema: z.object({ at: z.date() }) }, /cannot be written as JSON Schema/],
    ['a schema that is none', { outputSchema: { type: 'objekt' } }, /not a valid JSON Schema/],
    ['a mode that is none', { outputSchema: SUM, outputMode: 'json' as 'tool' }, /outputMode/],
    ['checkOutput without a schema', { checkOutput: () => undefined }, /checkOutput.*outputSchema/],
  ])('%s', (_, options, message) => {
    expect(() => createAgent({ model: scriptedModel([]), silent: true, ...options })).toThrow(message);
  });

  test('also those of one run', () => {
    const agent = createAgent({ model: scriptedModel([]), silent: true });
    expect(() => agent.run('Go', { outputSchema: standard('valibot') })).toThrow(/agent\.run.*valibot/);
  });
});

describe('a schema for one run', () => {
  const CITY = z.object({ city: z.string().refine((name) => name !== 'Nowhere', 'is no city') });

  test('stands in for the one of the agent, for that run alone, with its own code', async () => {
    const checked: unknown[] = [];
    const model = scriptedModel([text({ city: 'Nowhere' }), text({ city: 'Rome' }), text(RIGHT)]);
    const agent = createAgent({
      model,
      silent: true,
      outputSchema: SUM,
      checkOutput: (value) => void checked.push(value),
    });
    expect(await agent.run('Where?', { outputSchema: CITY })).toMatchObject({
      output: { city: 'Rome' },
      errorHistory: [{ message: '- /city: is no city' }],
    });
    expect(checked).toEqual([]);
    expect((await agent.run('Add')).output).toEqual(RIGHT);
    expect(checked).toEqual([RIGHT]);
  });

  test('has a check and a mode of its own', async () => {
    const model = scriptedModel([
      calls(['final_answer', { city: 'Oslo' }]),
      calls(['final_answer', { city: 'Rome' }]),
      text(RIGHT),
    ]);
    const agent = createAgent({ model, silent: true, outputSchema: SUM });
    const seen: unknown[] = [];
    const result = await agent.run('Where?', {
      outputSchema: CITY,
      outputMode: 'tool',
      context: 7,
      checkOutput: ({ city }, { context }) => {
        seen.push([city, context]);
        if (city === 'Oslo') throw new Error('too far north');
      },
    });
    expect(result).toMatchObject({
      output: { city: 'Rome' },
      errorHistory: [{ message: expect.stringContaining('too far north') }],
    });
    expect(seen).toEqual([
      ['Oslo', 7],
      ['Rome', 7],
    ]);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['final_answer']);
    expect((await agent.run('Add')).output).toEqual(RIGHT);
    expect(model.requests[2]?.tools ?? []).toEqual([]);
  });

  test.each<[object, RegExp]>([
    [{ outputMode: 'tool' }, /'outputMode': it needs 'outputSchema'/],
    [{ checkOutput: () => undefined }, /'checkOutput': it needs 'outputSchema'/],
    [{ outputSchema: CITY, outputMode: 'json' }, /'outputMode': must be one of auto, tool, native, prompt/],
    [{ outputSchema: CITY, checkOutput: 'yes' }, /'checkOutput': must be a function/],
  ])('%j is refused', (options, problem) => {
    const agent = createAgent({ model: scriptedModel([]), silent: true, outputSchema: SUM });
    expect(() => Reflect.apply(agent.run, agent, ['Go', options])).toThrow(problem);
  });

  test('leaves the agents below their own schema and its code', async () => {
    const replies: ScriptedReply[] = [text({ even: 3 }), text({ even: 4 })];
    const child = createAgent({
      name: 'counter',
      description: 'Counts.',
      model: scriptedModel(replies),
      silent: true,
      outputSchema: z.object({ even: z.int().refine((n) => n % 2 === 0, 'must be even') }),
    });
    const model = scriptedModel([calls(['counter', { task: 'Count' }]), text({ city: 'Rome' })]);
    const agent = createAgent({ model, silent: true, children: [child] });
    expect(await agent.run('Go', { outputSchema: CITY })).toMatchObject({ output: { city: 'Rome' } });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('"even":4');
  });
});

describe('child agents', () => {
  const child = (replies: readonly ScriptedReply[], options: AgentOptions = {}) =>
    createAgent({
      name: 'finder',
      description: 'Finds.',
      model: scriptedModel(replies),
      silent: true,
      outputSchema: z.object({ found: z.array(z.string()) }),
      ...options,
    });

  test('give their output to the parent as data, not as text', async () => {
    const model = scriptedModel([calls(['finder', { task: 'Find' }]), calls(['final_answer', RIGHT])]);
    const below = child(['```json\n{found: ["tea"]}\n```']);
    const agent = createAgent({ model, silent: true, children: [below], outputSchema: SUM });
    const run = agent.run('Go');
    const results: unknown[] = [];
    for await (const event of run) if (event.type === 'tool.finished') results.push(event.result);
    expect(results).toMatchObject([{ status: 'success', data: { found: ['tea'] } }]);
    expect(await run).toMatchObject({ success: true, output: RIGHT, toolsUsed: ['finder'] });
  });

  test('that stop at their limit give what they have; that fail give no output', async () => {
    const look = fakeTool('look', [{}]);
    const parent = (below: ReturnType<typeof child>) => {
      const model = scriptedModel([calls(['finder', { task: 'Find' }]), 'Done.', 'Done.']);
      return { model, agent: createAgent({ model, silent: true, children: [below] }) };
    };
    const stopping = child([calls(['look']), calls(['final_answer', { found: ['half'] }])], {
      tools: [look],
      maxSteps: 2,
    });
    const stopped = parent(stopping);
    await stopped.agent.run('Go');
    expect(stopped.model.requests[1]?.messages.at(-1)?.content).toMatch(/half/);
    const failing = parent(child(['no', 'no', 'no']));
    const run = failing.agent.run('Go');
    const statuses: string[] = [];
    for await (const event of run) if (event.type === 'tool.finished') statuses.push(event.result.status);
    expect(statuses).toEqual(['error']);
    expect(await run).toMatchObject({ result: 'Done.' });
  });
});
