import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { SimulatedClock } from 'xstate';
import { expect, test } from 'vitest';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { LinkFault } from '../../src/mcp/wire/faults.ts';
import { type ScriptedWorld, scriptedWorld } from '../support/mcp/scripted-dial.ts';
import { cases, seedOr } from '../support/soak.ts';

const CALLS = ['read', 'put', 'act', 'pay'] as const;
const OUTCOMES: readonly string[] = [
  'ok',
  'not-connected',
  'lost-before-send',
  'unknown-outcome',
  'timeout',
  'cancelled',
  'protocol-error',
  'auth-required',
  'spawn-failed',
];

type Step =
  | { readonly do: 'call'; readonly tool: (typeof CALLS)[number]; readonly timeoutMs: number }
  | { readonly do: 'answer' | 'answer-twice' | 'cancel' | 'doubt' | 'change-tools' | 'stop' | 'connect' | 'late' }
  | {
      readonly do: 'break';
      readonly delivered: boolean;
      readonly kind: 'exited' | 'unreachable' | 'session' | 'refused';
    }
  | { readonly do: 'die' }
  | { readonly do: 'refuse'; readonly kind: 'unreachable' | 'auth' | 'not-found' | null }
  | { readonly do: 'wait'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      tool: fc.constantFrom(...CALLS),
      timeoutMs: fc.constantFrom(50, 5000, 100_000),
    }),
  },
  { weight: 5, arbitrary: fc.constantFrom<Step[]>({ do: 'answer' }, { do: 'answer-twice' }, { do: 'late' }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Step[]>({ do: 'cancel' }, { do: 'doubt' }, { do: 'change-tools' }, { do: 'connect' }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'stop' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('break' as const),
      delivered: fc.boolean(),
      kind: fc.constantFrom('exited' as const, 'unreachable' as const, 'session' as const, 'refused' as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'die' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('refuse' as const),
      kind: fc.constantFrom('unreachable' as const, 'auth' as const, 'not-found' as const, null),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 100, 1000, 10_000) }) },
);

/** Ticks after a step: none, too few to come to rest, enough. */
const ticks = fc.constantFrom(0, 1, 3, 12);
type Paced = readonly [step: Step, ticks: number];

/** Lets what was set in motion go on, with 12 ticks until it comes to rest. */
async function rest(count = 12): Promise<void> {
  for (let at = 0; at < count; at += 1) await nextTick();
}

async function live(steps: readonly Paced[], retryAfterLoss: 'safe' | 'unless-destructive') {
  const clock = new SimulatedClock();
  const world = scriptedWorld();
  const connection = createMcpConnection(
    's',
    { command: 'x', retryAfterLoss },
    { dial: world.dial, clock, seed: seedOr(3) },
  );
  const settled: string[][] = [];
  const controllers: AbortController[] = [];
  const tools: string[] = [];
  const past: ScriptedWorld['arrived'] = [];
  const refused = new Set<ScriptedWorld['arrived'][number]>();

  const call = (tool: string, timeoutMs: number): void => {
    const controller = new AbortController();
    const outcomes: string[] = [];
    const made = connection.callTool(tool, { call: tools.length }, { signal: controller.signal, timeoutMs });
    void made.then(({ status, code }) =>
      outcomes.push(status === 'success' ? 'ok' : typeof code === 'string' ? code : 'no code'),
    );
    settled.push(outcomes);
    controllers.push(controller);
    tools.push(tool);
  };
  const take = (): ScriptedWorld['arrived'][number] | undefined => {
    const request = world.arrived.shift();
    if (request !== undefined) past.push(request);
    return request;
  };
  const act = (now: Step): unknown => {
    switch (now.do) {
      case 'call':
        return call(now.tool, now.timeoutMs);
      case 'answer':
        return take()?.answer();
      case 'answer-twice': {
        const request = take();
        request?.answer();
        return request?.answer();
      }
      case 'late':
        return past[0]?.answer();
      case 'break': {
        const request = take();
        if (request !== undefined && !now.delivered) refused.add(request);
        const { kind, delivered } = now;
        return request?.fail(new LinkFault(kind, 'broken by the test', { delivered, data: { status: 400 } }));
      }
      case 'die':
        return world.open()[0]?.onDown(new LinkFault('exited', 'died', { delivered: true }));
      case 'doubt':
        return world.open()[0]?.onDoubt('the test says so');
      case 'change-tools':
        return world.open()[0]?.onListChanged('tools');
      case 'cancel':
        return controllers.at(-1)?.abort();
      case 'refuse':
        return world.refuse(now.kind);
      case 'stop':
        return void connection.disconnect();
      case 'connect':
        return void connection.connect();
      case 'wait':
        return clock.increment(now.ms);
    }
  };
  for (const [now, count] of steps) {
    act(now);
    await rest(count);
    expect(world.mostOpen()).toBeLessThanOrEqual(1);
  }
  world.refuse(null);
  for (let at = 0; at < 12; at += 1) {
    clock.increment(20_000);
    await rest();
  }
  const requests = [...past, ...world.arrived];
  expect(world.mostOpen()).toBeLessThanOrEqual(1);
  await connection.disconnect();
  return {
    settled,
    tools,
    requests,
    mayHaveArrived: requests.filter((request) => !refused.has(request)),
    leftOpen: world.open().length,
  };
}

function countOf(requests: ScriptedWorld['arrived'], call: number): number {
  return requests.filter((request) => request.call === call).length;
}

test.each(['safe', 'unless-destructive'] as const)(
  'whatever happens, and with %s: one link at a time, every call settled once, none sent more often than it may be',
  async (retryAfterLoss) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, ticks), { maxLength: 40 }), async (steps) => {
        const { settled, tools, requests, mayHaveArrived, leftOpen } = await live(steps, retryAfterLoss);
        for (const [at, outcomes] of settled.entries()) {
          expect(outcomes).toHaveLength(1);
          expect(OUTCOMES).toContain(outcomes[0]);
          expect(countOf(requests, at)).toBeLessThanOrEqual(2);
          const once = tools[at] === 'pay' || (tools[at] === 'act' && retryAfterLoss === 'safe');
          if (once) expect(countOf(mayHaveArrived, at)).toBeLessThanOrEqual(1);
          if (tools[at] === 'read') expect(outcomes[0]).not.toBe('unknown-outcome');
          if (outcomes[0] === 'not-connected' && tools[at] !== 'read') expect(countOf(requests, at)).toBe(0);
          if (outcomes[0] === 'lost-before-send') expect(countOf(mayHaveArrived, at)).toBe(0);
        }
        expect(leftOpen).toBe(0);
      }),
      { numRuns: cases(300, 10000), seed: seedOr(1) },
    );
  },
);
