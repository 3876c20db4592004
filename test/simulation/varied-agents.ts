import { z } from 'zod';
import {
  type Agent,
  type AgentOptions,
  type Message,
  type Tool,
  createAgent,
  recover,
  skill,
  tool,
} from '../../src/index.ts';
import type { SimulateOptions, simulate } from '../../src/testing/index.ts';
import { type Draw, WORK, drawOf } from './generated-agents.ts';

const SCHEMAS = [
  z.object({}),
  z.object({ at: z.string() }),
  z.object({ n: z.number().int().min(0).max(9), deep: z.object({ yes: z.boolean() }) }),
  z.object({ list: z.array(z.string()), kind: z.enum(['a', 'b']) }),
  z.object({ path: z.string(), o: z.string().optional() }),
] as const;

const MORE_WORK: readonly (() => unknown)[] = [
  ...WORK,
  () => undefined,
  () => null,
  () => 10n,
  () => ({ at: new Date(0) }),
  () => new Promise(() => undefined),
  () => Promise.reject(new Error('later')),
  () => 'x'.repeat(9000),
  () => ({ error: 'generated-secret is bad' }),
];

/** The things that an agent is made of, drawn in a fixed order. */
export class Parts {
  readonly #draw: Draw;
  readonly #given: Pick<AgentOptions, 'model' | 'seed'>;

  constructor(draw: Draw, { model, seed }: AgentOptions) {
    this.#draw = draw;
    this.#given = { ...(model === undefined ? {} : { model }), ...(seed === undefined ? {} : { seed }) };
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.#draw(times) === 0;
  }

  upTo(most: number): number {
    return this.#draw(most);
  }

  one<T>(first: T, ...others: readonly T[]): T {
    return [first, ...others][this.#draw(others.length + 1)] ?? first;
  }

  many<T>(least: number, most: number, make: (index: number) => T): readonly T[] {
    return Array.from({ length: least + this.#draw(most - least + 1) }, (_, index) => make(index));
  }

  /** What a slot of `onError` tries: steps that repair, and one that ends the list. */
  slot(canHaveTools: boolean) {
    const repairs = this.many(0, 2, () =>
      this.one(
        () =>
          recover.retry({
            maxAttempts: 2 + this.upTo(2),
            backoff: this.one(recover.exponential(), recover.constant(500)),
          }),
        () => recover.fix(() => ({})),
        () => recover.fix(this.repairer(canHaveTools)),
        () => recover.sanitize(() => ({ at: 'clean' })),
      )(),
    );
    const end = this.one(
      () => recover.escalate('it must work', this.one('low', 'medium', 'high', 'critical')),
      () => recover.substitute(() => ({ instead: true })),
      () => recover.feedback(),
      () => recover.inherit(),
      () => recover.throwException('stop'),
    );
    return repairs.length === 0 || this.once(2) ? [...repairs, end()] : [...repairs];
  }

  onError(canHaveTools: boolean) {
    return {
      ...(this.once(2) ? { executionError: this.slot(canHaveTools) } : {}),
      ...(this.once(2) ? { deserializationError: this.slot(canHaveTools) } : {}),
    };
  }

  repairer(canHaveTools: boolean): Agent {
    if (this.once(2)) return createAgent({ name: 'mender', silent: true, implementedBy: () => ({ at: 'x' }) });
    const tools = canHaveTools && this.once(2) ? [this.tool('look', false)] : [];
    return createAgent({ name: 'mender', silent: true, maxSteps: 2, tools, ...this.#given });
  }

  tool(name: string, recovers = true): Tool {
    return tool({
      name,
      description: `Does ${name}.`,
      inputSchema: SCHEMAS[this.upTo(SCHEMAS.length)] ?? SCHEMAS[0],
      effects: this.one('none', 'idempotent', 'once'),
      policy: this.one('allow', 'allow', 'confirm', 'deny'),
      timeoutMs: 1000 + this.upTo(60_000),
      polling: this.once(5),
      enabled: !this.once(8),
      execute: MORE_WORK[this.upTo(MORE_WORK.length)] ?? (() => 'done'),
      ...(recovers && this.once(3) ? { onError: this.onError(true) } : {}),
      validateArgs: this.once(5) ? notMultiplesOfThree : <T>(args: T): T => args,
    });
  }

  children(depth: number): NonNullable<AgentOptions['children']> {
    if (depth === 0 || this.once(3)) return [];
    return this.many(1, 2, (index) =>
      createAgent({
        name: `below_${depth}_${index}`,
        description: 'Helps.',
        silent: true,
        maxSteps: 1 + this.upTo(3),
        tools: [this.tool('own')],
        children: this.children(depth - 1),
        ...this.#given,
        ...(this.once(3) ? { outputSchema: z.object({ n: z.number() }) } : {}),
        ...(this.once(3) ? { timeouts: { totalMs: 30_000 } } : {}),
        ...(this.once(4) ? { budget: { maxToolCalls: this.upTo(3) } } : {}),
        ...(this.once(3) ? { defaultPolicy: 'confirm' as const } : {}),
      }),
    );
  }

  /** What limits a run. */
  limits(): AgentOptions {
    return {
      maxSteps: 2 + this.upTo(6),
      ...(this.once(3) ? { budget: { maxToolCalls: this.upTo(5) } } : {}),
      ...(this.once(4) ? { budget: { maxTokens: 50 + this.upTo(3000) } } : {}),
      ...(this.once(3) ? { timeouts: { approvalMs: this.one(1000, 60_000), totalMs: this.one(10_000, 600_000) } } : {}),
      ...(this.once(4) ? { maxPlanIterations: this.upTo(3) } : {}),
      ...(this.once(4) ? { maxConsecutiveRepeats: 2 } : {}),
      ...(this.once(4) ? { maxSteers: this.upTo(2) } : {}),
      ...(this.once(4) ? { retry: { maxAttempts: 1 + this.upTo(3) } } : {}),
      ...(this.once(5) ? { limits: { argumentBytes: 30, resultBytes: 200 } } : {}),
    };
  }

  /** What is asked of the model. */
  asked(): AgentOptions {
    return {
      parallelToolCalls: this.once(2),
      streaming: this.once(2),
      ...(this.once(4) ? { plans: false } : {}),
      ...(this.once(5) ? { toolCalling: this.one('json', 'native') } : {}),
      ...(this.once(5) ? { textCalls: this.one('never', 'narrated', 'lenient') } : {}),
      ...(this.once(4)
        ? { skills: [skill({ name: 'aside', instructions: 'Use it.', tools: [this.tool('skilled')] })] }
        : {}),
      ...(this.once(5) ? { instructions: ({ state }: { readonly state: unknown }) => `Now: ${typeof state}` } : {}),
    };
  }

  /** What the answer must be; null: text. */
  answer() {
    if (!this.once(3)) return null;
    return {
      outputSchema: this.one<z.ZodType>(z.object({ n: z.number() }), z.array(z.string()), z.string()),
      outputMode: this.one<'auto' | 'tool' | 'native' | 'prompt'>('auto', 'tool', 'native', 'prompt'),
      isChecked: this.once(2),
    };
  }

  /** Who decides. */
  decided(): AgentOptions {
    const verdict = this.upTo(4);
    const { model } = this.#given;
    const other = typeof model === 'object' && 'complete' in model ? model : 'practice';
    return {
      ...(this.once(5) ? { defaultPolicy: this.one('confirm', 'deny') } : {}),
      ...(this.once(3) ? { secrets: ['generated-secret'] } : {}),
      ...(this.once(3) ? { onError: this.onError(true) } : {}),
      ...(this.once(3)
        ? {
            models: { other },
            onEscalation: (_error, to) =>
              [to.askHuman('May I?'), to.partialResult('half'), to.retryWithModel('other'), undefined][verdict],
          }
        : {}),
    };
  }
}

function notMultiplesOfThree<T>(value: T): T {
  if ((JSON.stringify(value) ?? '').length % 3 === 0) throw new Error('I do not like it');
  return value;
}

/** What was said before: three exchanges, one of them with a long result. */
const PAST: readonly Message[] = [
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Hello.' },
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'past', name: 'tool_0', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'past', name: 'tool_0', content: 'x'.repeat(900) },
  { role: 'assistant', content: 'I see.' },
  { role: 'user', content: 'Good.' },
  { role: 'assistant', content: 'Indeed.' },
];

/** An agent of everything that options can say, which follows from a number, and how to simulate it. */
export function variedAgent(number: number): {
  readonly agent: Parameters<typeof simulate>[0];
  readonly options: SimulateOptions;
} {
  const agent = (options: AgentOptions) => {
    const parts = new Parts(drawOf(number), options);
    const tools = parts.many(1, 4, (index) => parts.tool(`tool_${index}`));
    const children = parts.once(2) ? parts.children(1 + parts.upTo(3)) : [];
    const history = number % 3 === 1 ? PAST : [];
    const made = { tools, children, history, ...parts.limits(), ...parts.asked(), ...parts.decided(), ...options };
    const answer = parts.answer();
    if (answer === null) return createAgent(made);
    const { outputSchema, outputMode, isChecked } = answer;
    const checkOutput = (output: unknown): void => void (isChecked && notMultiplesOfThree(output));
    return createAgent<unknown, z.ZodType>({ ...made, outputSchema, outputMode, checkOutput });
  };
  const servers = { box: [{ name: 'read', annotations: { readOnlyHint: true } }, { name: 'drop' }] };
  return { agent, options: number % 5 === 3 ? { servers } : {} };
}
