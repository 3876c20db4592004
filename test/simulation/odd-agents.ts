import { z } from 'zod';
import { type Agent, type AgentOptions, type Tool, createAgent, recover, skill, tool } from '../../src/index.ts';
import type { SimulateOptions, SimulatedAgent } from '../../src/testing/index.ts';
import { type Draw, drawOf } from './generated-agents.ts';

const wait = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms, 'waited'));
const throws = (what: unknown) => (): never => {
  throw what;
};
const never = (): Promise<never> => new Promise(() => undefined);

const SCHEMAS: readonly z.ZodType[] = [
  z.object({}),
  z.object({ n: z.number().int().default(3), u: z.union([z.string(), z.number()]).optional() }),
  z.object({ t: z.string().transform((text) => text.length) }),
  z.strictObject({ a: z.array(z.object({ k: z.enum(['a', 'b']) })).max(3) }),
  z.record(z.string(), z.number()),
];
/** What tools give, or do instead. */
const WORK: readonly ((args: unknown, context: { readonly signal: AbortSignal }) => unknown)[] = [
  (_args, { signal }) =>
    Promise.race([wait(3000), new Promise((_, reject) => (signal.onabort = () => reject(signal.reason)))]),
  () => ({ content: [{ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }] }),
  () => new Map([[1, 2]]),
  () => ({ status: 'error', error: '', suggestion: 'no' }),
  throws('text'),
  throws(undefined),
  throws(new DOMException('stopped', 'AbortError')),
  () => ({
    get x() {
      return throws('getter')();
    },
  }),
  () => '\uD800',
  () => Symbol('x'),
  () => ({ then: (resolve: (value: string) => void) => resolve('thenable') }),
  (args) => Object.assign(Object(args), { changed: 1 }),
  () => [null, undefined, Number.NaN, -0, Infinity],
];
const CHECKS: readonly ((args: unknown) => unknown)[] = [
  (args) => wait(10).then(() => args),
  throws(new Error('refused')),
  never,
  (args) => ({ ...Object(args), extra: 1 }),
  () => undefined,
  throws({ odd: true }),
];
const PROMPTS: readonly (() => string | Promise<string>)[] = [
  () => '',
  () => wait(20).then(String),
  throws(new Error('prompt')),
  never,
];
const CONFIRMS: readonly NonNullable<AgentOptions['confirm']>[] = [
  'wait',
  () => 'always-allow',
  () => 'deny',
  throws(new Error('confirm')),
  never,
];
const ANSWERS: readonly z.ZodType[] = [
  z.object({ n: z.number().default(1) }),
  z.string().transform((text) => text.length),
  z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), v: z.number() })]),
];

/** Draws one of a list, or whether something is, once in so many times. */
const drawing = (draw: Draw) => ({
  one: <T>(list: readonly T[], otherwise: T): T => list[draw(list.length)] ?? otherwise,
  once: (times: number): boolean => draw(times) === 0,
});

function oddTool(draw: Draw, name: string): Tool {
  const { one, once } = drawing(draw);
  const fixed = (): unknown => one([{}, null, { n: 1 }], null);
  return tool({
    name,
    description: `Does ${name}.`,
    inputSchema: one(SCHEMAS, z.object({})),
    effects: one(['none', 'idempotent', 'once'], 'once'),
    policy: one(['allow', 'allow', 'confirm'], 'allow'),
    execute: one(WORK, never),
    atomic: once(3),
    ...(once(2) ? { timeoutMs: 5000 } : {}),
    ...(once(3) ? { validateArgs: one(CHECKS, never) } : {}),
    ...(once(3)
      ? {
          onError: {
            executionError: [recover.retry({ maxAttempts: 2 }), recover.substitute(() => fixed())],
            deserializationError: [recover.fix(() => wait(5).then(() => ({ t: 'fixed' })))],
          },
        }
      : {}),
  });
}

/** An agent whose functions do all that the types allow, and more, which follows from a number, and how to simulate it. */
export function oddAgent(number: number): {
  readonly agent: (options: AgentOptions) => SimulatedAgent;
  readonly options: SimulateOptions;
} {
  const agent = (options: AgentOptions): SimulatedAgent => {
    const draw = drawOf(number * 31 + 7);
    const { one, once } = drawing(draw);
    const { model, seed } = options;
    const given = { silent: true, ...(model === undefined ? {} : { model }), ...(seed === undefined ? {} : { seed }) };
    const below = (depth: number): readonly Agent[] =>
      depth === 0
        ? []
        : [
            createAgent({
              name: `below_${depth}`,
              description: 'Helps.',
              maxSteps: 2,
              children: below(depth - 1),
              tools: depth === 1 ? [oddTool(draw, 'bottom')] : [],
              ...given,
            }),
          ];
    const isTriedAgain = once(2);
    const prompts = { instructions: one(PROMPTS, never), systemPrompt: one(PROMPTS, never) };
    const made: AgentOptions = {
      tools: [oddTool(draw, 'first'), oddTool(draw, 'second'), oddTool(draw, 'third.one')],
      children: once(3) ? below(1 + draw(7)) : [],
      maxSteps: 1 + draw(6),
      recordTokens: once(2),
      streaming: once(2),
      plans: once(2),
      ...(once(4) ? { instructions: prompts.instructions } : {}),
      ...(once(6) ? { systemPrompt: prompts.systemPrompt } : {}),
      ...(once(3) ? { confirm: one(CONFIRMS, 'wait') } : {}),
      ...(once(3) ? { maxToolResultChars: 1 + draw(30), maxHistoryMessages: draw(4) } : {}),
      ...(once(3) ? { timeouts: { toolMs: 1000 + draw(50_000), responseMs: 1000 } } : {}),
      ...(once(3) ? { retry: { maxAttempts: 1 + draw(3), retryable: () => isTriedAgain } } : {}),
      ...(once(3) ? { onEvent: throws(new Error('listener')) } : {}),
      ...(once(3) ? { telemetry: { follow: throws(new Error('telemetry')) } } : {}),
      ...(once(3) ? { budget: { maxToolCalls: draw(4), maxTokens: 1 + draw(2000) } } : {}),
      ...(once(3)
        ? { skills: [skill({ name: 'aside', instructions: 'Use it.', tools: [oddTool(draw, 'skilled')] })] }
        : {}),
      ...options,
    };
    if (!once(3)) return createAgent(made);
    const outputMode = one(['auto', 'tool', 'native', 'prompt'] as const, 'auto');
    const checkOutput = one<() => Promise<void>>(
      [() => wait(5).then(() => undefined), () => Promise.reject(new Error('no')), never],
      never,
    );
    return createAgent<unknown, z.ZodType>({
      ...made,
      outputSchema: one(ANSWERS, z.string()),
      outputMode,
      checkOutput,
    });
  };
  const servers = { box: [{ name: 'read', annotations: { readOnlyHint: true } }, { name: 'drop' }] };
  return { agent, options: number % 5 === 3 ? { servers } : {} };
}
