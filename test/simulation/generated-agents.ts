import { z } from 'zod';
import { type Agent, type AgentOptions, type Tool, createAgent, recover, tool } from '../../src/index.ts';
import type { SimulateOptions } from '../../src/testing/index.ts';

/** Draws numbers that follow from a number. */
export type Draw = (below: number) => number;

export function drawOf(start: number): Draw {
  let state = Math.imul(start + 1, 0x9e3779b1);
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    state ^= state >>> 15;
    return (state >>> 0) % below;
  };
}

const SCHEMAS = [
  z.object({}),
  z.object({ at: z.string() }),
  z.object({ n: z.number().int(), deep: z.object({ yes: z.boolean() }) }),
  z.object({ list: z.array(z.string()), kind: z.enum(['a', 'b']) }),
] as const;

/** What tools do. */
export const WORK: readonly (() => unknown)[] = [
  () => 'done',
  () => ({ status: 'error', error: 'not today' }),
  () => {
    throw new Error('broken');
  },
  () => new Promise((resolve) => setTimeout(() => resolve({ late: true }), 2000)),
  () => ({ status: 'partial', data: [1, 2], instruction: 'Go on.' }),
];

function generatedTool(draw: Draw, name: string): Tool {
  return tool({
    name,
    description: `Does ${name}.`,
    inputSchema: SCHEMAS[draw(SCHEMAS.length)] ?? SCHEMAS[0],
    effects: (['none', 'idempotent', 'once'] as const)[draw(3)] ?? 'none',
    policy: (['allow', 'allow', 'confirm', 'deny'] as const)[draw(4)] ?? 'allow',
    timeoutMs: 5000 + draw(60_000),
    ...(draw(2) === 0 ? {} : { onError: onErrors[draw(onErrors.length)] }),
    execute: WORK[draw(WORK.length)] ?? (() => 'done'),
  });
}

const onErrors = [
  { executionError: [recover.retry({ maxAttempts: 3, backoff: recover.exponential() })] },
  { executionError: [recover.fix(() => ({})), recover.escalate()] },
  { deserializationError: [recover.fix(() => ({}))], executionError: recover.escalate('it must work', 'high') },
];

/** An agent with tools, policies, recovery, children, servers and limits that follow from a number, and how to simulate it. */
export function generatedAgent(number: number): {
  readonly agent: (options: AgentOptions) => Agent;
  readonly options: SimulateOptions;
} {
  const make = (options: AgentOptions): Agent => {
    const draw = drawOf(number);
    const tools = Array.from({ length: 1 + draw(4) }, (_, index) => generatedTool(draw, `tool_${index}`));
    const { model, seed } = options;
    const children =
      draw(3) === 0
        ? [
            createAgent({
              name: 'helper',
              description: 'Helps.',
              tools: [generatedTool(draw, 'own')],
              silent: true,
              maxSteps: 2,
              ...(model === undefined ? {} : { model }),
              ...(seed === undefined ? {} : { seed }),
            }),
          ]
        : [];
    return createAgent({
      tools,
      children,
      maxSteps: 2 + draw(5),
      parallelToolCalls: draw(2) === 0,
      ...(draw(3) === 0 ? { budget: { maxToolCalls: 1 + draw(4) } } : {}),
      ...(draw(3) === 0 ? { timeouts: { approvalMs: 60_000, totalMs: 600_000 } } : {}),
      ...(draw(3) === 0 ? { secrets: ['generated-secret'] } : {}),
      ...(draw(3) === 0
        ? { onEscalation: (_error, to) => (draw(2) === 0 ? to.askHuman('May I?') : to.partialResult('half')) }
        : {}),
      ...options,
    });
  };
  const servers = {
    box: [
      { name: 'read', annotations: { readOnlyHint: true } },
      { name: 'drop', annotations: { destructiveHint: true } },
    ],
  };
  return { agent: make, options: number % 4 === 3 ? { servers } : {} };
}
