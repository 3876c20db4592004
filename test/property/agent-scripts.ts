import fc from 'fast-check';
import { ModelError, type Message, type Model } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { tool } from '../../src/tools/tool.ts';

/** A random agent and the script of its model, which is repeated for as long as the run goes on. */
export interface Script {
  readonly replies: readonly unknown[];
  readonly options: AgentOptions;
  readonly approvals: readonly unknown[];
}

/** What really happened, told by the tools and by who was asked. */
export interface Witness {
  readonly executed: { readonly tool: string; readonly callId: string; readonly args: object }[];
  readonly allowed: Set<string>;
}

const names = ['good', 'flaky', 'denied', 'asks', 'strict', 'off', 'odd', 'GOOD', 'missing', ''];
const someArgs = fc.oneof(
  fc.record({ n: fc.integer({ min: 0, max: 2 }) }),
  fc.constantFrom({}, { n: 'two' }, { n: '1' }, { n: null }, { deep: { list: [1] } }),
);
const rawArgs = fc.oneof(
  someArgs,
  someArgs.map((args) => JSON.stringify(args)),
  fc.constantFrom('', '{"n": 1', '{"n":', 'null', '[1]', '{n: 1}', 'not json', '{"n": 1}{"n": 2}'),
);
const aCall = fc.record({
  id: fc.constantFrom('a', 'b', 'call_0', ''),
  name: fc.constantFrom(...names),
  arguments: rawArgs,
});
const step = fc.record({
  tool: fc.constantFrom(...names),
  tool_args: fc.oneof(someArgs, fc.constantFrom({ n: '$PREV.n' }, { n: '$STEP_0.value' }, { n: ['$STEP_9.x'] })),
});
const aPlan = fc.array(step, { maxLength: 4 });

const reply = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(aCall, { minLength: 1, maxLength: 4 }).map((toolCalls) => ({ content: 'Hm.', toolCalls })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(aPlan, fc.array(aCall, { maxLength: 1 })).map(([plan, beside]) => ({
      content: '',
      toolCalls: [{ id: 'p', name: 'make_plan', arguments: { plan } }, ...beside],
    })),
  },
  { weight: 2, arbitrary: aPlan.map((plan) => ({ content: JSON.stringify({ thought: 'plan', plan }) })) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...names), someArgs).map(([name, args]) => ({
      content: JSON.stringify({ thought: 'call', tool: name, tool_args: args }),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('connect-failed', 'auth', 'no-native-tools', 'malformed-tool-call', 'context-overflow'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      { content: '' },
      { content: 'The answer is qui', finishReason: 'length' },
      { content: 'I will not.', finishReason: 'refusal' },
      { content: 'Hm.', toolCalls: [{ id: 'a', name: 'good', arguments: '{"n": 1}' }], finishReason: 'content_filter' },
      { content: '{"thought": "hm", "tool": "good", "tool_args": {"n": ' },
      { content: '{"answer": ' },
      { content: '{"plan": [{"tool": "good"}, {}]}' },
      { content: '```json\n{"tool": "good", "tool_args": {"n": 1,}}\n```' },
      { content: '{"answer": "A."} {"answer": "B."}' },
      { content: null, toolCalls: [] },
      null,
      {},
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>({ content: 'Done.' }, { content: '{"answer": "Done."}' }) },
);

/** Random scripts, agents and answers. */
export const scripts: fc.Arbitrary<Script> = fc.record({
  replies: fc.array(reply, { minLength: 1, maxLength: 6 }),
  approvals: fc.array(fc.constantFrom<unknown>('allow-once', 'always-allow', 'deny', 'maybe', null), {
    minLength: 1,
    maxLength: 3,
  }),
  options: fc.record({
    maxSteps: fc.integer({ min: 1, max: 9 }),
    maxPlanIterations: fc.integer({ min: 0, max: 2 }),
    maxConsecutiveRepeats: fc.integer({ min: 2, max: 4 }),
    maxHistoryMessages: fc.integer({ min: 0, max: 6 }),
    maxToolResultChars: fc.integer({ min: 1, max: 200 }),
    toolCalling: fc.constantFrom('auto' as const, 'json' as const, 'native' as const),
    parallelToolCalls: fc.boolean(),
    seed: fc.constant(7),
  }),
});

/** A model that gives the script over and over; a text among the replies is the code of a failed request. */
export function modelOf(replies: readonly unknown[]): Model {
  let asked = 0;
  const model: Model = { id: 'random', complete: () => Promise.reject(new Error('not set')) };
  Reflect.set(model, 'complete', async () => {
    const next = replies[asked++ % replies.length];
    if (typeof next === 'string') throw Reflect.construct(ModelError, [next, `it is ${next}`]);
    return next;
  });
  return model;
}

/** The tools of the random agent, which tell the witness of what they did. */
export function toolsOf({ executed }: Witness) {
  const inputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const make = (name: string, behave: (count: number) => unknown, more: object = {}) => {
    let count = 0;
    return tool({
      name,
      description: `Is ${name}.`,
      ...more,
      execute: (args, { callId }) => {
        executed.push({ tool: name, callId, args });
        return behave(count++);
      },
    });
  };
  const odd: readonly unknown[] = [1n, undefined, { error: 'no' }, 'x'.repeat(500), { status: 'partial' }];
  return [
    make('good', async (count) => ({ n: count, value: `v${count}` })),
    make('flaky', (count) => {
      if (count % 2 === 0) throw count % 4 === 0 ? new Error('flaky') : null;
      return count;
    }),
    make('denied', () => 'never', { policy: 'deny' }),
    make('asks', () => Promise.resolve('asked'), { policy: 'confirm' }),
    make('strict', () => 'strict', { inputSchema }),
    make('off', () => 'never', { enabled: false }),
    make('odd', (count) => odd[count % odd.length]),
  ];
}

/** What is wrong with the calls and results of a conversation; empty when every call has exactly one result after it. */
export function unpaired(messages: readonly Message[]): readonly string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const { role, toolCalls = [], toolCallId = '' } of messages) {
    if (role === 'tool') {
      if (open[0] !== toolCallId) wrong.push(`a result for ${toolCallId}, while ${String(open[0])} is next`);
      open = open.slice(1);
      continue;
    }
    if (open.length > 0) wrong.push(`no result for ${open.join(', ')}`);
    open = toolCalls.map(({ id }) => id);
    for (const id of open) if (seen.has(id)) wrong.push(`${id} twice`);
    for (const id of open) seen.add(id);
  }
  return open.length > 0 ? [...wrong, `no result for ${open.join(', ')} at the end`] : wrong;
}
