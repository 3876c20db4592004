import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import { USAGE } from './attributes.ts';

/** What an agent has done, in a run or as a child. */
interface Invoked {
  readonly agent: string;
  readonly startedAt: number;
  readonly requests: number;
  readonly calls: number;
}

/** The metrics of all runs, by the names of the conventions: today's, or those of version 1.36. */
export class Figures {
  /** By what took so long. */
  readonly #durations = new Map<unknown, Histogram>();
  /** By the span's attribute. */
  readonly #tokens = new Map<string, Counter>();
  readonly #usage: Histogram | null = null;
  readonly #firstChunks: Histogram | null = null;
  readonly #requests: Histogram | null = null;
  readonly #calls: Histogram | null = null;

  constructor(meter: Meter, isOlder: boolean) {
    const durations = Object.entries(OPERATIONS).map(
      ([operation, name]) => [operation, isOlder ? 'client.operation' : name] as const,
    );
    for (const [operation, name] of durations)
      this.#durations.set(operation, meter.createHistogram(`gen_ai.${name}.duration`, SECONDS));
    if (isOlder) {
      this.#usage = meter.createHistogram('gen_ai.client.token.usage', TOKENS);
      return;
    }
    for (const [, name] of USAGE)
      this.#tokens.set(name, meter.createCounter(name.replace('usage', 'client.inference.usage'), { unit: '{token}' }));
    this.#firstChunks = meter.createHistogram('gen_ai.client.inference.time_to_first_chunk', SECONDS);
    this.#requests = meter.createHistogram('gen_ai.invoke_agent.inference_calls', counted('inference_call'));
    this.#calls = meter.createHistogram('gen_ai.invoke_agent.tool_calls', counted('tool_call'));
  }

  /** `since`: a time in milliseconds. */
  took(since: number, attributes: Attributes, until = Date.now()): void {
    this.#durations.get(attributes['gen_ai.operation.name'])?.record((until - since) / 1000, attributes);
  }

  streamed(firstMs: number, about: Attributes): void {
    this.#firstChunks?.record(firstMs / 1000, about);
  }

  spent(tokens: number, attribute: string, about: Attributes): void {
    this.#tokens.get(attribute)?.add(tokens, about);
    const type = /^gen_ai\.usage\.(input|output)_tokens$/.exec(attribute)?.[1];
    if (type !== undefined) this.#usage?.record(tokens, { ...about, 'gen_ai.token.type': type });
  }

  /** The span of an agent is over. */
  invoked({ agent, startedAt, requests, calls }: Invoked, until: number, more: Attributes = {}): void {
    const named = { 'gen_ai.agent.name': agent };
    this.took(startedAt, { 'gen_ai.operation.name': 'invoke_agent', ...named, ...more }, until);
    this.#requests?.record(requests, named);
    this.#calls?.record(calls, named);
  }
}

/** Operations, and what their durations are named by. */
const OPERATIONS = { chat: 'client.inference', execute_tool: 'execute_tool', invoke_agent: 'invoke_agent' } as const;

const SECONDS = {
  unit: 's',
  advice: {
    explicitBucketBoundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
};

const TOKENS = {
  unit: '{token}',
  advice: {
    explicitBucketBoundaries: [
      1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
    ],
  },
};

function counted(unit: string) {
  return { unit: `{${unit}}`, advice: { explicitBucketBoundaries: [1, 2, 4, 8, 16, 32, 64, 128] } };
}
