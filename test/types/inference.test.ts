import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  type AgentOptions,
  type ExecuteContext,
  type Json,
  type JsonObject,
  type Run,
  type RunEvent,
  type ToolResult,
  type TypedTool,
  createAgent,
  tool,
} from '../../src/index.ts';
import { replay, scriptedModel, simulate, useRecording } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';

interface Session {
  readonly user: string;
}

const weather = tool({
  name: 'get_weather',
  description: 'Tells the weather.',
  inputSchema: z.object({ city: z.string(), days: z.number().optional() }),
  execute: async ({ city, days }) => ({ city, days, celsius: 31, at: new Date(0) }),
});
const clock = tool({
  name: 'get_time',
  description: 'Tells the time.',
  execute: (_args, { context }: ExecuteContext<Session>) => `noon, ${context.user}`,
});
const model = () => scriptedModel([calls(['get_weather', { city: 'Austin' }]), 'Warm.']);

const stock = tool({
  name: 'stock',
  description: 'Counts.',
  inputSchema: z.object({ item: z.string() }),
  execute: async ({ item }) =>
    item === ''
      ? { status: 'error', error: 'no item' }
      : { status: 'success', data: { item, left: 3 }, message: 'counted' },
});
const order = tool({
  name: 'order',
  description: 'Orders.',
  execute: (): ToolResult => ({ status: 'partial', data: [] }),
});
const exact = tool({
  name: 'exact',
  description: 'Says what it is.',
  execute: (_args, { callId }) =>
    callId === ''
      ? { status: 'error' as const, data: callId }
      : { status: 'partial' as const, data: [callId], page: 2 },
});
const shipment = tool({
  name: 'shipment',
  description: 'Has a status of its own.',
  execute: () => ({ status: 'shipped' as const, data: 4 }),
});
const parcel = tool({
  name: 'parcel',
  description: 'Follows a parcel.',
  execute: () => ({ status: 'shipped', days: 2 }),
});

describe('an agent whose tools are known', () => {
  test('types the calls in its events by their names', async () => {
    const agent = createAgent({ model: model(), tools: [weather, clock], silent: true });
    const run = agent.run('How warm is it?', { context: { user: 'Ada' } });
    const seen: unknown[] = [];
    for await (const event of run) {
      if (event.type === 'tool.started') {
        expectTypeOf(event.tool).toEqualTypeOf<'get_weather' | 'get_time'>();
        if (event.tool === 'get_weather') {
          expectTypeOf(event.args).toEqualTypeOf<{ readonly city: string; readonly days?: number }>();
          seen.push(event.args.city);
        }
        // @ts-expect-error -- there is no such tool
        if (event.tool === 'get_wether') break;
      }
      if (event.type === 'approval.requested') expectTypeOf(event.tool).toEqualTypeOf<'get_weather' | 'get_time'>();
      if (event.type === 'tool.finished') {
        if (!event.ok) expectTypeOf(event.tool).toBeString();
        else if (event.tool === 'get_weather') {
          type Data = { readonly city: string; readonly days?: number; readonly celsius: number; readonly at: string };
          expectTypeOf(event.result.data).toEqualTypeOf<Data | undefined>();
          seen.push(event.result.data?.at);
        } else expectTypeOf(event.result.data).toEqualTypeOf<string | undefined>();
      }
      if (event.type === 'tool.denied') expectTypeOf(event.tool).toBeString();
      if (event.type === 'step.started') expectTypeOf(event.step).toBeNumber();
    }
    expect(seen).toEqual(['Austin', '1970-01-01T00:00:00.000Z']);
    expectTypeOf(run.state.lastResult?.data).toEqualTypeOf<
      | string
      | { readonly city: string; readonly days?: number; readonly celsius: number; readonly at: string }
      | Json
      | undefined
    >();
  });

  test('types results that a tool gives in the format of results, as those that it gives bare', async () => {
    const agent = createAgent({
      model: scriptedModel([
        calls(['stock', { item: 'pen' }], ['order'], ['parcel'], ['exact'], ['shipment']),
        'Done.',
      ]),
      tools: [stock, order, parcel, exact, shipment],
      parallelToolCalls: false,
      silent: true,
    });
    const seen: unknown[] = [];
    for await (const event of agent.run('Go')) {
      if (event.type !== 'tool.finished' || !event.ok) continue;
      if (event.tool === 'stock') {
        expectTypeOf(event.result.data).toEqualTypeOf<{ readonly item: string; readonly left: number } | undefined>();
        expectTypeOf(event.result.status).toEqualTypeOf<'success' | 'partial'>();
        expectTypeOf(event.result.suggestion).toEqualTypeOf<string | undefined>();
        seen.push([event.result.data?.left, event.result.message]);
        // @ts-expect-error -- it gives no such member
        seen.push(event.result.data?.right);
      }
      if (event.tool === 'order') expectTypeOf(event.result).toEqualTypeOf<ToolResult>();
      if (event.tool === 'exact') {
        expectTypeOf(event.result.data).toEqualTypeOf<readonly string[] | undefined>();
        expectTypeOf(event.result.status).toEqualTypeOf<'partial'>();
        seen.push([event.result.data?.length, event.result.page]);
      }
      if (event.tool === 'shipment') {
        expectTypeOf(event.result).toEqualTypeOf<ToolResult>();
        seen.push(event.result.data);
      }
      if (event.tool === 'parcel') {
        expectTypeOf(event.result.data).toEqualTypeOf<Json | undefined>();
        seen.push(event.result.data);
      }
    }
    expect(seen).toEqual([
      [3, 'counted'],
      undefined,
      { status: 'shipped', days: 2 },
      [1, 2],
      { status: 'shipped', data: 4 },
    ]);
  });

  test('is an agent as any other, and its events are events', () => {
    const agent = createAgent({ model: model(), tools: [weather], silent: true });
    expectTypeOf(agent).toExtend<Agent>();
    type Seen = ReturnType<typeof agent.run> extends AsyncIterable<infer TEvent> ? TEvent : never;
    expectTypeOf<Seen>().toExtend<RunEvent>();
    const toolless = createAgent({ model: model(), silent: true });
    expectTypeOf<ReturnType<typeof toolless.run>>().toEqualTypeOf<Run>();
  });

  test('knows no names where tools come from elsewhere, too', () => {
    const agent = createAgent({ model: model(), tools: [weather], mcpServers: {}, silent: true });
    expectTypeOf<ReturnType<typeof agent.run>>().toEqualTypeOf<Run>();
  });
});

describe('a tool whose type is written out, as declarations by file want it,', () => {
  const add: TypedTool<'add', { a: number }, number> = tool({
    name: 'add',
    description: 'Adds.',
    inputSchema: z.object({ a: z.number() }),
    execute: ({ a }): number => a,
  });
  const greet: TypedTool<'greet', JsonObject, string, Session> = tool({
    name: 'greet',
    description: 'Greets.',
    execute: (_args, { context }: ExecuteContext<Session>): string => context.user,
  });

  test('needs no context, unless it says which', async () => {
    const agent = createAgent({ model: scriptedModel([calls(['add', { a: 1 }]), 'One.']), tools: [add], silent: true });
    const run = agent.run('Add');
    for await (const event of run)
      if (event.type === 'tool.finished' && event.ok && event.tool === 'add')
        expectTypeOf(event.result.data).toEqualTypeOf<number | undefined>();
    expect(await run).toMatchObject({ result: 'One.', toolsUsed: ['add'] });
    const both = createAgent({ model: model(), tools: [add, greet], silent: true });
    const told = (): unknown => both.run('Greet', { context: { user: 'Ada' } });
    // @ts-expect-error -- the context is missing
    const without = (): unknown => both.run('Greet');
    expect([told, without]).toHaveLength(2);
  });
});

describe('createAgent<Context>', () => {
  test('types the context in tools, confirm and instructions, and asks for it', async () => {
    const agent = createAgent<Session>({
      model: scriptedModel([calls(['greet']), 'Done.']),
      instructions: ({ context }) => {
        expectTypeOf(context).toEqualTypeOf<Session>();
        return `You serve ${context.user}.`;
      },
      confirm: ({ context }) => {
        expectTypeOf(context).toEqualTypeOf<Session | undefined>();
        return 'allow-once';
      },
      tools: [
        clock,
        weather,
        tool({
          name: 'greet',
          description: 'Greets.',
          policy: 'confirm',
          validateArgs: (_args, { context }) => {
            expectTypeOf(context).toEqualTypeOf<Session>();
          },
          execute: (_args, { context }) => {
            expectTypeOf(context).toEqualTypeOf<Session>();
            return `Hello ${context.user}`;
          },
        }),
      ],
      silent: true,
    });
    const run = agent.run('Greet', { context: { user: 'Ada' } });
    expect((await run).toolsUsed).toEqual(['greet']);
    expect(run.state.lastResult?.data).toBe('Hello Ada');
    expectTypeOf(run.state.lastResult).toEqualTypeOf<ToolResult | null>();
    // @ts-expect-error -- the context is missing
    const without = (): unknown => agent.run('Greet');
    // @ts-expect-error -- another context
    const wrong = (): unknown => agent.run('Greet', { context: { name: 'Ada' } });
    expect([without, wrong]).toHaveLength(2);
  });

  test('is recorded, replayed and simulated like any other', () => {
    const agent = createAgent<Session>({ model: model(), tools: [clock], silent: true });
    const context = { user: 'Ada' };
    const recorded = () => useRecording('none').run(agent, 'Greet', { context });
    expectTypeOf(recorded).returns.toEqualTypeOf<Run>();
    expectTypeOf(replay).toBeCallableWith('', agent, { context });
    expectTypeOf(simulate).toBeCallableWith(() => agent, { context });
    const wrapped = useRecording('none').wrap(agent);
    expectTypeOf(wrapped).toEqualTypeOf<typeof agent>();
    // @ts-expect-error -- the context is missing
    const without = (): unknown => wrapped.run('Greet');
    expect(without).toBeTypeOf('function');
  });

  test('refuses a tool that needs another context', () => {
    // @ts-expect-error -- clock wants to know the user
    createAgent<{ readonly id: number }>({ model: model(), tools: [clock], silent: true });
    expectTypeOf<typeof clock>().not.toExtend<AgentOptions<{ readonly id: number }>['tools']>();
  });
});

test('presets of models are known, and any other name is one', () => {
  expectTypeOf<'ollama' | 'ollama:qwen2.5:7b' | 'http://localhost:1234/v1'>().toExtend<AgentOptions['model']>();
});
