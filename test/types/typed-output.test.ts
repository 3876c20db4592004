import { createActor } from 'xstate';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  type Json,
  type Run,
  type RunEvent,
  type RunResult,
  type ToolResult,
  createAgent,
  tool,
} from '../../src/index.ts';
import { fork, replay } from '../../src/journal/index.ts';
import { toResponse } from '../../src/inspector/index.ts';
import {
  assertEndsWith,
  assertOutput,
  explorePaths,
  scriptedModel,
  simulate,
  useRecording,
} from '../../src/testing/index.ts';

const BOOK = z.object({ title: z.string(), pages: z.int().optional(), year: z.string().transform(Number) });
type Book = z.infer<typeof BOOK>;
const reply = '{"title": "Dune", "year": "1965"}';
const base = () => ({ model: scriptedModel([reply, reply, reply]), silent: true }) as const;
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

describe('the type of an output', () => {
  test('is what the schema makes of the answer, or null', async () => {
    const agent = createAgent({ ...base(), outputSchema: BOOK });
    const result = await agent.run('Which?');
    expectTypeOf(result).toEqualTypeOf<RunResult<Book>>();
    expectTypeOf(result.output).toEqualTypeOf<Book | null>();
    expectTypeOf(result.output?.year).toEqualTypeOf<number | undefined>();
    expectTypeOf(result.result).toBeString();
    expectTypeOf(agent.run('Which?').orThrow).returns.resolves.toEqualTypeOf<Book>();
    // @ts-expect-error -- it may have stopped
    expectTypeOf(result.output.title).toBeString();
  });

  test('is unknown of agents of which any may be meant; with a type of the context, its own is said as well', async () => {
    interface Session {
      readonly user: string;
    }
    const own = createAgent<Session, typeof BOOK>({ ...base(), outputSchema: BOOK });
    expectTypeOf((await own.run('Which?', { context: { user: 'ada' } })).output).toEqualTypeOf<Book | null>();
    const agents = { typed: createAgent({ ...base(), outputSchema: BOOK }), plain: createAgent(base()) };
    for (const agent of Object.values<Agent<unknown, Run<RunEvent, ToolResult, unknown>>>(agents)) {
      const run = agent.run('Which?');
      expectTypeOf((await run).output).toBeUnknown();
      expectTypeOf((await replay(run.recording(), agent)).output).toBeUnknown();
    }
  });

  test('is there if the run is a success, or answered', async () => {
    const agent = createAgent({ ...base(), outputSchema: BOOK });
    const result = await agent.run('Which?');
    if (result.success) expectTypeOf(result.output).toEqualTypeOf<Book>();
    else expectTypeOf(result.output).toEqualTypeOf<Book | null>();
    if (!result.success) expectTypeOf(result.status).toEqualTypeOf<'stopped' | 'failed' | 'cancelled' | 'waiting'>();
    const { status, output } = await agent.conversation('ada').run('Which?');
    if (status === 'answered') expectTypeOf(output).toEqualTypeOf<Book>();
    for await (const event of agent.run('Which?'))
      if (event.type === 'run.finished' && event.result.success) expectTypeOf(event.result.output).toBeUnknown();
    if ((await createAgent(base()).run('Which?')).success) expectTypeOf<RunResult['output']>().toEqualTypeOf<null>();
  });

  test('without a schema is null, and orThrow gives the text', async () => {
    const agent = createAgent(base());
    expectTypeOf(agent).toEqualTypeOf<Agent>();
    expectTypeOf((await agent.run('Which?')).output).toEqualTypeOf<null>();
    expectTypeOf(agent.run('Which?').orThrow).returns.resolves.toBeString();
  });

  test('stands beside known tools, children and a context', async () => {
    const agent = createAgent({ ...base(), tools: [look], outputSchema: BOOK });
    const run = agent.run('Which?');
    expectTypeOf((await run).output).toEqualTypeOf<Book | null>();
    for await (const event of run) if (event.type === 'tool.started') expectTypeOf(event.tool).toEqualTypeOf<'look'>();
    const parent = createAgent({ ...base(), children: [agent], outputSchema: z.array(z.int()) });
    expectTypeOf(parent.run('Go').orThrow).returns.resolves.toEqualTypeOf<number[]>();
  });

  test('of a union is the union, of a JSON Schema is JSON, of a nullable may be null', async () => {
    const union = createAgent({ ...base(), outputSchema: z.union([z.object({ a: z.int() }), z.string()]) });
    expectTypeOf(union.run('Go').orThrow).returns.resolves.toEqualTypeOf<string | { a: number }>();
    const json = createAgent({ ...base(), outputSchema: { type: 'object' } });
    expectTypeOf(json.run('Go').orThrow).returns.resolves.toEqualTypeOf<Json>();
    const nullable = createAgent({ ...base(), outputSchema: z.string().nullable() });
    expectTypeOf((await nullable.run('Go')).output).toEqualTypeOf<string | null>();
  });

  test('of one run is that of its own schema', async () => {
    const agent = createAgent({ ...base(), outputSchema: BOOK });
    const run = agent.run('Which?', { outputSchema: z.object({ title: z.string() }) });
    expectTypeOf((await run).output).toEqualTypeOf<{ title: string } | null>();
    const plain = createAgent({ ...base(), tools: [look] }).run('Which?', { outputSchema: BOOK, maxSteps: 3 });
    expectTypeOf(plain.orThrow).returns.resolves.toEqualTypeOf<Book>();
    for await (const event of plain)
      if (event.type === 'tool.started') expectTypeOf(event.tool).toEqualTypeOf<'look'>();
  });

  test('is what checkOutput gets', () => {
    createAgent({
      ...base(),
      outputSchema: BOOK,
      checkOutput: (value, { signal, context }) => {
        expectTypeOf(value).toEqualTypeOf<Book>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(context).toBeUnknown();
      },
    });
    createAgent({ ...base(), tools: [look], outputSchema: BOOK, checkOutput: ({ title }) => void title.length });
  });

  test('is kept by resume, replay, fork and agent.logic', async () => {
    const agent = createAgent({ ...base(), outputSchema: BOOK });
    const run = agent.run('Which?');
    await run;
    expectTypeOf(agent.resume).returns.resolves.toEqualTypeOf<RunResult<Book>>();
    expectTypeOf((await replay(run.recording(), agent)).output).toEqualTypeOf<Book | null>();
    expectTypeOf(fork<typeof run>).returns.toEqualTypeOf<typeof run>();
    expectTypeOf(createActor(agent.logic, { input: { task: 'Which?' } }).getSnapshot().output?.output).toEqualTypeOf<
      Book | null | undefined
    >();
  });
});

test('runs and agents with an output go where others go', async () => {
  const agent = createAgent({ ...base(), tools: [look], outputSchema: BOOK });
  const run = agent.run('Which?');
  await assertEndsWith(run, 'answer');
  await assertOutput(run, { title: 'Dune' });
  expectTypeOf(toResponse).toBeCallableWith(run);
  expectTypeOf(explorePaths).toBeCallableWith(agent);
  expectTypeOf(simulate).toBeCallableWith(() => agent);
  expectTypeOf(useRecording('none').run).toBeCallableWith(agent, 'Which?');
});
